// The page of a dataset shows what it has, or that there is no dataset with its DOI.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { get, headingOf } from "./pages.ts";

Deno.test("GET /datasets/DOI shows the dataset with its map, values, download and citation", async () => {
  const { app, stats } = overSandbox({ hostileNames: false, records: 24_000 });
  assertStringIncludes(await get(app, "/datasets"), 'href="/datasets/10.25976/weir-bb00?lang=en"');
  const html = await get(app, "/datasets/10.25976/WEIR-bb00");
  assertEquals(stats.requests, 3);
  assertStringIncludes(headingOf(html), "Qualité de l’eau des rivières");
  for (const text of ["ODC-BY 1.0", "Median", "BibTeX", "Download for Excel", "Nitrate"]) {
    assertStringIncludes(html, text);
  }
  // A large dataset has its characteristics in a fragment, as the results have their years.
  assertStringIncludes(
    await get(app, "/datasets/10.25976/weir-aa00"),
    '<a data-fragment href="/measured?dataset=10.25976%2Fweir-aa00&amp;lang=en">',
  );
  // The second path has an invalid percent-encoding.
  for (const path of ["10.25976/none", "%E0%A4%A"]) {
    const unknown = await app.request(`/datasets/${path}`);
    assertEquals(unknown.status, 404);
    assertStringIncludes(await unknown.text(), "no dataset with this DOI");
  }
});
