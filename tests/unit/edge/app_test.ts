// Routes, common headers, internal errors and options of the app.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type ResourceName, RESOURCES, ValidationError } from "../../../mod.ts";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { fieldsOf } from "../../helpers/resources.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import {
  answerVersionRequests,
  overSandbox,
  overUpstream,
  problemOf,
  SECRET,
} from "../../helpers/edge.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { upstream } from "../../helpers/upstream.ts";

Deno.test("EdgeApp.request() returns every record with all columns for /Records.csv", async () => {
  const { app, stats } = overSandbox({ records: 25_000 });
  const response = await app.request("/Records.csv");
  assertEquals(response.status, 200);
  const [header, ...rows] = readCsv(await response.text());
  assertEquals(header, fieldsOf("Records"));
  assertEquals(rows.length, 25_000);
  assertEquals(new Set(rows.map(([id]) => id)).size, 25_000);
  // With a count and, twice, the versions of the datasets.
  assertEquals([stats.requests, stats.tooFast, stats.parallel], [6, 0, 0]);
});

for (const resource of Object.keys(RESOURCES) as ResourceName[]) {
  Deno.test(`EdgeApp.request() returns the headers of GET and requests only the versions when the method is HEAD: ${resource}`, async () => {
    const { app, stats } = overSandbox({ records: 10 });
    const headers = { "x-request-id": "of-a-test" };
    const getHead = () => app.request(`/${resource}.csv`, { method: "HEAD", headers });
    const early = await getHead();
    assertEquals([early.status, await early.text(), stats.requests], [200, "", 1]);
    const got = await app.request(`/${resource}.csv`, { headers });
    await got.text();
    const { requests } = stats;
    const head = await getHead();
    assertEquals([head.status, await head.text(), stats.requests], [200, "", requests]);
    for (const { headers } of [early, got, head]) headers.delete("cache-control"); // its age differs
    assertEquals([...head.headers], [...early.headers]);
    assertEquals([...got.headers], [...early.headers]);
    const wrong = await app.request(`/${resource}.csv?$top=x`, { method: "HEAD" });
    assertEquals([wrong.status, await wrong.text()], [400, ""]);
  });
}

/** A programming error, as it occurs in JavaScript. */
const fail = () => (undefined as unknown as string).length;
const BUG = "Cannot read properties of undefined";

Deno.test("EdgeApp.request() returns 500 and logs the error when clock.sleep() throws before the first page", async () => {
  const clock = new FakeClock();
  const { app, log } = overSandbox({}, { clock, requestsPerSecond: 1 });
  await (await app.request("/Metadata.csv")).text();
  clock.sleep = fail as unknown as FakeClock["sleep"]; // the next request waits for the rate limit
  const response = await app.request("/Metadata.csv?$select=DOI");
  assertEquals(response.status, 500);
  assertEquals((await response.clone().text()).includes(BUG), false);
  await problemOf(response);
  assertEquals(log.length, 1);
  assertStringIncludes(log[0]!, BUG);
});

Deno.test("EdgeApp.request() breaks the transfer and logs the error when clock.sleep() throws after the first page", async () => {
  const clock = new FakeClock();
  const { app, log } = overSandbox({ records: 3_000 }, { clock });
  const response = await app.request("/Records.csv?$select=Id&$top=1000");
  assertEquals(response.status, 200);
  clock.sleep = fail as unknown as FakeClock["sleep"];
  await assertRejects(() => response.text());
  assertStringIncludes(log.join(), "Download of Records failed after its first rows");
  assertStringIncludes(log.join(), BUG);
});

Deno.test("EdgeApp.request() returns the same response, and logs to standard error, when log() throws", async () => {
  const logged: unknown[] = [];
  const { error } = console;
  console.error = (line) => void logged.push(line);
  try {
    const { app } = overUpstream([Response.json({}, { status: 500 })], { log: () => void fail() });
    assertEquals((await app.request("/Records.csv")).status, 502);
  } finally {
    console.error = error;
  }
  assertStringIncludes(String(logged[0]), "Download of Records failed");
  assertStringIncludes(String(logged[1]), BUG);
});

