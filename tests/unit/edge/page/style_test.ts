// The style sheet has colours for each browser.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { STYLE } from "../../../../edge/page/style.ts";

Deno.test("STYLE has the colours of light screens when a browser has no light-dark()", () => {
  const [, fallback = ""] = /@supports not \(color: light-dark\(.*?\)\) \{(.*?)\}/s.exec(STYLE) ??
    [];
  const pairs = [...STYLE.matchAll(/(--[\w-]+): light-dark\((#\w+), #\w+\);/g)];
  assert(pairs.length > 20);
  for (const [, name, light] of pairs) assertStringIncludes(fallback, `${name}: ${light};`);
  assertEquals(fallback.includes("light-dark"), false);
});
