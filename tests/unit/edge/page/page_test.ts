// The page has a form, results, snippets and citations in each access mode.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { DataStream } from "../../../../mod.ts";
import { fieldsOf, fileFormatsOf, FORMATS } from "../../../helpers/resources.ts";
import { createSandbox } from "../../../../src/sandbox/service.ts";
import { overSandbox, overUpstream, SECRET } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { page } from "../../../helpers/upstream.ts";

const NOW = 1_800_000_000_000;
const token = "the-token-of-a-test";
const signedAccess = {
  access: "signed",
  signingSecret: SECRET,
  tokens: [token],
  now: () => NOW,
} as const;
const bearer = { authorization: `Bearer ${token}` };

const text = (html: string) =>
  html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** Returns the URLs of the download buttons, which are relative on the page. */
const linksOf = (html: string) =>
  [...html.matchAll(/class="button"[^>]* href="(\/[^"]*)"/g)]
    .map(([, path]) => `http://localhost${text(path!)}`);

Deno.test("GET / returns a form with the datasets and no results when no form was submitted", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/");
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/html; charset=utf-8");
  assertEquals(response.headers.get("cache-control"), "no-store");
  const html = await response.text();
  assertStringIncludes(html, 'value="10.81029/weir-ee00"');
  assertStringIncludes(html, "Forêt boréale");
  assertEquals(html.includes("<h2"), false);
  for (const name of ["endpoint", "dataset", "region", "characteristic", "from", "to"]) {
    assertStringIncludes(html, `name="${name}"`);
  }
  for (const name of ["west", "south", "east", "north", "field"]) {
    assertStringIncludes(html, `name="${name}"`);
  }
  for (const field of fieldsOf("Records")) assertStringIncludes(html, `value="${field}"`);
  await app.request("/");
  assertEquals(stats.requests, 1); // the datasets, which are cached
});

Deno.test("GET / returns a count, preview, buttons, snippets and citations when the form is submitted", async () => {
  const { app } = overSandbox();
  const query = "endpoint=Records&dataset=10.25976/weir-bb00&characteristic=pH&from=2015&to=2020" +
    "&field=Id&field=CharacteristicName&field=DatasetName";
  const html = await (await app.request(`/?${query}`)).text();
  const [csvUrl = "", excelUrl = ""] = linksOf(html);
  assertEquals(
    text(new URL(csvUrl).search.replaceAll("%20", " ")),
    "?%24filter=DOI eq %2710.25976%2Fweir-bb00%27 and CharacteristicName eq %27pH%27 and " +
      "ActivityStartYear gte 2015 and ActivityStartYear lte 2020" +
      "&%24select=Id%2CDatasetName%2CCharacteristicName",
  );
  const download = await app.request(csvUrl);
  const [header, ...rows] = readCsv(await download.text());
  assertEquals(header, ["Id", "DatasetName", "CharacteristicName"]);
  assertStringIncludes(html, `>${rows.length.toLocaleString("en-CA")} measurements</h2>`);
  assertEquals(html.match(/<tbody>[^]*<\/tbody>/)![0].match(/<tr>/g)!.length, 20);
  for (const [id] of rows.slice(0, 20)) assertStringIncludes(html, `>${id}</td>`);
  assertEquals(new URL(excelUrl).searchParams.get("bom"), "true");
  assertEquals(new URL(excelUrl).searchParams.get("escapeFormulas"), "true");
  assertEquals(linksOf(html).map((url) => new URL(url).pathname), [
    "/Records.csv",
    "/Records.csv",
    ...fileFormatsOf("Records").filter((format) => format !== "csv")
      .map((format) => `/Records.${FORMATS[format].extension}`),
  ]);
  for (const program of ["read.csv(", "pd.read_csv(", "curl --fail", "Excel"]) {
    assertStringIncludes(html, program);
  }
  assertStringIncludes(html, "Réseau synthétique de l’Érable. 2020.");
  assertStringIncludes(html, 'href="https://doi.org/10.25976/weir-bb00"');
  assertStringIncludes(html, "https://opendatacommons.org/licenses/by/1-0/");
  // The form keeps the submitted values.
  assert(/value="10.25976\/weir-bb00"\s+checked/.test(html));
  assertStringIncludes(html, 'name="from" value="2015"');
});

