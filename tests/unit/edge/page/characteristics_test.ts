// A name that is not in the list is searched as it is, with links to similar names and groups.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { elementOf, get, headingOf } from "./pages.ts";

const unknownNames: [text: string, near: string[]][] = [
  [
    "phosphorous",
    ["Total Phosphorus, mixed forms", "Organic phosphorus", "Phosphorus, hydrolyzable"],
  ],
  ["plonb", ["Lead"]],
  ["metls", ["Metals"]],
  ["disolved oxygen", ["Dissolved oxygen (DO)", "Dissolved oxygen saturation"]],
];
for (const [text, near] of unknownNames) {
  Deno.test(`GET / suggests similar names when no name is "${text}"`, async () => {
    const { app } = overSandbox();
    const html = await get(app, `/?characteristic=${text}`);
    const sentence = `No “${text}” in the list of names. Near: ${near.join(", ")}`;
    assertEquals(elementOf(html, 'class="notice near"'), sentence);
    for (const name of near) assertStringIncludes(html, `>${name}</a>`);
    assertEquals(headingOf(html), "0 measurements");
    assertEquals(html.includes('class="card take"'), false);
  });
}
