// The name of a file says what it has, its URL has the origin of the page, and its size is estimated.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { elementOf, fileOf, get, headingOf } from "./pages.ts";

const names: [query: string, name: string][] = [
  ["tool=r", "ph-canada-all-years.csv"],
  ["tool=duckdb", "ph-canada-all-years.parquet"],
  ["tool=r&file=bibtex", "ph-canada-all-years.bib"],
  ["tool=r&location=1022", "ph-location-1022-all-years.csv"],
  ["tool=qgis&location=1&location=2&from=2015", "ph-2-locations-since-2015.geojson"],
  ["tool=qgis&west=-99&south=48&east=-94&north=55", "ph-box-all-years.geojson"],
  ["tool=qgis&where=Nova+Scotia&lang=fr", "ph-nouvelle-ecosse-toutes-les-annees.geojson"],
  [
    "tool=r&location=1&location=2&characteristic=Lead&to=2015&lang=fr",
    "2-caracteristiques-2-lieux-jusqu-en-2015.csv",
  ],
  [
    "tool=r&dataset=10.25976/a,10.25976/b&from=2015&to=2020&lang=fr",
    "ph-2-jeux-de-donnees-2015-2020.csv",
  ],
];
for (const [query, expected] of names) {
  Deno.test(`GET /download names its file ${expected} when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 3 });
    assertEquals((await fileOf(app, `characteristic=pH&${query}`)).name, expected);
  });
}

Deno.test("GET / states the number of rows, and estimates the size of each file, whatever the columns of the table", async () => {
  const { app } = overSandbox({ hostileNames: false });
  const path = "/?characteristic=Nitrate";
  const [html, allColumns] = [await get(app, path), await get(app, `${path}&more=1`)];
  for (const [tool, tolerance] of [["r", 0.1], ["other", 0.2]] as const) {
    const estimate = elementOf(html, `class="for-${tool}"`);
    assertEquals(elementOf(allColumns, `class="for-${tool}"`), estimate);
    const [number = "", unit] = estimate.split(", ")[1]!.split(" ");
    const response = await app.request(`/download?characteristic=Nitrate&tool=${tool}`);
    const file = await response.bytes();
    const ratio = Number(number) * (unit === "MB" ? 1e6 : 1e3) / file.length;
    assert(Math.abs(ratio - 1) < tolerance, `${tool}: ${ratio}`);
  }
  const file = await app.request("/download?characteristic=Nitrate&tool=r");
  const rows = readCsv(await file.text()).slice(1);
  assertEquals(headingOf(html), `${rows.length.toLocaleString("en")} measurements`);
});

Deno.test("GET / shows URLs with the origin of x-forwarded-proto and x-forwarded-host", async () => {
  const { app } = overSandbox({ records: 1 });
  const originOf = async (headers: HeadersInit) =>
    /read\.csv\(&quot;(.*?)\/Records/.exec(await get(app, "/?from=2000", { headers }))![1];
  assertEquals(await originOf({}), "http://localhost");
  const tls = { "x-forwarded-proto": "https", "x-forwarded-host": "weir.example" };
  assertEquals(await originOf(tls), "https://weir.example");
  for (const host of ['evil"><script>', "evil.example/x", "a b", "user@evil.example"]) {
    assertEquals(await originOf({ "x-forwarded-host": host }), "http://localhost");
  }
});