Deno.test("GET / reads several datasets from one text, each once, when white space or marks separate them", async () => {
  const { app } = overSandbox();
  const dois = ["10.25976/weir-aa00", "10.25976/weir-bb00"] as const;
  for (const gap of [" ", "\n", "\r\n", "\t", ",", ";", " , ; "]) {
    const parameters = new URLSearchParams({
      dataset: [...dois, dois[0], `https://doi.org/${dois[1].toUpperCase()}`, ""].join(gap),
      endpoint: "Locations",
    });
    const [link] = linksOf(await (await app.request(`/?${parameters}`)).text());
    const filter = new URL(link!).searchParams.get("$filter");
    assertEquals(filter, `DOI in ('${dois[0]}','${dois[1]}')`);
  }
});

Deno.test("GET / combines region, datasets and bounding box for every endpoint", async () => {
  for (const endpoint of ["Records", "Observations", "Locations", "Metadata"]) {
    const { app } = overSandbox();
    const query = `endpoint=${endpoint}&dataset=10.25976/weir-aa00&dataset=10.25976/weir-bb00` +
      "&region=admin.4.ca.pe&west=-65&east=-61&south=45&north=48";
    const response = await app.request(`/?${query}`);
    const html = await response.text();
    assertEquals(response.status, 200, html);
    const url = new URL(linksOf(html)[0]!);
    assertEquals(
      url.searchParams.get("$filter"),
      "DOI in ('10.25976/weir-aa00','10.25976/weir-bb00') and RegionId eq 'admin.4.ca.pe'",
    );
    assertEquals(url.searchParams.get("bbox"), "-65,45,-61,48");
    url.searchParams.set("$count", "true");
    const { count } = await (await app.request(url)).json();
    assertStringIncludes(html, `>${count.toLocaleString("en-CA")} `);
    const formats = linksOf(html).map((link) => new URL(link).pathname.split(".")[1]);
    assertEquals(formats.includes("geojson"), endpoint === "Locations");
  }
});

Deno.test("GET / has no GeoJSON button when the fields lack a position", async () => {
  const { app } = overSandbox();
  for (const [fields, isThere] of [["field=Id", false], ["field=Latitude&field=Longitude", true]]) {
    const html = await (await app.request(`/?endpoint=Locations&${fields}`)).text();
    const urls = linksOf(html);
    assertEquals(urls.some((url) => url.includes(".geojson")), isThere);
    for (const url of urls) {
      const response = await app.request(url);
      await response.text();
      assertEquals(response.status, 200);
    }
  }
});

Deno.test("GET / escapes data and form values that contain a script", async () => {
  const { app } = overSandbox();
  const html = await (await app.request("/?endpoint=Metadata&field=DatasetName&field=DOI")).text();
  assertEquals(html.includes("<script>"), false);
  assertStringIncludes(html, "&lt;script&gt;alert(&quot;weir&quot;)&lt;/script&gt;");
  const evil = '"><script>alert(1)</script>';
  for (
    const name of [
      "characteristic",
      "dataset",
      "from",
      "west",
      "region",
      "endpoint",
      "field",
      "days",
    ]
  ) {
    const query = new URLSearchParams({ endpoint: "Records", [name]: evil });
    const shown = await (await app.request(`/?${query}`)).text();
    assertEquals(shown.includes("<script>"), false, name);
  }
});

Deno.test("GET / renders a licence as text when it is a javascript: URL", async () => {
  const dataset = {
    DOI: "10.25976/x",
    DatasetName: "x",
    Version: "1",
    Citation: "x",
    Licence: "javascript:alert(1)",
  };
  const { app } = overUpstream([
    page([]),
    Response.json({ value: 1 }),
    page([{ Id: 1 }]),
    page([dataset]),
  ]);
  const html = await (await app.request("/?endpoint=Records")).text();
  assertStringIncludes(html, "javascript:alert(1)");
  assertEquals(/href="javascript/.test(html), false);
});

const wrong: [query: string, expected: string][] = [
  ["from=15", "From year must be a year with four digits"],
  ["to=soon", "To year must be a year with four digits"],
  ["west=1&east=2", "Bounding box must have four sides, got none for south, north"],
  ["west=1&east=x&south=3&north=4", "East must be a number of degrees, got &quot;x&quot;"],
  ["west=5&east=1&south=3&north=4", "West must be below east"],
  ["from=2020&to=2010", "From year must not be after 2010, got 2020: change From year or To year"],
  ["dataset=" + "10.25976/a".repeat(1_000), "Filter has"],
  [`west=${"1".repeat(20_000)}&east=2&south=3&north=4`, "West must be a number of degrees"],
];
for (const [query, expected] of wrong) {
  Deno.test(`GET / returns 400 with the labels of the form when it has ${query.slice(0, 40)}`, async () => {
    const { app, stats } = overSandbox();
    const response = await app.request(`/?endpoint=Records&${query}`);
    assertEquals([response.status, stats.requests], [400, 1]);
    const html = await response.text();
    assertStringIncludes(html, 'role="alert"');
    assertStringIncludes(html, expected);
  });
}

Deno.test("GET / shows an error of the service and logs it", async () => {
  const { app, log } = overUpstream([Response.json({}, { status: 504 })]);
  const response = await app.request("/?endpoint=Records");
  assertEquals(response.status, 504);
  assertStringIncludes(await response.text(), "try again");
  assertEquals(log.length, 1);
  const headers = { "retry-after": "9" };
  const busy = overUpstream([page([]), Response.json({}, { status: 429, headers })]).app;
  const answer = await busy.request("/?endpoint=Records");
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "9"]);
  await answer.text();
});

