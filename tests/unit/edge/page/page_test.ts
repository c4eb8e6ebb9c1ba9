// The page shows the results of its form with few requests, in each access mode, and never a key or unescaped data.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { AppOptions, EdgeApp } from "../../../../edge/app.ts";
import { overSandbox, overUpstream, SECRET } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { weir } from "../../../helpers/run_weir.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const token = "the-token-of-a-test";
const tokens = [token];

/** Returns the text of HTML, with one space instead of each run of white space. */
const textOf = (html: string) => html.replace(/<[^>]*>/g, "").replace(/\s+/g, " ").trim();

const get = async (app: EdgeApp, path: string, init?: RequestInit) =>
  await (await app.request(path, init)).text();

/** Returns the text of the first element with an attribute. */
const elementOf = (html: string, attribute: string) =>
  textOf(new RegExp(`<(\\w+)[^>]*${attribute}[^>]*>(.*?)</\\1>`, "s").exec(html)?.[2] ?? "");

const headingOf = (html: string) => elementOf(html, 'id="count"');

/** Returns the URL and the name of the file that a form downloads; `HEAD` reads no rows. */
async function fileOf(app: EdgeApp, query: string) {
  const { status, headers } = await app.request(`/download?${query}`, { method: "HEAD" });
  assertEquals(status, 200);
  const [, name] = /filename="(.*?)"/.exec(headers.get("content-disposition")!)!;
  return { url: new URL(headers.get("content-location")!, ROOT), name };
}

const PH = "characteristic=pH&where=Manitoba&from=2015&to=2020";

/** Number of requests to the service for a page with an empty cache. */
const requestCounts: [query: string, count: number][] = [
  ["", 3], // locations, count, datasets
  [PH, 3], // rows, locations, datasets
  ["characteristic=pH&west=-100&south=48&east=-94&north=55", 3],
  ["where=pigeon", 3],
  ["where=Synthetic%20Community%20Stream%20Watch", 3], // locations, datasets, rows
  ["from=2000", 3], // rows, count, locations; the names of datasets would need a fourth
  [`${PH}&others=1&view=-97,51,500`, 3], // rows, locations, locations of the view
];
for (const [query, count] of requestCounts) {
  Deno.test(`GET / sends ${count} requests, and none the second time, when the form has "${query}"`, async () => {
    const { app, stats } = overSandbox({ hostileNames: false, records: 12_000 });
    const html = await get(app, `/?${query}`);
    assertMatch(headingOf(html), /^[\d,]+ measurements$/);
    assertEquals(stats.requests, count);
    await get(app, `/?${query}&lang=fr&tool=r`);
    assertEquals(stats.requests, count);
  });
}

Deno.test("GET / requests the results again after five minutes", async () => {
  const { app, stats, clock } = overSandbox({ records: 3_000 });
  for (const [time, requests] of [[0, 3], [290_000, 3], [12_000, 6]] as const) {
    clock.advance(time);
    await get(app, "/?characteristic=pH");
    assertEquals(stats.requests, requests);
  }
});

Deno.test("GET / shows the other locations of the map's view", async () => {
  const { app } = overSandbox({ hostileNames: false, records: 300 });
  const html = await get(app, "/?where=Nova+Scotia&view=-64,46,900&others=1");
  assertMatch(html, /[1-9]\d* other locations?: not in this selection/);
  assertStringIncludes(html, 'class="map-point map-other"');
});

