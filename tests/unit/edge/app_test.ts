// What is where, and what every answer has; parts have tests of their own.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../../../src/odata/resources.ts";
import { overSandbox, problemOf, SECRET } from "../../helpers/edge.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { ask } from "../../helpers/sandbox.ts";
import { upstream } from "../../helpers/upstream.ts";

Deno.test("GET /Records.csv downloads every record with all columns", async () => {
  const { app, stats } = overSandbox({ records: 25_000 });
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 200);
  const [header, ...rows] = readCsv(await response.text());
  assertEquals(header, fieldNames("Records"));
  assertEquals(rows.length, 25_000);
  assertEquals(new Set(rows.map(([id]) => id)).size, 25_000);
  assertEquals([stats.requests, stats.tooFast, stats.parallel], [4, 0, 0]); // with a count
});

const resources = Object.keys(RESOURCES) as ResourceName[];

for (const resource of resources) {
  const wantedOf = async () => {
    const rows = await ask({ records: 40 }).rows(resource, { $select: "Id,DOI" });
    return JSON.parse(JSON.stringify(rows));
  };
  const get = async (extension: string) => {
    const { app } = overSandbox({ records: 40 });
    return await app.request(`/${resource}.${extension}?$select=Id,DOI`);
  };

  Deno.test(`GET /${resource}.csv`, async () => {
    const response = await get("csv");
    assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
    const [header, ...rows] = readCsv(await response.text());
    assertEquals(header, ["Id", "DOI"]);
    const wanted: Record<string, unknown>[] = await wantedOf();
    assertEquals(rows, wanted.map(({ Id, DOI }) => [String(Id), String(DOI)]));
  });

  Deno.test(`GET /${resource}.ndjson`, async () => {
    const response = await get("ndjson");
    assertEquals(response.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
    const lines = (await response.text()).trimEnd().split("\n");
    assertEquals(lines.map((line) => JSON.parse(line)), await wantedOf());
  });

  Deno.test(`GET /${resource}.json`, async () => {
    const response = await get("json");
    assertEquals(response.headers.get("content-type"), "application/json; charset=utf-8");
    assertEquals(await response.json(), { value: await wantedOf() });
  });

  Deno.test(`HEAD /${resource}.csv has the headers of GET and asks nothing`, async () => {
    const { app, stats } = overSandbox({ records: 10 });
    const head = await app.request(`/${resource}.csv`, { method: "HEAD" });
    assertEquals([head.status, await head.text(), stats.requests], [200, "", 0]);
    const got = await app.request(`/${resource}.csv`);
    await got.text();
    assertEquals([...head.headers], [...got.headers]);
    const wrong = await app.request(`/${resource}.csv?$top=x`, { method: "HEAD" });
    assertEquals([wrong.status, await wrong.text()], [400, ""]);
  });
}

Deno.test("GET /Locations.geojson is for a map", async () => {
  const { app } = overSandbox();
  const response = await app.request("/Locations.geojson?bbox=-64,46,-62,47");
  assertEquals(response.headers.get("content-type"), "application/geo+json; charset=utf-8");
  const { type, features } = await response.json();
  assertEquals([type, features.length > 0], ["FeatureCollection", true]);
  for (const { geometry: { coordinates: [longitude, latitude] } } of features) {
    assert(longitude > -64 && longitude < -62 && latitude > 46 && latitude < 47);
  }
});

for (
  const [path, wanted] of [
    ["/records.csv", 'did you mean "/Records.csv"?'],
    ["/Records.csv/", 'did you mean "/Records.csv"?'],
    ["/Records.cvs", 'did you mean "/Records.csv"?'],
    ["/Records/", 'did you mean "/Records"?'],
    ["/v1/odata/v4/Records", 'did you mean "/Records"?'],
    ["/Citation.txt", 'did you mean "/Citations.txt"?'],
    ["/Records.xlsx", "use one of /Records.csv, /Records.ndjson, /Records.json"],
    ["/Records.geojson", "use one of /Records.csv, /Records.ndjson, /Records.json"],
    [
      "/banana",
      "use one of /Metadata, /Locations, /Observations, /Records, each with .csv, .ndjson or " +
      ".json after it",
    ],
  ]
) {
  Deno.test(`GET ${path} is 404 with a hint`, async () => {
    const { app } = overSandbox();
    const response = await app.request(path!);
    assertEquals(response.status, 404);
    const { detail, hint } = await problemOf(response);
    assertStringIncludes(detail, path!);
    assertEquals(hint, wanted);
  });
}

for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
  Deno.test(`${method} is 405 with the methods that there are`, async () => {
    const { app, stats } = overSandbox();
    for (const path of ["/Records.csv", "/Locations", "/Citations.json", "/healthz", "/"]) {
      const response = await app.request(path, { method });
      assertEquals([response.status, response.headers.get("allow")], [405, "GET, HEAD"]);
      await problemOf(response);
    }
    assertEquals(stats.requests, 0);
  });
}

Deno.test("GET /healthz is 200 and asks nothing", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/healthz");
  assertEquals([response.status, await response.text(), stats.requests], [200, "ok\n", 0]);
});

Deno.test("a fault of the server itself is 500, logged, and not told", async () => {
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  const { app, log } = overSandbox({}, { clock });
  clock.now = () => {
    throw new TypeError("inner detail");
  };
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 500);
  assertEquals((await problemOf(response)).detail.includes("inner detail"), false);
  assertStringIncludes(log.join(), "inner detail");
});