Deno.test("GET / needs no permit of the downloads, and returns 503 while three pages are loading", async () => {
  const { app } = overSandbox({ records: 30 }, { maxDownloads: 1 });
  const download = await app.request("/Records.csv");
  const response = await app.request("/?endpoint=Records");
  assertEquals(response.status, 200);
  assertStringIncludes(await response.text(), ">30 measurements</h2>");
  await download.text();

  const hanging = new Promise<Response>(() => {});
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
  const { app: busy } = overSandbox({}, { clock, fetch: () => hanging });
  for (let times = 0; times < 3; times++) busy.request("/");
  const fourth = await busy.request("/");
  assertEquals([fourth.status, fourth.headers.get("retry-after")], [503, "30"]);
  assertStringIncludes(await fourth.text(), "limit of 3 concurrent requests for the page");
});

Deno.test("GET / caches the datasets for an hour and a preview for five minutes", async () => {
  const { app, stats, clock } = overSandbox({ records: 30 });
  const getText = async (query: string) => await (await app.request(`/?${query}`)).text();
  const html = await getText("endpoint=Records");
  assertEquals(stats.requests, 4); // datasets, count, rows, citations
  assertEquals(await getText("endpoint=Records"), html);
  assertEquals(stats.requests, 4);
  await getText("endpoint=Records&characteristic=pH");
  assertEquals(stats.requests, 7);
  clock.advance(301_000);
  await getText("endpoint=Records");
  assertEquals(stats.requests, 10);
  clock.advance(3_600_000);
  await getText("");
  assertEquals(stats.requests, 11);
});

Deno.test("GET / caches the previews of the last 50 forms", async () => {
  const { app, stats } = overSandbox({ records: 30, requestsPerSecond: Infinity }, {
    requestsPerSecond: Infinity,
  });
  const requestsFor = async (year: number) => {
    const before = stats.requests;
    await (await app.request(`/?endpoint=Records&from=${year}`)).text();
    return stats.requests - before;
  };
  for (let year = 1950; year <= 2000; year++) await requestsFor(year);
  const [first, second, last] = [1950, 1951, 2000];
  assertEquals(await requestsFor(last), 0);
  assertEquals(await requestsFor(second), 0);
  assert(await requestsFor(first) > 0);
});

Deno.test("GET / offers the stale datasets when the request for new ones fails", async () => {
  const { app, clock } = overUpstream([
    page([{ DOI: "10.25976/b", DatasetName: "B" }, { DOI: "10.25976/a", DatasetName: null }]),
    new Error("reset"),
  ]);
  const first = await (await app.request("/")).text();
  assert(first.indexOf("10.25976/a") < first.indexOf("10.25976/b"));
  clock.advance(3_601_000);
  const second = await app.request("/");
  assertEquals(second.status, 502);
  assertStringIncludes(await second.text(), 'value="10.25976/b"');
});

Deno.test("GET / does not cache previews when callers bring their keys", async () => {
  const { app, stats } = overSandbox({ records: 30 }, { access: "caller" });
  const headers = { "x-api-key": "sandbox" };
  for (let times = 0; times < 2; times++) {
    await (await app.request("/?endpoint=Records", { headers })).text();
  }
  assertEquals(stats.requests, 7);
  const html = await (await app.request("/?endpoint=Records")).text();
  assertEquals([stats.requests, /<tbody>/.test(html)], [7, false]);
});