/** The file of each form, with the names of its URL's parameters. */
const files: [query: string, file: string, parameters: string][] = [
  ["tool=excel", "Records ph-canada-all-years.csv", "$select tidy bom escapeFormulas"],
  ["tool=unknown", "Records ph-canada-all-years.csv", "$select tidy bom escapeFormulas"],
  ["tool=r", "Records ph-canada-all-years.csv", "$select tidy"],
  ["tool=r&tidy=0", "Records ph-canada-all-years.csv", "$select"],
  ["tool=duckdb&columns=all&tidy=0&tidy=1", "Records ph-canada-all-years.parquet", "tidy"],
  ["tool=qgis", "Locations ph-canada-all-years.geojson", ""],
  ["tool=other", "Records ph-canada-all-years.ndjson", "$select tidy"],
  ["tool=r&file=bibtex", "Citations ph-canada-all-years.bib", ""],
  ["tool=r&location=1022", "Records ph-location-1022-all-years.csv", "$select tidy"],
  ["tool=qgis&location=1&location=2&from=2015", "Locations ph-2-locations-since-2015.geojson", ""],
  ["tool=qgis&west=-99&south=48&east=-94&north=55", "Locations ph-box-all-years.geojson", "bbox"],
  ["tool=qgis&where=Nova+Scotia&lang=fr", "Locations ph-nova-scotia-all-years.geojson", ""],
];
for (const [query, file, parameters] of files) {
  Deno.test(`GET /download returns ${file} when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 3 });
    const { url, name } = await fileOf(app, `characteristic=pH&${query}`);
    const [, resource, extension] = /^\/(\w+)(\.\w+)$/.exec(url.pathname)!;
    assert(name!.endsWith(extension!));
    assertEquals(`${resource} ${name}`, file);
    const names = [...url.searchParams.keys()];
    assertEquals(
      names.filter((name) => !["$filter", "filename"].includes(name)).join(" "),
      parameters,
    );
  });
}

const filters: [query: string, filter: string, box?: string][] = [
  [
    "characteristic=ph&characteristic=TP",
    "CharacteristicName in ('pH','Total Phosphorus, mixed forms')",
  ],
  ["characteristic=Plomb", "CharacteristicName eq 'Lead'"],
  ["characteristic=Weirdium", "CharacteristicName eq 'Weirdium'"],
  ["where=PEI", "RegionId eq 'admin.4.ca.pe'"],
  ["where=%C3%8EP%C3%89&lang=fr", "RegionId eq 'admin.4.ca.pe'"],
  ["where=watershed.outside-the-list", "RegionId eq 'watershed.outside-the-list'"],
  ["where=Synthetic+Lakes,+Long-Term+Monitoring", "DOI eq '10.25976/weir-aa00'"],
  ["where=10.25976/weir-aa00", "DOI eq '10.25976/weir-aa00'"],
  ["dataset=10.25976/a%20,;https://doi.org/10.25976/B", "DOI in ('10.25976/a','10.25976/b')"],
  // A location comes before the dataset "Synthetic Community Stream Watch".
  ["where=stream", "LocationId eq 1295"],
  ["location=1001&location=1002", "LocationId in (1001,1002)"],
  ["location=1001&location=1015&where=pigeon+lake", "LocationId eq 1001"],
  [
    "dataset=10.25976/weir-aa00,10.25976/weir-bb00&where=synthetic+lakes",
    "DOI eq '10.25976/weir-aa00'",
  ],
  [
    "medium=Groundwater&type=Well&from=2001&to=2002",
    "ActivityMediaName eq 'Groundwater' and MonitoringLocationType eq 'Well' and " +
    "ActivityStartYear gte 2001 and ActivityStartYear lte 2002",
  ],
  ["from=2001&west=-65&south=45&east=-61&north=48", "ActivityStartYear gte 2001", "-65,45,-61,48"],
  [
    "from=2001&view=-120,60,2&drawn=100,100,110,110,804,588",
    "ActivityStartYear gte 2001",
    "-120.0139,60.00423,-120.01344,60.00446",
  ],
  // Parallels are curved, so the middle of the upper edge is farther north than its ends.
  [
    "from=2001&view=-120,60,2000&drawn=100,100,700,400,804,588",
    "ActivityStartYear gte 2001",
    "-135.84,56.87,-104.36,64.47",
  ],
  // From the lower right corner to the upper left one.
  [
    "from=2001&view=-63.6,45.4,640&drawn=510,450,330,270,804,588",
    "ActivityStartYear gte 2001",
    "-64.326,44.297,-62.512,45.569",
  ],
];
for (const [query, filter, box] of filters) {
  Deno.test(`GET /download filters by ${filter.slice(0, 60)} when the form has ${query.slice(0, 60)}`, async () => {
    const { app } = overSandbox({ hostileNames: false });
    const { searchParams } = (await fileOf(app, query)).url;
    assertEquals(searchParams.get("$filter"), filter);
    assertEquals(searchParams.get("bbox"), box ?? null);
  });
}

Deno.test("GET / searches the names of 20,000 locations, and states the limits of this search", async () => {
  const { app } = overSandbox({ hostileNames: false, locations: 20_010, records: 300 });
  const texts = {
    "Pigeon Lake (synthetic)": "The names of 10 locations were not searched.",
    Atlantis: "none of the first 20,000 of 20,010 locations, has “Atlantis”",
    Lake: "locations have “Lake” in their name: write more of it",
  };
  for (const [where, text] of Object.entries(texts)) {
    assertStringIncludes(textOf(await get(app, `/?where=${where}`)), text);
  }
});

const mistakes: [query: string, message: string][] = [
  ["from=15", "A year must have four digits, got “15”."],
  ["from=2020&to=2010&lang=fr", "La première année, 2020, ne doit pas suivre"],
  ["west=1&east=2", "A box needs four numbers"],
  ["west=5&south=3&east=1&north=4", "A box needs four numbers"],
  ["west=-200&south=41&east=-52&north=84", "A box needs four numbers"],
  // Ids of regions have dots, too.
  ["where=St.Atlantis", "No region, dataset or location"],
  [`lang=fr&dataset=${"10.25976/a".repeat(1_000)}`, "Ce filtre ne peut pas"],
];
for (const [query, message] of mistakes) {
  Deno.test(`GET / returns 400 with the mistake when the form has ${query.slice(0, 40)}`, async () => {
    const { app } = overSandbox();
    const response = await app.request(`/?${query}`);
    assertEquals(response.status, 400);
    assertStringIncludes(elementOf(await response.text(), 'role="alert"'), message);
  });
}

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

Deno.test("GET / explains an empty result, with the next step", async () => {
  const { app, stats } = overSandbox();
  const path = "/?characteristic=pH&from=1800&to=1801";
  const html = await get(app, path);
  const reasons = elementOf(html, 'class="info reasons"');
  assertStringIncludes(reasons, "No measurement has this filter: years 1800–1801.");
  assertStringIncludes(html, 'href="/?characteristic=pH&amp;lang=en">Show all years</a>');
  const { requests } = stats;
  await get(app, path);
  assertEquals(stats.requests, requests); // the explanation is cached too
});

Deno.test("GET / has a sentence instead of a chart when the result has more rows than one request returns", async () => {
  const { app } = overSandbox({ records: 12_000 });
  const html = await get(app, "/?from=2012");
  assertMatch(textOf(html), /11,\d{3} results: choose a location or years to see a chart\./);
  assertStringIncludes(html, "data-fragment");
  const years = await get(app, "/years?from=2012");
  assertStringIncludes(years, "DataStream: Records");
  assertStringIncludes(years, 'class="fragment"');
  assertEquals((await get(app, "/?from=2012")).includes("data-fragment"), false);
});

Deno.test("GET / caches at most one result with all fields and 10,000 rows", async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ Id: index + 1 }));
  const responses = () => [page(rows), Response.json({ value: 20_000 }), page([])];
  const { app, requests } = overUpstream([...responses(), ...responses(), ...responses()]);
  for (const [year, sent] of [[2000, 3], [2001, 6], [2000, 9]]) {
    await get(app, `/?from=${year}&more=1`);
    assertEquals(requests.length, sent);
  }
});

const facts: [query: string, fact: string][] = [
  ["from=2015", "since 2015"],
  ["to=2016&lang=fr", "jusqu’en 2016"],
  ["from=2015&to=2016", "2015–2016"],
  ["from=2015&to=2015", "2015"],
  ["west=-141&south=42&east=-52&north=80.5", "box on the map -141 to -52, 42 to 80.5"],
];
for (const [query, fact] of facts) {
  Deno.test(`GET / states "${fact}" when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 300 });
    const html = await get(app, `/?${query}`);
    assertMatch(elementOf(html, 'class="facts"'), new RegExp(`, ${fact}\\.`));
    assertMatch(elementOf(html, 'class="fold"'), new RegExp(`${fact} `));
  });
}

