// A name that is not in the list is searched as it is. It and an unknown place have links to similar names beside their fields.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
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

const unknownPlaces: [where: string, near: string][] = [
  ["Nova Scotai", "Nova Scotia"],
  ["Nouvele-Écosse", "Nouvelle-Écosse"],
  ["Pigoen Lake", "Pigeon Lake (synthetic)"],
  ["Synthetik Lakes", "Synthetic Lakes, Long-Term Monitoring"],
];
for (const [where, near] of unknownPlaces) {
  Deno.test(`GET / suggests "${near}" beside the field, and a near characteristic, when no place is "${where}"`, async () => {
    const { app } = overSandbox({ hostileNames: false });
    const language = near.startsWith("Nouv") ? "fr" : "en";
    const query = new URLSearchParams({ characteristic: "plonb", where, lang: language });
    const response = await app.request(`/?${query}`);
    assertEquals(response.status, 400);
    const html = await response.text();
    query.set("where", near);
    const link = `<a href="/?${query}">${near}</a>`.replaceAll("&", "&amp;");
    const [, what, place] = /class="what"(.*)class="where"(.*)class="years"/s.exec(html)!;
    assertMatch(what!, /class="notice near".*plonb.*>(Lead|Plomb)</s);
    assertStringIncludes(place!, where);
    assertStringIncludes(place!, link);
  });
}

Deno.test("GET / knows a place without results of the other filters", async () => {
  const html = await get(
    overSandbox({ hostileNames: false }).app,
    "/?characteristic=plonb&where=lake+pigeon",
  );
  assertEquals(headingOf(html), "0 measurements");
  assertEquals(html.match(/class="notice near"/g)?.length, 1);
  // A phone shows the form with the notice.
  assertEquals(html.includes('class="folded"'), false);
});
