// The form suggests the documented regions, and the style sheet has colours for each browser.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { STYLE } from "../../../../edge/page/style.ts";
import { overSandbox } from "../../../helpers/edge.ts";

Deno.test("GET / suggests the documented regions", async () => {
  const html = await (await overSandbox().app.request("/?lang=en")).text();
  const [, places = ""] = /<datalist id="places">(.*?)<\/datalist>/s.exec(html) ?? [];
  const names = [...places.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name);
  assertEquals(names.slice(0, 18), [
    ...["Atlantic (basin)", "Great Lakes (basin)", "Lake Winnipeg (basin)", "Mackenzie (basin)"],
    ...["Pacific (basin)", "Alberta", "British Columbia", "Manitoba", "New Brunswick"],
    ...["Newfoundland and Labrador", "Nova Scotia", "Northwest Territories", "Nunavut", "Ontario"],
    ...["Prince Edward Island", "Quebec", "Saskatchewan", "Yukon"],
  ]);
});

Deno.test("STYLE has the colours of light screens when a browser has no light-dark()", () => {
  const [, fallback = ""] = /@supports not \(color: light-dark\(.*?\)\) \{(.*?)\}/s.exec(STYLE) ??
    [];
  const pairs = [...STYLE.matchAll(/(--[\w-]+): light-dark\((#\w+), #\w+\);/g)];
  assert(pairs.length > 20);
  for (const [, name, light] of pairs) assertStringIncludes(fallback, `${name}: ${light};`);
  assertEquals(fallback.includes("light-dark"), false);
});