Deno.test("GET / shows URLs with the origin that a reverse proxy states", async () => {
  const { app } = overSandbox({ records: 1 });
  const urlOf = async (headers: HeadersInit) => {
    const html = await (await app.request("/?endpoint=Records", { headers })).text();
    return /<dd><code[^>]*>([^<]*)</.exec(html)![1];
  };
  assertEquals(await urlOf({}), "http://localhost/Records.csv");
  const tls = { "x-forwarded-proto": "https", "x-forwarded-host": "weir.example" };
  assertEquals(await urlOf(tls), "https://weir.example/Records.csv");
  for (const host of ['evil"><script>', "evil.example/x", "a b", "user@evil.example"]) {
    assertEquals(await urlOf({ "x-forwarded-host": host }), "http://localhost/Records.csv");
  }
  assertEquals(await urlOf({ "x-forwarded-proto": "javascript" }), "http://localhost/Records.csv");
});

Deno.test("GET / shows snippets without a key, and a count with one, when access is caller", async () => {
  const { app, stats } = overSandbox({}, { access: "caller" });
  const html = await (await app.request("/?endpoint=Records&characteristic=pH")).text();
  assertEquals(stats.requests, 0);
  assertStringIncludes(
    html,
    "curl --fail --remove-on-error --header &quot;x-api-key: $DATASTREAM_API_KEY&quot;",
  );
  assertEquals(/id="credential"[^>]*name=/.test(html), false);
  const headers = { "x-api-key": "sandbox" };
  const counted = await (await app.request("/?endpoint=Records&characteristic=pH", { headers }))
    .text();
  assert(/<h2[^>]*>[\d,]+ measurements<\/h2>/.test(counted));
  assertEquals(counted.includes("sandbox"), false);
  const refused = await app.request("/?endpoint=Records", { headers: { "x-api-key": "wrong" } });
  assertEquals(refused.status, 403);
  assertEquals((await refused.text()).includes("wrong"), false);
});

Deno.test("GET / requires a token and returns links with the selected lifetime when access is signed", async () => {
  const { app, stats } = overSandbox({}, signedAccess);
  const query = "endpoint=Records&characteristic=pH&field=Id&days=30";
  const closed = await app.request(`/?${query}`);
  assertEquals([closed.status, stats.requests], [401, 0]);
  assertEquals(closed.headers.get("www-authenticate"), "Bearer");
  assertEquals(linksOf(await closed.text()), []);
  const wrongOne = await app.request(`/?${query}`, { headers: { authorization: "Bearer wrong" } });
  assertEquals([wrongOne.status, stats.requests], [401, 0]);
  await wrongOne.text();
  const html = await (await app.request(`/?${query}`, { headers: bearer })).text();
  const links = linksOf(html);
  assertEquals(links.length, fileFormatsOf("Records").length + 1); // CSV for Excel
  for (const link of links) {
    const { searchParams } = new URL(link);
    assertEquals(searchParams.get("expires"), String(NOW / 1000 + 30 * 86_400));
    const response = await app.request(link);
    await response.text();
    assertEquals(response.status, 200);
  }
  assertEquals((await app.request(links[0]!.replace("pH", "Iron"))).status, 403);
  for (const [days, held] of [["0", 1], ["1e9", 366], ["x", 1], ["2.9", 2], ["", 7]] as const) {
    const page = await app.request(`/?endpoint=Records&days=${days}`, { headers: bearer });
    const { searchParams } = new URL(linksOf(await page.text())[0]!);
    assertEquals(searchParams.get("expires"), String(NOW / 1000 + held * 86_400));
  }
  for (const secret of [SECRET, token]) assertEquals(html.includes(secret), false);
});

Deno.test("POST / accepts a token in the body", async () => {
  for (const access of ["signed", "token"] as const) {
    const { app } = overSandbox({}, { ...signedAccess, access });
    const form = await (await app.request("/")).text();
    assertStringIncludes(form, '<form method="post"');
    const body = new URLSearchParams({ endpoint: "Records", characteristic: "pH", token });
    const response = await app.request("/", { method: "POST", body });
    const html = await response.text();
    assertEquals(response.status, 200);
    assert(/<h2[^>]*>[\d,]+ measurements<\/h2>/.test(html));
    assertEquals(html.includes(token), false);
    const wrongOne = new URLSearchParams({ endpoint: "Records", token: "wrong" });
    const refused = await app.request("/", { method: "POST", body: wrongOne });
    assertEquals([refused.status, (await refused.text()).includes("wrong")], [401, false]);
    const put = await app.request("/", { method: "PUT" });
    assertEquals([put.status, put.headers.get("allow")], [405, "GET, HEAD, POST"]);
  }
});