Deno.test("without a log of its own the app tells standard error of a fault, and not the key", async () => {
  const { options } = upstream(Response.json({ message: "no k3y-of-a-test" }, { status: 500 }));
  const logged: unknown[][] = [];
  const { error } = console;
  console.error = (...line) => void logged.push(line);
  try {
    const app = createApp({ ...options, access: "public", maxRows: Infinity });
    assertEquals((await app.request("/Records.csv")).status, 502);
  } finally {
    console.error = error;
  }
  assertEquals(logged.length, 1);
  assertStringIncludes(logged.join(), "A download of Records failed");
  assertEquals(logged.join().includes("k3y-of-a-test"), false);
});

Deno.test("every answer has the headers that keep a browser safe", async () => {
  const { app } = overSandbox({ records: 1 });
  for (const path of ["/", "/Records.csv", "/Records.csv?x=1", "/nothing", "/weir.js"]) {
    const response = await app.request(path);
    await response.text();
    const { headers } = response;
    assertEquals(
      headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("referrer-policy"), "no-referrer");
    assertEquals(headers.get("x-frame-options"), "DENY");
    assertEquals(headers.get("cross-origin-resource-policy"), "cross-origin");
    assertEquals(headers.get("strict-transport-security"), "max-age=15552000");
  }
});

Deno.test("a page of any origin may read, with a key or a token", async () => {
  const { app } = overSandbox({ records: 1 });
  const origin = "https://a-page.example";
  const preflight = await app.request("/Records.csv", {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "x-api-key",
    },
  });
  assertEquals(preflight.status, 204);
  const allowed = (name: string) => preflight.headers.get(`access-control-allow-${name}`);
  assertEquals(allowed("origin"), "*");
  assertEquals(allowed("methods"), "GET,HEAD");
  assertEquals(allowed("headers"), "x-api-key,authorization");
  assertEquals(allowed("credentials"), null);
  for (const path of ["/Records.csv", "/Records.csv?x=1", "/nothing"]) {
    const response = await app.request(path, { headers: { origin } });
    await response.text();
    assertEquals(response.headers.get("access-control-allow-origin"), "*");
    const exposed = response.headers.get("access-control-expose-headers") ?? "";
    for (const name of ["content-disposition", "link", "retry-after", "x-weir-data"]) {
      assert(exposed.includes(name));
    }
  }
});

Deno.test("only pages of the origins that are named may read, where some are", async () => {
  const { app } = overSandbox({ records: 1 }, { corsOrigins: ["https://a.example"] });
  const allowed = async (origin: string) => {
    const response = await app.request("/Records.csv", { headers: { origin } });
    await response.text();
    assertStringIncludes(response.headers.get("vary") ?? "", "Origin");
    return response.headers.get("access-control-allow-origin");
  };
  assertEquals(await allowed("https://a.example"), "https://a.example");
  assertEquals(await allowed("https://b.example"), null);
  assertEquals(await allowed("https://a.example.evil.example"), null);
});

Deno.test("synthetic data says so in every answer and in its file names", async () => {
  const { app } = overSandbox({ records: 1 }, { synthetic: true });
  for (const path of ["/Records.csv", "/Locations.geojson", "/?x", "/Records?$count=true", "/no"]) {
    const response = await app.request(path);
    await response.text();
    assertEquals(response.headers.get("x-weir-data"), "synthetic");
  }
  for (const query of ["", "?filename=rivers"]) {
    const { headers, body } = await app.request(`/Records.csv${query}`);
    assertStringIncludes(headers.get("content-disposition")!, 'filename="synthetic-r');
    await body?.cancel();
  }
  const { headers, body } = await overSandbox().app.request("/Records.csv");
  await body?.cancel();
  assertEquals(headers.has("x-weir-data"), false);
});

const refused: [name: string, options: Partial<AppOptions>, message: string][] = [
  ["no access", { access: undefined as unknown as "public" }, "access must be one of"],
  ["another word", { access: "all" as "public" }, '"all"'],
  ["public without a key", { apiKey: undefined }, "must have a key"],
  ["public with an empty key", { apiKey: "" }, "must have a key"],
  ["signed without a key", { access: "signed", apiKey: "", signingSecret: SECRET }, "have a key"],
  ["signed without a secret", { access: "signed" }, "at least 32 bytes"],
  ["signed with 31 bytes", { access: "signed", signingSecret: "é".repeat(15) + "x" }, "got 31"],
  ["token without one", { access: "token" }, "there must be tokens"],
  [
    "a token that no header can hold",
    { access: "token", tokens: ["sixteen and more of them"] },
    "(not shown)",
  ],
  ["a token that could be guessed", { access: "token", tokens: ["x".repeat(15)] }, "16 or more"],
  ["an address that is none", { access: "caller", baseUrl: "x" }, "baseUrl"],
  ["an address without TLS", { access: "caller", baseUrl: "http://example.org/v1" }, "https://"],
  ["a CORS origin with a path", { corsOrigins: ["https://a.example/"] }, "CORS origin"],
  [
    "an unknown option",
    { maxRow: 1 } as Partial<AppOptions>,
    'createApp() has no option "maxRow": did you mean "maxRows"?',
  ],
  ["an option like none", { banana: 1 } as Partial<AppOptions>, "use one of access, apiKey,"],
  [
    "a key with a line feed at its end",
    { apiKey: "k\n" },
    "apiKey begins or ends with white space",
  ],
  ["no rows", { maxRows: 0 }, "maxRows"],
  ["half a place", { maxWaiting: 0.5 }, "maxWaiting"],
  ["too many rows on a page", { pageRows: 10_001 }, "pageRows"],
  ["no time for a reader", { readerTimeout: 0 }, "readerTimeout"],
];
for (const [name, options, message] of refused) {
  Deno.test(`createApp() refuses to serve with ${name}`, () => {
    const create = () => createApp({ access: "public", apiKey: "k", ...options });
    const error = assertThrows(create, Error, message);
    assert(error instanceof TypeError || error instanceof RangeError);
  });
}
