import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { createServerEntry, type ServerEntry } from "../../../../edge/server/server_entry.ts";
import type { ServerProcess } from "../../../../edge/server/server_process.ts";

/** A process that records what a server does with it. */
class FakeProcess implements ServerProcess {
  isBun = false;
  exitCode: number | undefined;
  stop: (() => Promise<number>) | undefined;
  readonly #environment: Record<string, string>;

  constructor(environment: Record<string, string>) {
    this.#environment = environment;
  }

  variable(name: string): string | undefined {
    return this.#environment[name];
  }
  variableNames(): string[] {
    return Object.keys(this.#environment);
  }
  permissionHint(_name: string): string {
    return "";
  }
  exit(code: number): void {
    this.exitCode ??= code;
  }
  onStopSignal(stop: () => Promise<number>): void {
    assertEquals(this.stop, undefined);
    this.stop = stop;
  }
}

/** Creates an entry in a process, and returns the lines that it reports. */
function createInProcess(
  environment: Record<string, string>,
): { entry: ServerEntry; process: FakeProcess; lines: string[] } {
  const lines: string[] = [];
  const process = new FakeProcess(environment);
  const entry = createServerEntry(process, false, (line) => lines.push(line), 0);
  return { entry, process, lines };
}

/** Download of a header without rows. */
const HEADER_ONLY = "/Records.csv?$select=Id&$filter=DOI%20eq%20%27none%27";

const get = async ({ fetch }: ServerEntry, path: string, context?: unknown) =>
  await fetch(new Request(`http://host${path}`), context);

Deno.test("fetch() of the entry serves synthetic data when WEIR_SANDBOX is 1", async () => {
  const { entry, lines } = createInProcess({ WEIR_SANDBOX: "1" });
  const response = await get(entry, HEADER_ONLY);
  assertEquals([response.status, await response.text()], [200, "Id\r\n"]);
  assertEquals(response.headers.get("x-weir-data"), "synthetic");
  assertMatch(lines[0]!, /^Settings: WEIR_ACCESS=public, /);
  assertMatch(lines[1]!, / info \S+ GET \/Records\.csv 200 complete/);
  assertEquals(lines.length, 2);
});

Deno.test("the entry reports unknown variables when it starts, and starts", async () => {
  const { entry, lines } = createInProcess({ WEIR_SANDBOX: "1", WEIR_MAX_ROW: "5" });
  assertEquals(lines[0], "Unknown variable WEIR_MAX_ROW: did you mean WEIR_MAX_ROWS?");
  assertEquals((await get(entry, "/healthz")).status, 200);
});

Deno.test("the entry reports JSON objects when WEIR_LOG is json", () => {
  const { lines } = createInProcess({ WEIR_SANDBOX: "1", WEIR_LOG: "json", WEIR_X: "1" });
  assertEquals(lines.map((line) => JSON.parse(line).level), ["warn", "info"]);
});

Deno.test("the entry has the properties that Bun reads when it is created", () => {
  const facts = ["", "0.0.0.0"].map((HOST) => {
    const { entry } = createInProcess({ WEIR_SANDBOX: "1", HOST });
    return [Object.keys(entry), entry.idleTimeout, entry.hostname, entry.development];
  });
  const keys = ["idleTimeout", "hostname", "development", "fetch"];
  assertEquals(facts, [[keys, 255, "127.0.0.1", false], [keys, 255, "0.0.0.0", false]]);
});

const KEY = { DATASTREAM_API_KEY: "a-secret-key" };
for (
  const [environment, message] of [
    [
      KEY,
      "WEIR_ACCESS must be one of caller, signed, token, public, got nothing: set it, or use WEIR_SANDBOX=1",
    ],
    [
      { WEIR_ACCESS: "caller", DATASTREAM_BASE_URL: "ftp://example.org" },
      "DATASTREAM_BASE_URL must begin with https",
    ],
    [
      { WEIR_ACCESS: "public", DATASTREAM_API_KEY: "a-secret-key\n1" },
      "DATASTREAM_API_KEY must be visible ASCII",
    ],
    [
      { ...KEY, WEIR_ACCESS: "token", WEIR_TOKENS: "a-secret-key" },
      "WEIR_TOKENS must be tokens of at least 16 letters",
    ],
    [
      { WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "3" },
      "WEIR_REQUESTS_PER_SECOND must be at most 2 for DataStream",
    ],
  ] as [Record<string, string>, string][]
) {
  Deno.test(`the entry exits with 1 when it is the main module and ${message}`, () => {
    const lines: string[] = [];
    const process = new FakeProcess(environment);
    const start = () => createServerEntry(process, true, (line) => lines.push(line));
    // The fake does not exit.
    assertThrows(start, Error);
    assertEquals([process.exitCode, lines.length], [1, 1]);
    assertStringIncludes(lines[0]!, `Not serving: ${message}`);
    assertEquals(lines[0]!.includes("a-secret-key"), false);
  });

  Deno.test(`the entry throws an error when another module imports it and ${message}`, () => {
    const process = new FakeProcess(environment);
    const error = assertThrows(() => createServerEntry(process, false, () => {}), Error);
    assertStringIncludes(error.message, `Not serving: ${message}`);
    assertEquals([error.stack, process.exitCode], [`Error: ${error.message}`, undefined]);
  });
}

Deno.test("the entry exits with 1 in Bun when PORT is invalid", () => {
  const lines: string[] = [];
  const process = new FakeProcess({ WEIR_SANDBOX: "1", PORT: "99999" });
  process.isBun = true;
  assertThrows(() => createServerEntry(process, true, (line) => lines.push(line)), Error);
  assertEquals(process.exitCode, 1);
  assertEquals(lines, ["Not serving: PORT must be a whole number from 0 to 65535, got 99999"]);
});

Deno.test("the entry says that Deno may not read a variable when it is missing", () => {
  const process = new FakeProcess({});
  process.permissionHint = (name) => ` (not permitted: ${name})`;
  const error = assertThrows(() => createServerEntry(process, false, () => {}), Error);
  assertMatch(error.message, / \(not permitted: WEIR_ACCESS\)$/);
});

Deno.test("fetch() of the entry uses the environment of the first request when it runs on Workers", async () => {
  const lines: string[] = [];
  const entry = createServerEntry(undefined, false, (line) => lines.push(line));
  assertEquals(lines, []);
  const response = await get(entry, HEADER_ONLY, { WEIR_SANDBOX: "1", WEIR_ACCES: "public" });
  assertEquals(await response.text(), "Id\r\n");
  assertEquals(lines[0], "Unknown variable WEIR_ACCES: did you mean WEIR_ACCESS?");
  assertMatch(lines[1]!, /^Settings: WEIR_ACCESS=public, .*, WEIR_SANDBOX=1$/);
  await get(entry, "/healthz", { WEIR_SANDBOX: "1" });
  assertEquals(lines.slice(2).map((line) => line.split(" ")[4]), ["/Records.csv", "/healthz"]);
});

Deno.test("the entry writes each line with its level when it runs on Workers", async () => {
  for (const WEIR_LOG of ["text", "json"]) {
    const lines: string[][] = [];
    const add = (level: string) => (...line: string[]) => void lines.push([level, ...line]);
    const log = { info: add("info"), warn: add("warn"), error: add("error") };
    const entry = createServerEntry(undefined, false, log);
    const environment = { WEIR_SANDBOX: "1", WEIR_X: "1", WEIR_LOG };
    await get(entry, "/healthz", environment);
    await get(entry, "/unknown", environment);
    assertEquals(lines.map(([level]) => level), ["warn", "info", "info", "warn"]);
    await get(createServerEntry(undefined, false, log), "/healthz", { WEIR_LOG });
    assertEquals(lines.at(-1)![0], "error");
    assertEquals(lines.map(({ length }) => length), [2, 2, 2, 2, 2]);
  }
});

Deno.test("fetch() of the entry returns 503, and 200 for /healthz, when a value is invalid on Workers", async () => {
  const lines: string[] = [];
  const entry = createServerEntry(undefined, false, (line) => lines.push(line));
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  assertEquals((await get(entry, "/healthz", environment)).status, 200);
  const response = await get(entry, "/Records.csv", environment);
  assertEquals(response.status, 503);
  assertEquals(await response.json(), {
    type: "about:blank",
    status: 503,
    title: "Not serving",
    detail: "The configuration of the server is invalid",
    hint: "tell the operator of this server (its log says which environment variable to set)",
  });
  assertEquals(response.headers.get("retry-after"), "60");
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /^Not serving: WEIR_ACCESS must be one of .*, got nothing/);
});