const languages: [path: string, header: string, language: string][] = [
  ["/", "", "en"],
  ["/", "fr-CA,fr;q=0.9,en;q=0.8", "fr"],
  ["/", "de, en;q=0.5, fr;q=0.4", "en"],
  ["/?lang=en", "fr", "en"],
  ["/datasets?lang=fr", "en", "fr"],
];
for (const [path, header, language] of languages) {
  Deno.test(`GET ${path} is in "${language}" when accept-language is "${header}"`, async () => {
    const { app } = overSandbox();
    const html = await get(app, path, { headers: { "accept-language": header } });
    assertStringIncludes(html, `<html lang="${language}">`);
  });
}

Deno.test("GET /fields has a label, a group and a meaning for each field", async () => {
  const { app, stats } = overSandbox();
  for (const language of ["en", "fr"]) {
    const html = await get(app, `/fields?lang=${language}`);
    const terms = [...html.matchAll(/<dt>(.*?)<code>(\w+)<\/code><\/dt>\s*<dd>([^<]+)</gs)];
    assertEquals(terms.length, 44);
    assert(terms.every(([, label, name]) => label!.trim() !== "" && label!.trim() !== name));
  }
  assertEquals(stats.requests, 0);
});

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

Deno.test("GET / has code for six programs, without a key or token", async () => {
  const modes: [options: Partial<AppOptions>, headers: HeadersInit, variable: string][] = [
    [{}, {}, ""],
    [{ access: "caller" }, { "x-api-key": "sandbox" }, "DATASTREAM_API_KEY"],
    [{ access: "token", tokens }, { authorization: `Bearer ${token}` }, "WEIR_TOKEN"],
  ];
  for (const [options, headers, variable] of modes) {
    const { app } = overSandbox({ records: 300 }, options);
    const html = await get(app, "/?characteristic=pH", { headers });
    const code = [...html.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, text]) => text!);
    assertEquals(code.length, 6);
    assertMatch(html, /<input type="radio" name="code" id="code-r" checked/);
    for (const [index, text] of code.entries()) {
      assertStringIncludes(text, index === 2 ? "/Records.parquet?" : "/Records.csv?");
      assertStringIncludes(text, variable);
    }
    assertEquals(html.includes('"sandbox"') || html.includes(token), false);
  }
});

