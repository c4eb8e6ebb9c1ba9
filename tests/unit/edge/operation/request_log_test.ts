// The log of the app: one line for each request, lines of errors, and request ids.
import "../../../helpers/no_permission.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { AppOptions, EdgeApp } from "../../../../edge/app.ts";
import { DOWNLOAD_PARAMETERS } from "../../../../edge/downloads/parameters.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { Random } from "../../../properties/random.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const NOW = Date.UTC(2026, 10, 22, 13, 48, 47, 123);
const ID = "id-of-a-test";
const token = "the-token-of-a-test";
const json: Partial<AppOptions> = { logRequests: true, logFormat: "json", now: () => NOW };
const text: Partial<AppOptions> = { ...json, logFormat: "text" };
const headers = { "x-request-id": ID };

/** Sends a request, reads the body, and returns the response and the length (bytes) of its body. */
async function get(
  app: EdgeApp,
  path: string,
  init: RequestInit = {},
): Promise<[Response, number]> {
  const response = await app.request(path, { ...init, headers: { ...headers, ...init.headers } });
  return [response, (await response.arrayBuffer()).byteLength];
}

/** Parses the only line of a log. */
function only(log: readonly string[]): Record<string, unknown> {
  assertEquals(log.length, 1, log.join("\n"));
  return JSON.parse(log[0]!);
}

Deno.test("EdgeApp.request() logs all fields of a download when the format is JSON", async () => {
  const { app, log, stats } = overSandbox({ records: 2_500 }, json);
  const filter = "CharacteristicName eq 'pH'";
  const query = `%24filter=${encodeURIComponent(filter)}&$select=Id&limit=9`;
  const [, bytes] = await get(app, `/Records.csv?${query}`);
  assertEquals(only(log), {
    time: "2026-11-22T13:48:47.123Z",
    level: "info",
    message: "request",
    requestId: ID,
    method: "GET",
    path: "/Records.csv",
    query: { $filter: filter, $select: "Id", limit: "9" },
    status: 200,
    outcome: "complete",
    rows: 9,
    bytes,
    milliseconds: 0,
    upstreamRequests: stats.requests,
  });
});

Deno.test("EdgeApp.request() logs a sentence for each request when the format is text", async () => {
  const { app, log } = overSandbox({ records: 300 }, text);
  await get(app, "/Records.csv?$select=Id");
  await get(app, "/Records.csv?$select=Id&limit=1");
  await get(app, "/Records.csv?limit=x");
  const patterns = [
    /^2026-11-22T13:48:47.123Z info id-of-a-test GET \/Records.csv 200 complete: 300 rows, \d+ bytes, \d+ ms, 1 upstream request, query "\$select=Id"$/,
    / complete: 1 row, 12 bytes, \d+ ms, 1 upstream request, /,
    / warn id-of-a-test GET \/Records.csv 400 complete: 0 rows, \d+ bytes, \d+ ms, 0 upstream requests$/,
  ];
  for (const [index, pattern] of patterns.entries()) assertMatch(log[index]!, pattern);
});

Deno.test("createApp() logs no requests when logRequests is not set", async () => {
  const { app, log } = overSandbox({}, { logFormat: "json" });
  await get(app, "/Records.csv?limit=3");
  await get(app, "/nothing");
  assertEquals(log, []);
});

Deno.test("EdgeApp.request() logs the bytes and upstream requests of counts, citations and other paths", async () => {
  const { app, log, stats } = overSandbox({}, { ...json, metricsToken: token });
  const authorization = `Bearer ${token}`;
  for (
    const [path, rows, requests] of [
      ["/Records?$count=true", 0, 1],
      ["/Citations.json?$filter=DOI eq '10.25976/weir-bb00'", 1, 1],
      ["/", 0, 3],
      ["/metrics", 0, 0],
    ] as const
  ) {
    const before = stats.requests;
    const [, bytes] = await get(app, path, { headers: { authorization } });
    const facts = JSON.parse(log.at(-1)!);
    assertEquals([facts.status, facts.outcome], [200, "complete"], path);
    assertEquals([facts.path, facts.rows, facts.bytes], [path.split("?")[0], rows, bytes]);
    assertEquals([facts.upstreamRequests, stats.requests - before], [requests, requests], path);
  }
});

