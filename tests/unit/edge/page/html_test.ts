// The form suggests the documented regions.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
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