Deno.test("createApp() logs to standard error, without the key, when it has no log option", async () => {
  const { options } = upstream(Response.json({ message: "no k3y-of-a-test" }, { status: 500 }));
  const logged: unknown[][] = [];
  const { error } = console;
  console.error = (...line) => void logged.push(line);
  try {
    const fetch = answerVersionRequests(options.fetch);
    const app = createApp({ ...options, fetch, access: "public", maxRows: Infinity });
    assertEquals((await app.request("/Records.csv")).status, 502);
  } finally {
    console.error = error;
  }
  assertEquals(logged.length, 1);
  assertStringIncludes(logged.join(), "Download of Records failed");
  assertEquals(logged.join().includes("k3y-of-a-test"), false);
});

Deno.test("EdgeApp.request() allows all origins to read responses and errors", async () => {
  const { app } = overSandbox({ records: 1 });
  const origin = "https://a-page.example";
  for (const path of ["/Records.csv", "/Records.csv?x=1", "/nothing"]) {
    const response = await app.request(path, { headers: { origin } });
    await response.text();
    assertEquals(response.headers.get("access-control-allow-origin"), "*");
    const exposed = response.headers.get("access-control-expose-headers") ?? "";
    assertStringIncludes(exposed, "retry-after,x-request-id");
  }
});

Deno.test("EdgeApp.request() allows only the origins of corsOrigins when it is set", async () => {
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

Deno.test("EdgeApp.request() marks every response and file name when the data is synthetic", async () => {
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
  ["no access mode", { access: undefined as unknown as "public" }, "access must be one of"],
  ["an unknown access mode", { access: "all" as "public" }, '"all"'],
  ["public access without a key", { apiKey: undefined }, "apiKey must be set for public access"],
  ["public access with an empty key", { apiKey: "" }, "apiKey must be set"],
  [
    "signed access without a key",
    { access: "signed", apiKey: "", signingSecret: SECRET },
    "apiKey must be set",
  ],
  [
    "signed access without a secret",
    { access: "signed" },
    "signingSecret must be set for signed access",
  ],
  ["a secret of 31 bytes", { access: "signed", signingSecret: "é".repeat(15) + "x" }, "got 31"],
  ["token access without tokens", { access: "token" }, "tokens must be set for token access"],
  [
    "a token with spaces",
    { access: "token", tokens: ["sixteen and more of them"] },
    "(not shown)",
  ],
  ["a token of 15 characters", { access: "token", tokens: ["x".repeat(15)] }, "at least 16"],
  ["a relative baseUrl", { access: "caller", baseUrl: "x" }, "baseUrl"],
  [
    "a baseUrl without TLS, and the keys of callers",
    { access: "caller", apiKey: undefined, baseUrl: "http://example.org/v1" },
    "https://",
  ],
  ["a CORS origin with a path", { corsOrigins: ["https://a.example/"] }, "corsOrigins must be"],
  [
    "an unknown option",
    { maxRow: 1 } as Partial<AppOptions>,
    'maxRow is not an option of createApp(): did you mean "maxRows"?',
  ],
  [
    "an unknown option that is similar to none",
    { banana: 1 } as Partial<AppOptions>,
    "use one of access, apiKey,",
  ],
  [
    "a key with a line feed at its end",
    { apiKey: "k\n" },
    "apiKey begins or ends with white space",
  ],
  ["a maxRows of 0", { maxRows: 0 }, "maxRows"],
  ["a maxDownloads of 0.5", { maxDownloads: 0.5 }, "maxDownloads"],
  ["a maxDownloadsPerClient of 0", { maxDownloadsPerClient: 0 }, "maxDownloadsPerClient"],
  [
    "a clientAddressHeader with a colon",
    { clientAddressHeader: "x-forwarded-for:" },
    "clientAddressHeader must be the name of a header",
  ],
  ["a maxCachedBytes of 0", { maxCachedBytes: 0 }, "maxCachedBytes"],
  ["a cacheTtl of more than a day", { cacheTtl: 86_400_001 }, "cacheTtl"],
  ["a pageRows of 10001", { pageRows: 10_001 }, "pageRows"],
  ["a readerTimeout of 0", { readerTimeout: 0 }, "readerTimeout"],
];
for (const [name, options, message] of refused) {
  Deno.test(`createApp() throws a ValidationError when given ${name}`, () => {
    const create = () => createApp({ access: "public", apiKey: "k", ...options });
    assertThrows(create, ValidationError, message);
  });
}