Deno.test("POST / returns 413 when the form is too large", async () => {
  const { app } = overSandbox({}, signedAccess);
  const headers = { "content-length": "100001" };
  const body = "x".repeat(100_001);
  const response = await app.request("/", { method: "POST", headers, body });
  assertEquals(response.status, 413);
  assertEquals((await response.json()).title, "Form too large");
});

Deno.test("GET / returns snippets that send the token, and hidden buttons, when access is token", async () => {
  const { app } = overSandbox({}, { ...signedAccess, access: "token" });
  const html = await (await app.request("/?endpoint=Records", { headers: bearer })).text();
  const sent = text(html).match(/authorization/g)!;
  assertEquals(sent.length, 4); // Excel, R, pandas, curl
  assertStringIncludes(text(html), '--header "authorization: Bearer $WEIR_TOKEN"');
  assertStringIncludes(text(html), "--output records.csv 'http://localhost/Records.csv'");
  assertEquals(
    html.match(/data-needs-header hidden/g)!.length,
    fileFormatsOf("Records").length + 1,
  );
  assertEquals(html.includes("x-api-key"), false);
});

Deno.test("GET / returns 502 and logs the cause when the connection to the service fails", async () => {
  const { app, log } = overSandbox({}, {
    fetch: () => {
      throw new TypeError("inner detail");
    },
    retry: { attempts: 1 },
  });
  const response = await app.request("/");
  assertEquals(response.status, 502);
  assertEquals((await response.text()).includes("inner detail"), false);
  assertStringIncludes(log.join(), "inner detail");
});

Deno.test("GET / aborts every request to the service when the client disconnects", async () => {
  const parts = ["DatasetName%2CId", "count=true", "Records?%24top", "Citation"];
  for (const part of parts) {
    const client = new AbortController();
    const { fetch } = createSandbox({
      hostileNames: true,
      records: 3,
      requestsPerSecond: Infinity,
    });
    const seen: boolean[] = [];
    const { app } = overSandbox({}, {
      requestsPerSecond: Infinity,
      fetch: (request) => {
        if (request.url.includes(part)) {
          client.abort();
          seen.push(request.signal.aborted);
        }
        return fetch(request);
      },
    });
    const url = "http://localhost/?endpoint=Records";
    await app.fetch(new Request(url, { signal: client.signal }));
    assertEquals(seen, [true], part);
  }
});

Deno.test("GET / returns 500 and logs the error when the page has a bug", async () => {
  const { app, log } = overSandbox({ records: 3 });
  const { query } = DataStream.prototype;
  DataStream.prototype.query = () => (undefined as unknown as string[]).length as never;
  try {
    const response = await app.request("/?endpoint=Records");
    assertEquals(response.status, 500);
    assertEquals((await response.text()).includes("reading 'length'"), false);
  } finally {
    DataStream.prototype.query = query;
  }
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, "reading 'length'");
});

Deno.test("GET / states that data is synthetic, and that a large count is an estimate", async () => {
  const { app } = overSandbox({ records: 1_200_000 }, { synthetic: true });
  const html = await (await app.request("/?endpoint=Records")).text();
  assertStringIncludes(html, "generated, not measured");
  assertStringIncludes(html, ">About 1,200,000 measurements</h2>");
});

Deno.test("GET / returns 404 when access is signed and there are no tokens", async () => {
  const { app } = overSandbox({}, { ...signedAccess, tokens: [] });
  for (const path of ["/", "/weir.js", "/weir.css"]) {
    assertEquals((await app.request(path)).status, 404);
  }
  assertEquals((await app.request("/", { method: "POST" })).status, 404);
});

Deno.test("HEAD / sends no request to the service", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/?endpoint=Records", { method: "HEAD" });
  assertEquals([response.status, stats.requests], [200, 0]);
});

Deno.test("GET / names its files, and has no inline script or style", async () => {
  const { app } = overSandbox();
  const types = {
    "/weir.css": "text/css",
    "/weir.js": "text/javascript",
    "/weir.svg": "image/svg+xml",
  };
  const html = await (await app.request("/?endpoint=Records")).text();
  for (const [path, type] of Object.entries(types)) {
    assertStringIncludes(html, `"${path}"`);
    const response = await app.request(path);
    assertStringIncludes(response.headers.get("content-type")!, type);
    assert((await response.text()).length > 100);
  }
  assertEquals(
    /\son\w+=|\sstyle=|<style|<script(?! src="\/weir\.js" type="module">)/.test(html),
    false,
  );
});
