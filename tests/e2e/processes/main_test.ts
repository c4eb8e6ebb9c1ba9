// edge/serve.ts with different environment variables.
import { assertEquals, assertMatch } from "@std/assert";

interface Entry {
  fetch(request: Request, bindings?: Record<string, string>): Response | Promise<Response>;
}

/**
 * Loads the entry with an environment, and records the lines that it logs. Does not change the
 * environment of the process, which test files that run at the same time share.
 */
async function load(
  environment: Record<string, string>,
  module: () => Promise<{ default: Entry }>,
): Promise<{ get: (path: string) => Promise<Response>; logged: string[] }> {
  const scope = globalThis as { process?: unknown };
  const { process } = scope;
  scope.process = { env: environment };
  const logged: string[] = [];
  const { error } = console;
  console.error = (line: string) => void logged.push(line);
  try {
    const entry = (await module()).default;
    return { get: async (path) => await entry.fetch(new Request(`http://host${path}`)), logged };
  } finally {
    console.error = error;
    scope.process = process;
  }
}

Deno.test("fetch() of the entry serves synthetic data when WEIR_SANDBOX is 1", async () => {
  const { get, logged } = await load(
    { WEIR_SANDBOX: "1" },
    () => import("../../../edge/serve.ts#a"),
  );
  const response = await get("/Records.csv?$select=Id&$filter=DOI%20eq%20%27none%27");
  assertEquals([response.status, await response.text(), logged.length], [200, "Id\r\n", 1]);
  assertMatch(logged[0]!, / info [\da-f-]{36} GET \/Records.csv 200 complete: 0 rows, 4 bytes, /);
  assertEquals(response.headers.get("x-weir-data"), "synthetic");
});

Deno.test("fetch() of the entry returns 503, and 200 for /healthz, when WEIR_ACCESS is not set", async () => {
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  const { get, logged } = await load(environment, () => import("../../../edge/serve.ts#b"));
  assertEquals((await get("/healthz")).status, 200);
  const response = await get("/Records.csv");
  assertEquals(response.status, 503);
  assertEquals(await response.json(), {
    type: "about:blank",
    status: 503,
    title: "Not serving",
    detail: "The configuration of the server is invalid",
    hint: "tell the operator of this server (its log says which environment variable to set)",
  });
  assertEquals(response.headers.get("retry-after"), "60");
  assertEquals(logged.length, 1);
  assertMatch(
    logged[0]!,
    /^Not serving: WEIR_ACCESS must be one of caller, signed, token, public, got nothing/,
  );
});

Deno.test("fetch() of the entry returns 503, after one log line with the variable, when a value is invalid", async () => {
  const environment = { WEIR_ACCESS: "caller", DATASTREAM_BASE_URL: "ftp://example.org" };
  const { get, logged } = await load(environment, () => import("../../../edge/serve.ts#c"));
  assertEquals([(await get("/Records")).status, (await get("/")).status], [503, 503]);
  assertEquals(logged.length, 1);
  assertMatch(logged[0]!, /^Not serving: DATASTREAM_BASE_URL must begin with https/);
});

Deno.test("the entry logs the variable, and not the key, when the key is malformed", async () => {
  const environment = { WEIR_ACCESS: "public", DATASTREAM_API_KEY: "no key\n" };
  const { logged } = await load(environment, () => import("../../../edge/serve.ts#key"));
  assertMatch(logged[0]!, /^Not serving: DATASTREAM_API_KEY must be visible ASCII/);
  assertEquals(logged[0]!.includes("no key"), false);
});

Deno.test("the entry logs the variable of an option that createApp() rejects", async () => {
  const environment = {
    WEIR_ACCESS: "token",
    DATASTREAM_API_KEY: "key",
    WEIR_TOKENS: "a-short-token",
  };
  const { logged } = await load(environment, () => import("../../../edge/serve.ts#tokens"));
  assertMatch(logged.join(), /^Not serving: WEIR_TOKENS must be tokens of at least 16 letters/);
  assertEquals(logged[0]!.includes("a-short-token"), false);
});

Deno.test("fetch() of the entry returns 503 when the rate is above the limit of the service", async () => {
  const environment = { WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "3" };
  const { get, logged } = await load(environment, () => import("../../../edge/serve.ts#d"));
  assertEquals((await get("/Records")).status, 503);
  assertMatch(
    logged.join(),
    /^Not serving: WEIR_REQUESTS_PER_SECOND must be at most 2 for DataStream/,
  );
});

Deno.test("the entry has the properties that Bun reads, and uses the environment of a request on Workers", async () => {
  const { default: entry } = await import("../../../edge/serve.ts#a");
  assertEquals([Object.keys(entry), entry.idleTimeout], [["idleTimeout", "fetch"], 255]);
  const { navigator } = globalThis;
  const agent = { userAgent: "Cloudflare-Workers" };
  Object.defineProperty(globalThis, "navigator", { value: agent, configurable: true });
  try {
    const { default: worker } = await import("../../../edge/serve.ts#worker");
    const request = new Request("http://host/Records.csv?$select=Id&$filter=DOI%20eq%20%27none%27");
    const response = await worker.fetch(request, { WEIR_SANDBOX: "1" });
    assertEquals(await response.text(), "Id\r\n");
  } finally {
    Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  }
});