Deno.test("GET / escapes form values that contain a script", async () => {
  const { app } = overSandbox({ records: 300 });
  const evil = '"><script>alert(1)</script>';
  const filterNames = ["characteristic", "dataset", "from", "west", "where", "medium", "type"];
  const otherNames = ["tool", "columns", "view", "series", "selected", "location", "lang", "drawn"];
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
  // A line per point, although the name has a line break.
  assertMatch(values, /<pre>.*&lt;script&gt; River, 2020-06-01, 1 .*<\/pre>/);
  assertEquals(/<script>|href="javascript|NaN|undefined/.test(html + values), false);
});

// In French; the test in Chromium has the English texts of 503 and 504.
const failures: [answer: number, retryAfter: string, status: number, text: RegExp][] = [
  [504, "", 504, /n’a pas répondu\. Choisissez .*en anglais : DataStream .*Requête \S{8}/],
  [429, "1", 503, /Le service est occupé\. Nouvel essai dans 1 s\..*Message du serveur/],
  [413, "", 413, /Le résultat est trop grand\. Choisissez moins d’années/],
];
for (const [answer, retryAfter, status, text] of failures) {
  Deno.test(`GET / and /download return ${status} with the form, the remedy and the request Id when the service fails`, async () => {
    for (const path of ["/", "/download"]) {
      const headers = { "retry-after": retryAfter };
      const { app } = overUpstream([Response.json({}, { status: answer, headers })]);
      const response = await app.request(`${path}?characteristic=pH&lang=fr`);
      assertEquals(response.status, status);
      const html = await response.text();
      assertMatch(elementOf(html, 'role="alert"'), text);
      assertEquals(html.includes('data-retry="1"'), status === 503);
      assertMatch(html, /name="characteristic" value="pH" checked/);
      assertStringIncludes(html, response.headers.get("x-request-id")!);
    }
  });
}

Deno.test("HEAD /download returns 502 when the service rejects the key", async () => {
  const { app } = overSandbox({}, {
    fetch: () => Promise.resolve(Response.json({}, { status: 403 })),
  });
  const { status } = await app.request("/download?characteristic=pH", { method: "HEAD" });
  assertEquals(status, 502);
});

Deno.test("GET /years states its limit of 100,000 rows, and does not suggest the parameter limit", async () => {
  const { app } = overSandbox({ records: 250_000 });
  const html = await get(app, "/years");
  assertStringIncludes(textOf(html), "at least 250000 rows for this query, more than 100000");
  assert(!html.includes("limit="));
});

Deno.test("GET /years says that no measurement has a year, with a link back to the selection, when it is empty", async () => {
  const { app } = overSandbox({ records: 3 });
  const html = await get(app, "/years?to=1801");
  assertStringIncludes(html, "This selection has no measurement with a year. Remove a filter");
  assertStringIncludes(html, 'href="/?to=1801&amp;lang=en">Back to the selection</a>');
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

const main = "DOI DatasetName MonitoringLocationID MonitoringLocationName " +
  "MonitoringLocationLatitude MonitoringLocationLongitude ActivityMediaName ActivityStartDate " +
  "CharacteristicName MethodSpeciation ResultSampleFraction";
const tidy = "value unit censoring lower upper datetime_utc is_quality_control";
const downloads: [query: string, state: string, header: string | number][] = [
  ["columns=main&tidy=1", "tidy", `${main} ${tidy}`],
  ["columns=main&tidy=0", "untidy", `${main} ResultValue ResultUnit ResultDetectionCondition`],
  ["columns=all&tidy=1", "tidy", 44 + 7],
  ["columns=all&tidy=0", "untidy", 44],
];
for (const [query, state, expected] of downloads) {
  Deno.test(`GET /download has the columns that the page states when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 30 });
    for (const tool of ["excel", "r"]) {
      const form = `from=2000&tool=${tool}&${query}`;
      const [header] = readCsv(await get(app, `/download?${form}`));
      assertEquals(typeof expected === "number" ? header!.length : header!.join(" "), expected);
      const columns = query.includes("main") ? "main" : "all";
      for (const language of ["en", "fr"]) {
        const html = await get(app, `/?${form}&lang=${language}`);
        const [, label] = new RegExp(`value="${columns}".*?</label>`, "s").exec(html)![0]
          .split(`class="for-${state}">`);
        assertMatch(label!, new RegExp(`^[a-z (]*${header!.length}\\b`));
      }
    }
  });
}

Deno.test("GET / has the number of measurements at each of several names", async () => {
  const { app, stats } = overSandbox({ hostileNames: false });
  const query = "/?characteristic=ph&characteristic=TN&where=PEI";
  assertMatch(
    elementOf(await get(app, query), 'class="facts"'),
    /^pH \(180\), Total Nitrogen, mixed forms \(no measurements\), \d+ locations/,
  );
  assertEquals(stats.requests, 3);
  assertMatch(
    elementOf(await get(app, `${query}&lang=fr`), 'class="facts"'),
    /^pH \(180\), Azote total, formes mixtes \(aucune mesure\), /,
  );
  assertMatch(
    elementOf(
      await get(app, "/?characteristic=physical&characteristic=Nutrients"),
      'class="facts"',
    ),
    /^Physical \(\d,\d{3} of the first 10,000\), Nutrients \(/,
  );
});

/** Texts, with the first suggestion and some others of the page and the command line. */
const suggestions: [text: string, first: string, ...others: string[]][] = [
  ["TP", "Total Phosphorus, mixed forms"],
  ["DO", "Dissolved oxygen (DO)", "Dissolved oxygen saturation"],
  ["plomb", "Lead"],
  ["PHOS", "Total Phosphorus, mixed forms", "Orthophosphate", "Phosmet"],
  ["nitr", "Nitrate", "Nitrite", "Total Nitrogen, mixed forms"],
  ["nitrat", "Nitrate", "Inorganic nitrogen (nitrate and nitrite)"],
  ["Conductivity", "Conductivity", "Specific conductance"],
  ["cond", "Conductivity", "Specific conductance"],
  ["hard", "Hardness, Ca, Mg"],
  ["water temperature", "Temperature, water"],
  ["suspended solds", "Total suspended solids"],
  ["phosphorous", "Total Phosphorus, mixed forms"],
  ["inorganic nitrogen", "Inorganic nitrogen (nitrate and nitrite)"],
  ["unionized ammonia", "Ammonia, un-ionized"],
  ["organic nitrogn", "Organic Nitrogen"],
  ["total coliforn", "Total Coliform"],
  ["imdium", "Indium"],
];
for (const [text, first, ...others] of suggestions) {
  Deno.test(`GET /suggestions and weir values have "${first}" first when the text is "${text}"`, async () => {
    const { app, stats } = overSandbox();
    const html = await get(app, `/suggestions?text=${text}`);
    const names = [...html.matchAll(/data-name="([^"]*)"/g)].map(([, name]) => name);
    assertEquals(names[0], first);
    for (const name of others) assert(names.includes(name), name);
    assert(names.length <= 12);
    assertEquals(stats.requests, 0);
    const { output } = await weir(["values", "characteristic", "--search", text]);
    assertEquals(output.split("\n")[0], first);
  });
}

const groups: [text: string, name: string][] = [["metals", "Metals"], ["nutr", "Nutrients"]];
for (const [text, name] of groups) {
  Deno.test(`GET /suggestions has the group ${name} first when the text is "${text}"`, async () => {
    const html = await get(overSandbox().app, `/suggestions?text=${text}`);
    assertEquals(/data-name="([^"]*)"/.exec(html)![1], name);
  });
}

/** Texts, and names that differ from them by a part that changes their meaning. */
const opposites: [text: string, name: string][] = [
  ["inorganic nitrogen", "Organic Nitrogen"],
  ["inorgannic phosphorus", "Organic phosphorus"],
  ["organic nitrogen", "Inorganic nitrogen"],
  ["ammonia ionized", "Ammonia, un-ionized"],
  ["amonia", "Ammonia, un-ionized"],
  ["carbonate hardness", "Hardness, non-carbonate"],
  ["dissolved lead", "Lead"],
  ["total amonia", "Ammonia"],
  ["xylenez", "Total xylenes"],
];
for (const [text, name] of opposites) {
  Deno.test(`GET /suggestions and weir values do not have "${name}" when the text is "${text}"`, async () => {
    const html = await get(overSandbox().app, `/suggestions?text=${text}`);
    const { output } = await weir(["values", "characteristic", "--search", text]);
    assertEquals((html + output).includes(name), false);
  });
}

Deno.test("GET / does not count as a download, and returns 503 while three pages are loading", async () => {
  const { app } = overSandbox({ records: 30 }, { maxDownloads: 1 });
  const download = await app.request("/Records.csv");
  assertEquals(headingOf(await get(app, "/?from=2000")), "30 measurements");
  await download.text();

  const hanging = new Promise<Response>(() => {});
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
  const { app: busy } = overSandbox({}, { clock, fetch: () => hanging });
  for (let times = 0; times < 3; times++) busy.request("/");
  const fourth = await busy.request("/");
  assertEquals([fourth.status, fourth.headers.get("retry-after")], [503, "30"]);
  assertStringIncludes(await fourth.text(), "limit of 3 concurrent requests for the page");
});

Deno.test("GET / does not share results when callers bring their keys", async () => {
  const { app, stats, log } = overSandbox({ records: 30 }, {
    access: "caller",
    logRequests: true,
  });
  const headers = { "x-api-key": "sandbox" };
  for (let times = 0; times < 2; times++) await get(app, "/?from=2000", { headers });
  assertEquals(stats.requests, 3);
  const html = await get(app, "/?characteristic=pH");
  assertEquals(stats.requests, 3);
  assertStringIncludes(elementOf(html, 'role="alert"'), "An API key is required");
  // A key is often copied with white space.
  const body = new URLSearchParams({ token: "sandbox\u200b ", from: "2000" });
  assertEquals(headingOf(await get(app, "/", { method: "POST", body })), "30 measurements");
  const file = await app.request("/download", { method: "POST", body });
  assertEquals(readCsv(await file.text()).length, 1 + 30);
  assertMatch(log.join("\n"), /POST \/ 200 .*\n.*POST \/Records\.csv 200 complete: 30 rows/);
  const refused = await app.request("/?from=2000", { headers: { "x-api-key": "wrong" } });
  assertEquals(refused.status, 403);
  assertEquals((await refused.text()).includes("wrong"), false);
});

Deno.test("GET / and POST / require a token, and sign the links until the time that they show, when access is signed", async () => {
  const { app, stats } = overSandbox({ hostileNames: false, records: 300 }, {
    access: "signed",
    signingSecret: SECRET,
    tokens,
    now: () => 1_800_000_000_000,
  });
  const empty = await app.request("/");
  assertEquals([empty.status, stats.requests], [200, 0]);
  const response = await app.request("/?characteristic=pH");
  assertEquals([response.status, stats.requests], [401, 0]);
  assertEquals(response.headers.get("www-authenticate"), "Bearer");
  assertStringIncludes(await response.text(), "A token is required");
  const body = new URLSearchParams({ token, characteristic: "pH" });
  const html = await get(app, "/", { method: "POST", body });
  assertStringIncludes(html, "valid until 2027-01-22 08:00 UTC");
  assertEquals(html.includes(token), false);
  // The cached names of datasets are for requests with a token only.
  const name = "Synthetic Lakes, Long-Term Monitoring";
  assertStringIncludes(html, name);
  for (const path of ["/", "/?characteristic=pH"]) {
    assertEquals((await get(app, path)).includes(name), false, path);
  }
  const { app: other } = overSandbox({ hostileNames: false }, { access: "token", tokens });
  const headers = { authorization: `Bearer ${token}` };
  assertStringIncludes(await get(other, "/?characteristic=pH", { headers }), name);
  assertEquals((await get(other, "/?characteristic=pH")).includes(name), false);
  const file = await app.request("/download", { method: "POST", body });
  await file.body?.cancel();
  const link = file.headers.get("content-location")!;
  assertStringIncludes(link, `expires=${Date.parse("2027-01-22T08:00Z") / 1_000}&`);
  const signed = await app.request(link, { method: "HEAD" });
  assertEquals([file.status, signed.status], [200, 200]);
});

Deno.test("GET /measured without a key has a form that leads back to it with the key", async () => {
  const { app, log } = overSandbox({ records: 300 }, { access: "caller", logRequests: true });
  const refused = await app.request("/measured?characteristic=pH");
  assertEquals(refused.status, 401);
  const [, action = ""] =
    /<form[^>]* method="post"[^>]* action="([^"]*)"/.exec(await refused.text()) ?? [];
  const body = new URLSearchParams({ token: "sandbox", lang: "en", dataset: "" });
  const html = await get(app, action.replaceAll("&amp;", "&"), { method: "POST", body });
  assertMatch(textOf(html), /Characteristic Results Years pH \d+ /);
  assertEquals((log.join() + html).includes("sandbox"), false);
});

Deno.test("POST / rejects a form that is too large", async () => {
  const { app } = overSandbox({}, { access: "token", tokens });
  const response = await app.request("/", { method: "POST", body: "a".repeat(100_001) });
  assertEquals(response.status, 413);
});

Deno.test("HEAD / sends no request to the service", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/?characteristic=pH", { method: "HEAD" });
  assertEquals([response.status, stats.requests], [200, 0]);
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

Deno.test("GET / aborts every request to the service when the client disconnects", async () => {
  for (const part of ["Metadata", "Locations", "Observations"]) {
    const client = new AbortController();
    const seen: boolean[] = [];
    const { app } = overUpstream([], {
      fetch({ url, signal }) {
        if (url.includes(part)) {
          client.abort();
          seen.push(signal.aborted);
        }
        return Promise.resolve(page(url.includes("Metadata") ? [] : [{ Id: 1 }]));
      },
    });
    const url = "http://localhost/?from=2000";
    await app.fetch(new Request(url, { signal: client.signal }));
    assertEquals(seen, [true], part);
  }
});

Deno.test("GET / states that data is synthetic, and that a large count is an estimate", async () => {
  const { app } = overSandbox({ records: 1_200_000 }, { synthetic: true });
  const html = await get(app, "/");
  assertStringIncludes(html, "the values are generated, not measured");
  assertEquals(headingOf(html), "About 1,200,000 measurements");
  assertStringIncludes(html, ">synthetic-canada-all-years.csv<");
  assertStringIncludes(textOf(html), "Excel shows at most 1,048,575 rows");
});

Deno.test("GET / links its files, has no inline script or style, and is small", async () => {
  const { app } = overSandbox({ records: 3_000 });
  const types = {
    "/": "text/html",
    "/weir.css": "text/css",
    "/weir.js": "text/javascript",
    "/weir.svg": "image/svg+xml",
  };
  let bytes = 0;
  for (const [path, type] of Object.entries(types)) {
    const { headers, body } = await app.request(path);
    assertStringIncludes(headers.get("content-type")!, type);
    const zipped = body!.pipeThrough(new CompressionStream("gzip"));
    bytes += (await new Response(zipped).bytes()).length;
  }
  assert(bytes < 60_000, `${bytes} bytes`);
  for (const path of ["/", `/?${PH}`, "/datasets/10.25976/weir-aa00", "/fields"]) {
    assertEquals(
      /\son\w+=|\sstyle=|<style|<script(?! src="\/weir\.js" type="module">)|(src|srcset)="http/
        .test(await get(app, path)),
      false,
    );
  }
  // Browsers without light-dark() have the colours of light screens.
  const [, fallback] = /@supports not .*? \{(.*?)\}/s.exec(await get(app, "/weir.css"))!;
  assertMatch(fallback!, /--paper: #fff;/);
  assertEquals(fallback!.includes("light-dark"), false);
});