Deno.test("EdgeApp.request() logs refused requests with their status, as warnings", async () => {
  const { app, log } = overSandbox({}, { ...json, access: "token", tokens: [token] });
  const authorization = `Bearer ${token}`;
  const cases: [path: string, status: number, init?: RequestInit][] = [
    ["/Records.csv?limit=x", 400, { headers: { authorization } }],
    ["/Records.csv", 401],
    ["/nothing", 404],
    ["/Records.csv", 405, { method: "PUT" }],
    ["/", 413, { method: "POST", body: "x".repeat(100_001) }],
  ];
  for (const [path, status, init] of cases) {
    await get(app, path, init);
    const facts = JSON.parse(log.at(-1)!);
    assertEquals([facts.status, facts.level, facts.requestId], [status, "warn", ID]);
    assertEquals(facts.path, status === 404 ? "(unknown)" : path.split("?")[0]);
  }
  const busy = overUpstream([Response.json({}, { status: 429 })], json);
  await get(busy.app, "/Records.csv");
  assertEquals(busy.log.map((line) => JSON.parse(line).level), ["error", "warn"]);
});

test("EdgeApp.request() logs a download as aborted, with the bytes read, when the client leaves", async () => {
  const { app, log } = overSandbox({ records: 500 }, { ...json, pageRows: 100 });
  const reader = (await app.request("/Records.csv", { headers })).body!.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  const { outcome, status, rows, bytes, level } = only(log);
  assertEquals([outcome, status, rows, bytes, level], [
    "aborted",
    200,
    100,
    value!.length,
    "info",
  ]);
});

Deno.test("EdgeApp.request() logs a download that breaks as failed, and its error, with the same id", async () => {
  const { app, log } = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({}, { status: 500 }),
    Response.json({}, { status: 500 }),
  ], json);
  const response = await app.request("/Records.csv?$select=Id", { headers });
  const thrown = await assertRejects(() => response.text(), Error, "was interrupted");
  // The runtimes print the error of a body.
  const { level, message, requestId } = JSON.parse(Deno.inspect(thrown));
  assertEquals([level, message, requestId], ["info", thrown.message, ID]);
  assertEquals(thrown.stack, `Error: ${thrown.message}`);
  const [error, request] = log.map((line) => JSON.parse(line));
  assertEquals(log.length, 2);
  assertEquals([error.level, error.requestId], ["error", ID]);
  assertStringIncludes(error.message, "Download of Records failed after its first rows");
  assertEquals([request.level, request.outcome, request.status], ["error", "failed", 200]);
  assertEquals([request.requestId, request.rows, request.bytes], [ID, 1, "Id\r\n1\r\n".length]);
});

Deno.test("EdgeApp.request() logs the error of a response with status 502 with its request id", async () => {
  const { app, log } = overUpstream([Response.json({}, { status: 500 })], text);
  const response = await app.request("/Records.csv", { headers });
  assertEquals([response.status, response.headers.get("x-request-id")], [502, ID]);
  assertStringIncludes((await response.json()).hint, `the request id ${ID}, which is in its log`);
  assertEquals(log.length, 2);
  for (const line of log) assertStringIncludes(line, ID);
  assertStringIncludes(log[0]!, "Download of Records failed: ");
});

