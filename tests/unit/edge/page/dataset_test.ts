// The page of a dataset shows what it has, what has changed and its files, or that there is no dataset with its DOI.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createSandbox } from "../../../../src/sandbox/service.ts";
import { overSandbox } from "../../../helpers/edge.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import { DOI, manifestOf, memoryMirror, OBSERVATIONS } from "../../../helpers/mirror.ts";
import { get, headingOf, textOf } from "./pages.ts";

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

Deno.test("GET /datasets/DOI has the versions that the server has seen, with dates, and the files of its mirror", async () => {
  const mirror = memoryMirror();
  const manifest = await manifestOf({ [OBSERVATIONS]: "", "datasets.csv": "" });
  mirror.put("datapackage.json", manifest.replaceAll(DOI, "10.25976/weir-bb00"));
  const clock = new FakeClock();
  const sandbox = createSandbox({ records: 300, now: () => clock.now() });
  let version = "2.1.0";
  const { app } = overSandbox({}, {
    clock,
    mirror: mirror.folder,
    now: () => Date.UTC(2026, 10, 28) + clock.now(),
    fetch: async (request) => {
      const response = await sandbox.fetch(request);
      return new Response((await response.text()).replaceAll('"2.1.0"', `"${version}"`), response);
    },
  });
  const changesOf = async (suffix: string) => {
    const html = await get(app, `/datasets/10.25976/weir-${suffix}`);
    return textOf(/<h2>What has changed(.*?)<div class="rail"/s.exec(html)![1]!);
  };
  const only = await changesOf("aa00");
  assertMatch(
    only,
    /^Version 1\.0\.0 [\d-]{10}, seen since 2026-11-28 00:00 UTC This server has seen no other version since it started\.$/,
  );
  await clock.sleep(86_400_000);
  version = "2.2.0";
  // A download sees versions, too.
  await (await app.request("/Records.csv?$filter=DOI eq '10.25976/weir-bb00'")).text();
  const both = await changesOf("bb00");
  assertMatch(
    both,
    /^Version 2\.2\.0 [\d-]{10}, seen since 2026-11-29 00:0\d UTC ?Version 2\.1\.0 .*28 00:00 UTC These are the versions/,
  );
  assertMatch(
    both,
    new RegExp(
      `Files.* ${OBSERVATIONS} 10 rows, 0 kB, 10.25976/weir-bb00, Version 1.0.0, 2026-01-01$`,
    ),
  );
  mirror.remove("datapackage.json");
  assertEquals((await changesOf("bb00")).includes("Files"), false);
});
