// The log has one line for each request and error, with the request id, and never a secret.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { AppOptions, EdgeApp } from "../../../../edge/app.ts";
import { DOWNLOAD_PARAMETERS } from "../../../../edge/http/parameters.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { assertGolden } from "../../../helpers/golden.ts";
import { page, ROOT } from "../../../helpers/upstream.ts";

const NOW = Date.UTC(2026, 10, 22, 13, 48, 47, 123);
const ID = "id-of-a-test";
const json: Partial<AppOptions> = { logRequests: true, logFormat: "json", now: () => NOW };
const text: Partial<AppOptions> = { ...json, logFormat: "text" };
const headers = { "x-request-id": ID };

/** Sends a request, and reads the body of the response. */
async function get(app: EdgeApp, path: string, init: RequestInit = {}): Promise<void> {
  const response = await app.request(path, { ...init, headers });
  await response.arrayBuffer();
}

/** Sends requests of each kind to apps with the options; returns the log. */
async function logOf(options: Partial<AppOptions>): Promise<string[]> {
  const sandbox = overSandbox({ records: 300 }, { ...options, pageRows: 100 });
  const { app } = sandbox;
  await get(app, "/Records.csv?%24filter=CharacteristicName%20eq%20'pH'&$select=Id&limit=1");
  await get(app, "/Records?$count=true");
  await get(app, "/Citations.json?$filter=DOI eq '10.25976/weir-bb00'");
  await get(app, "/Locations.geojson?limit=20");
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
  const broken = await assertRejects(() => get(service.app, "/Records.csv?$select=Id&limit=5"));
  await get(service.app, "/Records.csv");
  await get(service.app, "/Records.csv");
  // The runtimes print the error of a body.
  return [...sandbox.log, ...service.log, Deno.inspect(broken)];
}

test("EdgeApp.request() logs each kind of request with the recorded lines, as text and as JSON", async () => {
  const lines = [...await logOf(text), "", ...await logOf(json)];
  await assertGolden(lines.join("\n") + "\n", "edge/log.txt");
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

Deno.test("EdgeApp.request() logs the URL parameters except filename when all are valid, else none", async () => {
  const { app, log } = overSandbox({ records: 1 }, json);
  const logged = async (path: string) => {
    await get(app, path, { method: "HEAD" });
    return JSON.parse(log.at(-1)!).query;
  };
  assertEquals(await logged("/Records?limit=3&separator=tab&$select=Id, DOI&filename=my-key"), {
    $select: "Id, DOI",
    limit: "3",
    separator: "tab",
  });
  assertEquals(await logged("/Citations.txt?bbox=1,2,3,4"), { bbox: "1,2,3,4" });
  const names = DOWNLOAD_PARAMETERS.filter((name) => name !== "filename");
  const invalid = [
    ...names.map((name) => `/Records?${name}=my-key&allowInvalid=1`),
    "/Records?limit=1&key=my-key",
    "/Citations.txt?$filter=my-key",
    "/?$filter=my-key",
  ];
  for (const path of invalid) assertEquals(await logged(path), {}, path);
});

Deno.test("EdgeApp.request() logs one short line when a client sends controls, quotes and long values", async () => {
  for (const options of [json, text]) {
    const { app, log } = overSandbox({ records: 1 }, options);
    const literal = `a\n2026-01-01 error forged\r\u2028\u202e\u0085\u001b[31m"b${
      "x".repeat(5_000)
    }`;
    await get(app, `/Locations.csv?$filter=${encodeURIComponent(`Name eq '${literal}'`)}`);
    await get(app, `/a%0Ab%E2%80%A8?x=${encodeURIComponent(literal)}`);
    assertEquals(log.length, 2);
    assertMatch(log[0]!, /Name eq 'a.* error forged.*x{1000}…/);
    for (const line of log) {
      assertEquals(/[\p{C}\p{Zl}\p{Zp}]/u.test(line), false, line);
      assert(line.length < 3_000);
    }
  }
});
