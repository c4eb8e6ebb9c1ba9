// The form shows its selection, and neither the form nor data can add HTML to the page.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";
import { elementOf, fileOf, get, headingOf } from "./pages.ts";

Deno.test("GET / has the selection in its form, and opens the further filters when one is set", async () => {
  const { app } = overSandbox({ records: 300 });
  const [all, one] = [await get(app, "/"), await get(app, "/?location=1001&medium=Slush&lang=fr")];
  assertMatch(all, /placeholder="Anything: pH.*<details class="more" >/s);
  assertStringIncludes(all, '<option value="Atlantic (basin)"');
  assertMatch(await get(app, "/?location=1001"), /<details class="more" open>/);
  assertMatch(elementOf(one, 'name="medium"'), /^TousAir ambiant.*Slush$/);
  assertMatch(one, /<option value="Slush" selected>/);
  const french = await get(app, "/?characteristic=phosphorus&lang=fr");
  assertEquals(headingOf(await get(app, "/?lang=fr")), "300 mesures");
  assertEquals(elementOf(french, 'class="chip"'), "Phosphore total, formes mixtes ×");
  assertMatch(french, /placeholder="Ajouter …"/);
});

Deno.test("GET / names the dataset in the folded form, the facts and the file name", async () => {
  const { app } = overSandbox({ hostileNames: false, records: 3_000 });
  await get(app, "/datasets");
  const html = await get(app, "/?dataset=10.25976/weir-aa00&characteristic=pH");
  assertEquals(elementOf(html, 'class="fold"'), "pHSynthetic Lakes, Long-Term Monitoring Change");
  assertMatch(elementOf(html, 'class="facts"'), /^pH, \d+ locations, Synthetic Lakes, Long-Term/);
  assertStringIncludes(html, ">ph-weir-aa00-synthetic-lakes-long-term-monitoring-v1.0.0.csv<");
  const unknown = await get(app, "/?dataset=10.25976/none");
  assertEquals(elementOf(unknown, 'class="fold"'), "Everything10.25976/none Change");
  // The years remain when the names are long.
  const long = "characteristic=Polychlorinated+biphenyls+and+diphenyl+ethers&from=2015&to=2024";
  const { name } = await fileOf(app, `${long}&dataset=10.25976/weir-aa00`);
  assertEquals(name, "polychlorinated-weir-aa00-synthetic-lakes-long-2015-2024.csv");
});

Deno.test("GET / escapes form values that contain a script", async () => {
  const { app } = overSandbox({ records: 300 });
  const evil = '"><script>alert(1)</script>';
  const filterNames = ["characteristic", "dataset", "from", "west", "where", "medium", "type"];
  const otherNames = [
    "tool",
    "columns",
    "view",
    "series",
    "selected",
    "location",
    "lang",
    "drawn",
    "sort",
  ];
  for (const name of [...filterNames, ...otherNames]) {
    const query = new URLSearchParams({ [name]: evil });
    assertEquals((await get(app, `/?${query}`)).includes("<script>"), false, name);
  }
  const query = new URLSearchParams({ text: "<script>", lang: evil });
  assertEquals((await get(app, `/suggestions?${query}`)).includes("<script>"), false);
});

Deno.test("GET / and /values escape what the service sent, and a javascript: licence is no link", async () => {
  const evil = '"><script>';
  const DOI = "10.25976/x";
  const place = { Latitude: 50, Longitude: -97, MonitoringLocationType: evil };
  const result = { ActivityStartDate: "2020-06-01", ResultValue: 1, ResultUnit: evil };
  const form = { ResultSampleFraction: evil, MethodSpeciation: evil, ActivityMediaName: evil };
  const { app } = overUpstream([
    page([{ Id: 1, DOI, LocationId: 1, CharacteristicName: evil, ...result, ...form }]),
    page([{ Id: 1, DOI, Name: `${evil}\r\nRiver`, ...place }]),
    page([{ DOI, DatasetName: evil, Licence: "javascript:alert(1)" }]),
  ]);
  const html = await get(app, "/?characteristic=pH&selected=1");
  for (const shown of ["chart-plot", "map-card", "measurements", "javascript:alert(1)"]) {
    assertStringIncludes(html, shown);
  }
  const [, path] = /data-values="([^"]*)"/.exec(html)!;
  const values = await get(app, path!.replaceAll("&amp;", "&"));
  // A line per point and median, although the name has a line break.
  assertMatch(values, /<pre>.*&lt;script&gt; River, 2020-06-01, 1 .*<\/pre>/s);
  assertEquals(/<script>|href="javascript|NaN|undefined/.test(html + values), false);
});
