// The table of the first rows, the explanation of an empty result, and the citations.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { fieldsOf } from "../../../helpers/resources.ts";
import { weir } from "../../../helpers/run_weir.ts";
import { page } from "../../../helpers/upstream.ts";

const ENTITIES: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

/** Returns the text of HTML, with one space for each white space. */
const textOf = (html: string) =>
  html.replace(/<[^>]*>/g, "").replace(/&(?:\w+|#39);/g, (entity) => ENTITIES[entity]!)
    .replace(/\s+/g, " ").trim();

/** Returns the contents of the elements of a name, which have none of their own kind. */
const contentsOf = (html: string, name: string) =>
  [...html.matchAll(new RegExp(`<${name}\\b[^>]*>(.*?)</${name}>`, "gs"))].map(([, text]) => text!);

/** Returns the headings and the cells of the table on a page. */
function tableOf(html: string): { headings: string[]; rows: string[][] } {
  const [body = ""] = contentsOf(html, "tbody");
  return {
    headings: contentsOf(html, "th").map(textOf),
    rows: contentsOf(body, "tr").map((row) => contentsOf(row, "td").map(textOf)),
  };
}

/** Requests the preview of rows of a service; the rows are JSON, so that numbers keep their digits. */
async function previewOf(query: string, ...rows: string[]): Promise<ReturnType<typeof tableOf>> {
  const { app } = overUpstream([
    page([]),
    Response.json({ value: rows.length }),
    new Response(`{"value":[${rows}]}`, { headers: { "content-type": "application/json" } }),
    page([]),
  ]);
  return tableOf(await (await app.request(`/?endpoint=${query}`)).text());
}

/** The members of a row that describe a result without a value. */
const censored = (condition: string, limit?: string, unit = "mg/L") =>
  `"ResultValue":null,"ResultDetectionCondition":"${condition}"` +
  (limit
    ? `,"ResultDetectionQuantitationLimitMeasure":${limit},"ResultDetectionQuantitationLimitUnit":"${unit}"`
    : "");
const below = "Below Detection/Quantification Limit";
const results: [row: string, value: string][] = [
  ['"ResultValue":7.10,"ResultUnit":"mg/L"', "7.10 mg/L"],
  ['"ResultValue":0,"ResultUnit":"deg C"', "0 deg C"],
  ['"ResultValue":1.5e-3,"ResultUnit":null', "1.5e-3"],
  ['"ResultValue":6.60,"ResultUnit":"None"', "6.60"],
  [`${censored(below, "5")},"ResultValue":0.3,"ResultUnit":"mg/L"`, "0.3 mg/L"],
  [censored(below, "0.050"), "< 0.050 mg/L"],
  [censored("Present Below Quantification Limit", "2", "ug/L"), "< 2 ug/L"],
  [censored("Not Detected", "1"), "< 1 mg/L"],
  [censored("Above Detection/Quantification Limit", "2419.6", "MPN/100mL"), "> 2419.6 MPN/100mL"],
  [censored("Present Above Quantification Limit", "200"), "> 200 mg/L"],
  [censored("Not Detected"), "not detected"],
  [censored("Not Reported", "1"), "not reported"],
  [censored("Detected Not Quantified"), "detected not quantified"],
  ['"ResultValue":null', ""],
];

Deno.test("GET / shows date, location, characteristic and value first when rows are measurements", async () => {
  const rows = results.map(([row], Id) =>
    `{"Id":${Id},"MonitoringLocationName":"Lake","ActivityStartDate":"2020-01-0${Id % 9 + 1}",` +
    `"CharacteristicName":"Iron",${row}}`
  );
  const table = await previewOf("Records", ...rows);
  const shown = [
    ...["ActivityStartDate", "MonitoringLocationName", "CharacteristicName"],
    ...["ResultValue", "ResultUnit"],
  ];
  assertEquals(table.headings, [
    ...["Date", "Location", "Characteristic", "Value"],
    ...fieldsOf("Records").filter((field) => !shown.includes(field)),
  ]);
  assertEquals(
    table.rows.map((cells) => cells.slice(0, 5)),
    results.map(([, value], Id) => [`2020-01-0${Id % 9 + 1}`, "Lake", "Iron", value, `${Id}`]),
  );
});

Deno.test("GET / shows the Id of the location when rows are observations", async () => {
  const row = '{"Id":1,"LocationId":1001,"CharacteristicName":"pH","ActivityStartDate":null}';
  const { rows } = await previewOf("Observations", row);
  assertEquals(rows[0]!.slice(0, 4), ["", "Id 1001", "pH", ""]);
});

Deno.test("GET / shows names first when rows are locations or datasets", async () => {
  const first: Record<string, string[]> = {
    Locations: ["Name", "MonitoringLocationType", "Latitude", "Longitude"],
    Metadata: ["DatasetName", "DataCollectionOrganization", "TemporalExtent", "DOI"],
  };
  for (const resource of ["Locations", "Metadata"] as const) {
    const { headings } = await previewOf(resource, '{"Id":1,"DOI":"10.25976/a"}');
    const others = fieldsOf(resource).filter((field) => !first[resource]!.includes(field));
    assertEquals(headings, [...first[resource]!, ...others]);
  }
});

Deno.test("GET / shows the selected fields and no others when fields are selected", async () => {
  const row = String
    .raw`{"Id":1,"CharacteristicName":"pH","ResultUnit":"None","ResultComment":"a\"b, c"}`;
  const fields = "&field=Id&field=CharacteristicName&field=ResultUnit&field=ResultComment";
  assertEquals(await previewOf(`Records${fields}`, row), {
    headings: ["Characteristic", "Id", "ResultUnit", "ResultComment"],
    rows: [["pH", "1", "None", 'a"b, c']],
  });
});

Deno.test("GET / says that there are no rows when the service counts some and sends none", async () => {
  const { app } = overUpstream([page([]), Response.json({ value: 1 }), page([]), page([])]);
  const html = await (await app.request("/?endpoint=Records")).text();
  assertStringIncludes(html, "<p>DataStream returned no rows.</p>");
});

/** Returns the reasons for an empty result on a page. */
const reasonsOf = (html: string) =>
  contentsOf(/<(\w+) class="reasons">(.*?)<\/\1>/s.exec(html)?.[2] ?? "", "p").map(textOf);

const emptyResults: [query: string, flags: string[], requests: number][] = [
  // The datasets and the count.
  ["characteristic=ph", ["--characteristic=ph"], 2],
  ["characteristic=ph&from=2015", ["--characteristic=ph", "--from=2015"], 3],
  ["from=1800&to=1801&characteristic=pH", ["--from=1800", "--to=1801", "--characteristic=pH"], 4],
  ["region=PEI&characteristic=chloride", ["--region=PEI", "--characteristic=chloride"], 4],
  // The count is one of locations, because there are none.
  ["west=1&south=1&east=2&north=2", ["--bbox=1,1,2,2"], 2],
];
for (const [query, flags, requests] of emptyResults) {
  Deno.test(`GET / explains an empty result with the text of the command line when it has ${query}`, async () => {
    const { app, stats } = overSandbox();
    const html = await (await app.request(`/?endpoint=Records&${query}`)).text();
    const { errors } = await weir(["records", "--sandbox", "--quiet", ...flags]);
    const reasons = errors.filter((line) => line.startsWith("No row "));
    assertEquals([reasonsOf(html), reasons.length > 0], [reasons, true]);
    assertEquals(stats.requests, requests);
    await (await app.request(`/?endpoint=Records&${query}`)).text();
    assertEquals(stats.requests, requests); // the explanation is cached with the preview
  });
}

Deno.test("GET / has disabled buttons and no link to a download when there are no rows", async () => {
  for (const access of ["public", "caller"] as const) {
    const { app } = overSandbox({}, { access });
    const headers = { "x-api-key": "sandbox" };
    const response = await app.request("/?endpoint=Records&characteristic=ph", { headers });
    const html = await response.text();
    assertStringIncludes(html, ">0 measurements</h2>");
    assertEquals(/Records\.csv|<table|class="snippets"/.test(html), false);
    assertEquals(html.match(/<button type="button" class="button" disabled>/g)?.length, 6);
    assertMatch(html, /<p id="no-rows">There is nothing to download\.<\/p>/);
  }
});

Deno.test("GET / responds without details when a request for the explanation fails", async () => {
  const { app } = overUpstream([
    page([]),
    Response.json({ value: 0 }),
    Response.json({}, { status: 400 }),
  ]);
  const response = await app.request("/?endpoint=Records&characteristic=ph&from=2015");
  assertEquals(response.status, 200);
  assertEquals(reasonsOf(await response.text()), [
    "No row matches all filters together: remove one of them",
  ]);
});

Deno.test("GET / makes the DOI of each citation a link, and shows it once", async () => {
  const dataset = { DatasetName: "A", Version: "1", Licence: "l" };
  const { app } = overUpstream([
    page([]),
    Response.json({ value: 1 }),
    page([{ Id: 1 }]),
    page([
      { ...dataset, DOI: "10.25976/a", Citation: "A. https://doi.org/10.25976/a." },
      { ...dataset, DOI: "10.25976/b", Citation: "B, doi:10.25976/b" },
      { ...dataset, DOI: "10.25976/c", Citation: "C." },
    ]),
  ]);
  const html = await (await app.request("/?endpoint=Records&field=Id")).text();
  const [list = ""] = /<ul class="citations">.*?<\/ul>/s.exec(html) ?? [];
  assertEquals(
    contentsOf(list, "li").map((item) => [textOf(item), textOf(contentsOf(item, "a")[0]!)]),
    [
      ["A. https://doi.org/10.25976/a. Licence: l", "https://doi.org/10.25976/a"],
      ["B, https://doi.org/10.25976/b Licence: l", "https://doi.org/10.25976/b"],
      ["C. https://doi.org/10.25976/c Licence: l", "https://doi.org/10.25976/c"],
    ],
  );
  for (const doi of ["a", "b", "c"]) {
    assertStringIncludes(html, `<a href="https://doi.org/10.25976/${doi}">`);
  }
});