Deno.test("the entry stops with 0 when the open responses of Deno are complete", async () => {
  const { entry, process, lines } = createInProcess({ WEIR_SANDBOX: "1" });
  assertEquals(process.stop, undefined);
  const { promise, reject } = Promise.withResolvers<void>();
  await get(entry, "/healthz", { completed: Promise.resolve() });
  await get(entry, "/healthz", { completed: promise });
  reject(new Error("the client has left"));
  await promise.catch(() => {});
  // Otherwise the process would end before the timer, as it does under `deno serve`.
  const running = setInterval(() => {}, 1_000);
  assertEquals([await process.stop!(), lines.length], [0, 3]);
  clearInterval(running);
});

Deno.test("the entry stops with 1 and reports the number when responses of Deno are open after the timeout", async () => {
  const { entry, process, lines } = createInProcess({ WEIR_SANDBOX: "1" });
  const completed = new Promise<void>(() => {});
  await get(entry, "/healthz", { completed });
  await get(entry, "/healthz", { completed: Promise.resolve() });
  assertEquals(await process.stop!(), 1);
  assertEquals(
    lines.at(-1),
    "Interrupted 1 open response after 0 s",
  );
});

/** A server of Bun with open responses, which only a forced stop ends. */
function fakeBunServer(pendingRequests: number) {
  const server = {
    pendingRequests,
    calls: [] as (boolean | undefined)[],
    stop(isForced?: boolean) {
      server.calls.push(isForced);
      if (isForced) server.pendingRequests = 0;
      return Promise.resolve();
    },
  };
  return server;
}

Deno.test("the entry stops Bun's server when Bun passes it with a request", async () => {
  for (const [pending, code] of [[0, 0], [2, 1]] as const) {
    const process = new FakeProcess({ WEIR_SANDBOX: "1" });
    process.isBun = true;
    const lines: string[] = [];
    const entry = createServerEntry(process, false, (line) => lines.push(line), 0);
    const server = fakeBunServer(pending);
    const response = await get(entry, HEADER_ONLY, server);
    assertEquals(await response.text(), "Id\r\n");
    assertEquals([await process.stop!(), server.calls], [code, [undefined, true]]);
    assertEquals(lines.slice(2).map((line) => line.split(":")[0]), [
      ...(pending > 0 ? ["Interrupted 2 open responses after 0 s"] : []),
    ]);
  }
});

Deno.test("the entry stops with 0 in Bun when it has received no request", async () => {
  const process = new FakeProcess({ WEIR_SANDBOX: "1" });
  process.isBun = true;
  createServerEntry(process, false, () => {});
  assertEquals(await process.stop!(), 0);
});
