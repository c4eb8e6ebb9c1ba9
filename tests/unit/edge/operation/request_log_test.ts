// The log has one line for each request and error, with the request id, and never a secret.
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { AppOptions, EdgeApp } from "../../../../edge/app.ts";
import { DOWNLOAD_PARAMETERS } from "../../../../edge/downloads/parameters.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { assertGolden } from "../../../helpers/golden.ts";
import { Random } from "../../../properties/random.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

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

/** Sends requests of each kind to apps with the options; returns the log. */
async function logOf(options: Partial<AppOptions>): Promise<string[]> {
  const sandbox = overSandbox({ records: 300 }, { ...options, pageRows: 100 });
  const { app } = sandbox;
  await get(app, "/Records.csv?%24filter=CharacteristicName%20eq%20'pH'&$select=Id&limit=1");
  await get(app, "/Records?$count=true");
  await get(app, "/Citations.json?$filter=DOI eq '10.25976/weir-bb00'");
  await get(app, "/healthz");
  const reader = (await app.request("/Records.csv?$select=Id", { headers })).body!.getReader();
  await reader.read();
  await reader.cancel();
  await get(app, "/Records.csv?limit=x");
  await get(app, "/Records.csv", { method: "PUT" });
  await get(app, "/key-of-a-caller/Records.csv", { method: "KEY-OF-A-CALLER" });
  const invalid = new Request("http://localhost/", { headers });
  // As Deno and Bun pass on a request with such a host header.
  Object.defineProperty(invalid, "url", { value: "http://a b/Records.csv?signature=secret" });
  await app.fetch(invalid);
  const service = overUpstream([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    ...[500, 500, 429].map((status) => Response.json({}, { status })),
  ], options);
  await assertRejects(() => get(service.app, "/Records.csv?$select=Id&limit=5"));
  await get(service.app, "/Records.csv");
  await get(service.app, "/Records.csv");
  return [...sandbox.log, ...service.log];
}

test("EdgeApp.request() logs each kind of request with the recorded lines, as text and as JSON", async () => {
  const lines = [...await logOf(text), "", ...await logOf(json)];
  await assertGolden(lines.join("\n") + "\n", "edge/log.txt");
});

Deno.test("createApp() logs no requests when logRequests is not set", async () => {
  const { app, log } = overSandbox({}, { logFormat: "json" });
  await get(app, "/nothing");
  assertEquals(log, []);
});

test("EdgeApp.request() breaks a body with an error that the runtimes print as a line of the log", async () => {
  const link = `${ROOT}/Records?$skiptoken=Id:1`;
  const { app, log } = overUpstream(
    [page([{ Id: 1 }], link), Response.json({}, { status: 500 })],
    json,
  );
  const response = await app.request("/Records.csv?$select=Id&limit=5", { headers });
  const thrown = await assertRejects(() => response.text(), Error, "was interrupted");
  const { level, message, requestId } = JSON.parse(Deno.inspect(thrown));
  assertEquals([level, message, requestId], ["info", thrown.message, ID]);
  assertEquals([thrown.stack, log.length], [`Error: ${thrown.message}`, 2]);
});

Deno.test("EdgeApp.request() returns the x-request-id of the request when it is valid, else a random one", async () => {
  const { app } = overSandbox();
  const idOf = async (id: string | undefined, path = "/healthz") => {
    const headers: HeadersInit = id === undefined ? {} : { "x-request-id": id };
    const response = await app.request(path, { headers });
    await response.body?.cancel();
    return response.headers.get("x-request-id")!;
  };
  const valid = "4bf92f35-77b3.4da6_A";
  for (const path of ["/Records.csv?limit=1", "/Records.csv?limit=x", "/nothing"]) {
    assertEquals(await idOf(valid, path), valid);
  }
  assertEquals(await idOf("x".repeat(128)), "x".repeat(128));
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
    "/Records.csv",
    "/Records",
    "/Citations.json",
    "/",
    "/metrics",
    "/readyz",
    `/${encoded("*")}`,
    `/${encoded("*")}/Records.csv`,
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
      const leaky = Array.from({ length: 200 }, () => () => {
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
      for (let count = 0; count < 50; count++) await sendRandomRequest(app, random, usable);
      assert(log.length >= 50);
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
  const { app, log } = overUpstream([Response.json({}, { status: 418 })], {
    ...text,
    baseUrl: "https://proxy.invalid/a-key-of-a-proxy/v1/odata/v4",
  });
  await get(app, "/Records.csv");
  assertStringIncludes(log.join(), "https://proxy.invalid[secret]v1/odata/v4/");
  assertEquals(log.join().includes("a-key"), false);
});