Deno.test("EdgeApp.request() returns the x-request-id of the request when it is valid, else a random one", async () => {
  const { app } = overSandbox();
  const idOf = async (id: string | undefined, path = "/healthz", method = "GET") => {
    const headers: HeadersInit = id === undefined ? {} : { "x-request-id": id };
    const response = await app.request(path, { method, headers });
    await response.body?.cancel();
    return response.headers.get("x-request-id")!;
  };
  for (const id of ["4bf92f35-77b3.4da6_A", "x".repeat(128)]) {
    for (const path of ["/Records.csv?limit=1", "/Records.csv?limit=x", "/nothing"]) {
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        assertEquals(await idOf(id, path, method), id);
      }
    }
  }
  const invalid = [undefined, "", "a b", "é", "x".repeat(129), 'a"b', "a,b"];
  const ids = await Promise.all(invalid.map((id) => idOf(id)));
  for (const id of ids) assertMatch(id, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("EdgeApp.request() does not keep a request id when it is a key or a token", async () => {
  const { app, log } = overSandbox({}, { ...text, access: "token", tokens: [token] });
  const cases: [id: string, others: Record<string, string>][] = [
    [token, {}],
    ["my-own-key", { "x-api-key": "my-own-key" }],
    ["my-own-token", { authorization: "Bearer my-own-token" }],
    ["sandbox", {}], // the API key of the server
  ];
  for (const [id, others] of cases) {
    const response = await app.request("/healthz", { headers: { "x-request-id": id, ...others } });
    assertEquals(response.headers.get("x-request-id") === id, false);
    assertEquals(log.join().includes(id), false);
  }
});

Deno.test("EdgeApp.fetch() gives a 400 and logs no URL when the URL is invalid", async () => {
  const { app, log } = overSandbox({ records: 1 }, text);
  const request = new Request("http://localhost/", { headers });
  // As Deno and Bun pass on a request with such a host header.
  Object.defineProperty(request, "url", { value: "http://a b/Records.csv?signature=secret" });
  const response = await app.fetch(request);
  assertEquals(response.status, 400);
  assertMatch(
    (await response.json()).detail,
    /^The host header or the URL of the request is invalid$/,
  );
  assertEquals(response.headers.get("x-request-id"), ID);
  assertMatch(log.join("\n"), / GET \(unknown\) 400 complete: 0 rows, \d+ bytes, [^"\n]*$/);
});

Deno.test("EdgeApp.request() logs only known methods and paths", async () => {
  const { app, log } = overSandbox({}, text);
  await get(app, "/key-of-a-caller/Records.csv", { method: "KEY-OF-A-CALLER" });
  assertMatch(log[0]!, / OTHER \(unknown\) 404 complete: /);
  await get(app, "/Records%2Ecsv?limit=1");
  assertMatch(log[1]!, / GET \/Records.csv 200 complete: /);
});

Deno.test("EdgeApp.request() logs the URL parameters except filename when all are valid, else none", async () => {
  const valid: Record<string, string> = {
    $select: "Id, DOI",
    $filter: "DOI eq '10.25976/x y'",
    $top: "5000",
    $skiptoken: "Id:5",
    $count: "true",
    $format: "CSV",
    limit: "3",
    bbox: "-64,46,-62,47",
    tidy: "true",
    from: "2020-01-01",
    to: "2020-12-31",
    excludeQualityControl: "true",
    separator: "tab",
    bom: "1",
    header: "false",
    escapeFormulas: "true",
  };
  const others = ["unit", "allowInvalid", "filename"];
  assertEquals([...Object.keys(valid), ...others].sort(), DOWNLOAD_PARAMETERS.toSorted());
  const { app, log } = overSandbox({ records: 1 }, json);
  const logged = async (query: string, path = "/Records") => {
    await get(app, `${path}?${query}`, { method: "HEAD" });
    return JSON.parse(log.at(-1)!).query;
  };
  for (const [name, value] of Object.entries(valid)) {
    const query = `${name}=${encodeURIComponent(value)}`;
    assertEquals(await logged(`${query}&filename=my-key`), { [name]: value });
    assertEquals(await logged(`${name}=my-key&allowInvalid=1`), {});
  }
  assertEquals(await logged("limit=1&key=my-key"), {});
  assertEquals(await logged("bbox=1,2,3,4", "/Citations.txt"), { bbox: "1,2,3,4" });
  assertEquals(await logged("$filter=my-key", "/Citations.txt"), {});
  assertEquals(await logged("$filter=my-key", "/"), {});
});

Deno.test("EdgeApp.request() logs one short line when a client sends controls, quotes and long values", async () => {
  for (const options of [json, text]) {
    const { app, log } = overSandbox({ records: 1 }, options);
    const literal = `a\n2026-01-01 error forged\r\u2028\u202e\u0085\u001b[31m"b${
      "x".repeat(5_000)
    }`;
    await get(app, `/Records.csv?$filter=${encodeURIComponent(`Name eq '${literal}'`)}`);
    await get(app, `/a%0Ab%E2%80%A8?x=${encodeURIComponent(literal)}`);
    assertEquals(log.length, 2);
    for (const line of log) {
      assertEquals(/[\p{C}\p{Zl}\p{Zp}]/u.test(line), false, line);
      assert(line.length < 3_000);
    }
  }
});

Deno.test("EdgeApp.request() never logs the token of a form", async () => {
  const { app, log } = overSandbox({}, { ...text, access: "token", tokens: [token] });
  for (const value of [token, "another-token-of-a-test"]) {
    const body = new URLSearchParams({ token: value, endpoint: "x" });
    await get(app, "/", { method: "POST", body });
    assertEquals(log.join().includes(value), false);
  }
  assertEquals(log.length, 2);
});

/** Secrets of the server, with characters that JSON, URLs and regular expressions escape. */
const secretsOfServer = {
  apiKey: 'k3y"of\\a+test$1',
  signingSecret: 'a "secret"  of\ta test \\ of 32 bytes & more é',
  tokens: ["the-token-of-a-test", "the-token-of-a-test-and-more=="],
  metricsToken: "metrics~token/of+a-test",
};
const CALLER_KEY = "the$caller's/key+1%41";

/** Sends a request with secrets in random places. */
async function sendRandomRequest(app: EdgeApp, random: Random, secrets: string[]): Promise<void> {
  const secret = () => random.pick(secrets);
  // A caller may forget to encode a key, or write it as a literal of a filter.
  const encoded = (text: string) => {
    const placed = random.chance(0.5) ? text.replace("*", secret()) : text;
    if (random.chance(0.2)) return placed;
    return encodeURIComponent(random.chance(0.2) ? placed.replaceAll("'", "''") : placed);
  };
  const names = ["$filter", "limit", "filename", "key", "expires=1&signature", "separator"];
  const parameters = [
    `$filter=${encoded("DOI eq '*'")}`,
    `$select=${encoded("Id,*")}`,
    `${encoded("*")}=1`,
    ...names.map((name) => `${name}=${encoded("*")}`),
  ];
  const path = random.pick([
    ...["/Records.csv", "/Records", "/Citations.json", "/", "/metrics", "/readyz"],
    ...[`/${encoded("*")}`, `/${encoded("*")}/Records.csv`],
  ]);
  const query = random.shuffle(parameters).slice(0, random.int(0, 3)).join("&");
  const authorization = `Bearer ${secret().replace(/[^\x21-\x7e]/g, "")}`;
  const init: RequestInit = {
    method: random.pick(["GET", "GET", "HEAD", "POST", "DELETE"]),
    headers: {
      ...(random.chance(0.8) && { "x-api-key": CALLER_KEY }),
      ...(random.chance(0.5) && { authorization }),
      ...(random.chance(0.5) && { "x-request-id": secret().replace(/[^\x20-\x7e]/g, "") }),
      referer: `https://a.example/?key=${encoded("*")}`,
    },
  };
  if (init.method === "POST") init.body = new URLSearchParams({ token: secret(), x: secret() });
  const response = await app.request(`${path}?${query}`, init);
  await response.text().catch(() => {});
}

for (const access of ["public", "caller", "token", "signed"] as const) {
  Deno.test(`EdgeApp.request() logs no secret and valid JSON for random requests when access is ${access}`, async () => {
    const { apiKey, signingSecret, tokens, metricsToken } = secretsOfServer;
    const secrets = [apiKey, signingSecret, ...tokens, metricsToken];
    const random = new Random(17);
    for (const logFormat of ["json", "text"] as const) {
      const leaky = Array.from({ length: 400 }, () => () => {
        const quoted = `${random.pick([...secrets, CALLER_KEY])} ${secrets.join(" ")}`;
        return random.pick([
          () => page([{ Id: 1 }]),
          () => page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
          () => Response.json({ message: quoted }, { status: 500 }),
          () => new Response(JSON.stringify({ error: quoted }), { status: 403 }),
          () => Response.json({ value: quoted }),
          () => Promise.reject(new Error(quoted)),
        ])();
      });
      const { app, log } = overUpstream(leaky, {
        ...json,
        logFormat,
        access,
        ...secretsOfServer,
        requestsPerSecond: Infinity,
      });
      const usable = access === "caller" ? [...secrets, CALLER_KEY] : secrets;
      for (let count = 0; count < 100; count++) await sendRandomRequest(app, random, usable);
      assert(log.length >= 100);
      for (const line of log) {
        assertEquals(/[\p{Cc}]/u.test(line), false, line);
        if (logFormat === "json") assertEquals(typeof JSON.parse(line).requestId, "string");
        const all = logFormat === "json" ? `${line} ${textOf(JSON.parse(line))}` : line;
        for (const secret of usable) {
          for (const form of formsOf(secret)) {
            assertEquals(all.includes(form), false, `${form} is in ${all}`);
          }
        }
      }
    }
  });
}

/** Returns the forms of a secret that a reader of the log could use. */
function formsOf(secret: string): string[] {
  return [
    secret,
    secret.replaceAll("+", " "),
    secret.replaceAll("'", "''"),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function textOf(value: unknown): string {
  return typeof value === "object" && value !== null
    ? Object.entries(value).map(([name, member]) => `${name} ${textOf(member)}`).join(" ")
    : String(value);
}

Deno.test("EdgeApp.request() logs no path of the base URL when it is not DataStream's", async () => {
  const log: string[] = [];
  for (const path of ["/a-key-of-a-proxy/v1/odata/v4", "/a-key-of-a-proxy/"]) {
    const { app, log: lines } = overUpstream([Response.json({}, { status: 418 })], {
      ...text,
      baseUrl: `https://proxy.invalid${path}`,
    });
    await get(app, "/Records.csv");
    log.push(lines.join());
  }
  assertStringIncludes(log[0]!, "https://proxy.invalid[secret]v1/odata/v4/");
  assertStringIncludes(log[1]!, "https://proxy.invalid[secret]Records");
  assertEquals(log.join().includes("a-key"), false);
});
