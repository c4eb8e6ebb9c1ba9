// The environment of a server is checked, and its settings are printed without a secret. Tests `readConfig()`
// directly: `edge/serve.ts` reads the environment of the process once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { createApp } from "../../../edge/app.ts";
import {
  createReport,
  readConfig,
  readListenOptions,
  sandboxOptions,
  settingsLine,
  unknownVariables,
} from "../../../edge/config.ts";
import { VARIABLE_NAMES, VARIABLES } from "../../../edge/options.ts";
import { messageFor } from "../../../src/errors.ts";
import { SECRET } from "../../helpers/edge.ts";

/** Reads the environment; leaves out options that are not set. */
const read = (environment: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(readConfig(environment)).filter(([, value]) => value !== undefined),
  );

const variables = VARIABLES.map(({ variable }) => variable);

/** Creates an app from an environment. Throws an error whose message names variables. */
function create(environment: Record<string, string>): void {
  try {
    createApp(readConfig(environment));
  } catch (error) {
    assert(error instanceof ValidationError);
    throw new TypeError(messageFor(error, VARIABLE_NAMES));
  }
}

Deno.test("readConfig() reads every variable", () => {
  const environment: Record<string, string> = {
    DATASTREAM_API_KEY: "k",
    DATASTREAM_BASE_URL: "https://example.org/v1",
    WEIR_ACCESS: "signed",
    WEIR_CACHE_TTL: "60",
    WEIR_CLIENT_ADDRESS_HEADER: "x-forwarded-for",
    WEIR_CORS_ORIGINS: "https://a.example, https://b.example",
    WEIR_LOG: "json",
    WEIR_MAX_ROWS: "1000000",
    WEIR_MAX_CACHED_BYTES: "16000000",
    WEIR_MAX_DOWNLOADS: "5",
    WEIR_MAX_DOWNLOADS_PER_CLIENT: "3",
    WEIR_METRICS_TOKEN: "metrics-token-of-a-test\n",
    WEIR_PAGE_ROWS: "2000",
    WEIR_REQUESTS_PER_SECOND: "0.5",
    WEIR_SANDBOX: "0",
    WEIR_SIGNING_SECRET: SECRET,
    WEIR_TOKENS: "the-first-token-00, the-second-token-0,",
  };
  // readListenOptions() reads the others.
  assertEquals([...Object.keys(environment), "HOST", "PORT"].sort(), variables.toSorted());
  assertEquals(read(environment), {
    access: "signed",
    apiKey: "k",
    baseUrl: "https://example.org/v1",
    clientAddressHeader: "x-forwarded-for",
    corsOrigins: ["https://a.example", "https://b.example"],
    logFormat: "json",
    logRequests: true,
    maxRows: 1_000_000,
    maxCachedBytes: 16_000_000,
    cacheTtl: 60_000,
    maxDownloads: 5,
    maxDownloadsPerClient: 3,
    metricsToken: "metrics-token-of-a-test",
    pageRows: 2_000,
    requestsPerSecond: 0.5,
    signingSecret: SECRET,
    tokens: ["the-first-token-00", "the-second-token-0"],
  });
});

Deno.test("readConfig() ignores a variable when it is empty", () => {
  const empty = Object.fromEntries(variables.map((name) => [name, ""]));
  const given = { ...empty, WEIR_ACCESS: "caller", WEIR_CORS_ORIGINS: "*" };
  const log = { logRequests: true, logFormat: "text" };
  assertEquals(read(given), { access: "caller", corsOrigins: "*", ...log });
});

Deno.test("readConfig() selects the lines of the log by WEIR_LOG, also with WEIR_SANDBOX", () => {
  for (
    const [WEIR_LOG, ...expected] of [["text", true, "text"], ["errors", false, "text"]] as const
  ) {
    for (const others of [{ WEIR_ACCESS: "caller" }, { WEIR_SANDBOX: "1" }]) {
      const { logRequests, logFormat } = readConfig({ ...others, WEIR_LOG });
      assertEquals([logRequests, logFormat], expected);
    }
  }
});

Deno.test("settingsLine() has half of the default of WEIR_MAX_CACHED_BYTES when the runtime is Workers", () => {
  const original = Object.getOwnPropertyDescriptor(globalThis, "navigator")!;
  const shown = () => /WEIR_MAX_CACHED_BYTES=(\d+)/.exec(settingsLine({ access: "caller" }))![1];
  assertEquals(shown(), "64000000");
  const navigator = { userAgent: "Cloudflare-Workers" };
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  try {
    assertEquals(shown(), "32000000");
  } finally {
    Object.defineProperty(globalThis, "navigator", original);
  }
});

Deno.test("readConfig() returns options over synthetic data, with the limits, when WEIR_SANDBOX is 1", async () => {
  const config = readConfig({ WEIR_SANDBOX: "1", DATASTREAM_API_KEY: "k", WEIR_MAX_ROWS: "10" });
  const { access, synthetic, apiKey, requestsPerSecond, maxRows } = config;
  assertEquals([access, synthetic, apiKey], ["public", true, "sandbox"]);
  assertEquals([requestsPerSecond, maxRows], [2, 10]);
  const response = await createApp(config).request("/Records.csv?$select=Id&$filter=DOI eq 'x'");
  assertEquals(await response.text(), "Id\r\n");
});

Deno.test("sandboxOptions() sets the rate limit of the client and of the sandbox", async () => {
  const { requestsPerSecond, fetch, apiKey, baseUrl } = sandboxOptions({
    requestsPerSecond: 0.001,
  });
  assertEquals(requestsPerSecond, 0.001);
  const getStatus = async () => {
    const headers = { "x-api-key": apiKey! };
    const response = await fetch!(new Request(`${baseUrl}/Metadata`, { headers }));
    await response.text();
    return response.status;
  };
  assertEquals([await getStatus(), await getStatus()], [200, 429]);
});

const wrong: [environment: Record<string, string>, message: string][] = [
  [{}, "WEIR_ACCESS must be one of caller, signed, token, public, got nothing"],
  [{ WEIR_ACCESS: "tokens" }, 'got "tokens": did you mean "token"?'],
  [{ WEIR_ACCESS: "public" }, "DATASTREAM_API_KEY must be set"],
  [
    { WEIR_ACCESS: "signed", DATASTREAM_API_KEY: "k", WEIR_SIGNING_SECRET: " \n" },
    "WEIR_SIGNING_SECRET must be set",
  ],
  [{ WEIR_SANDBOX: "yes" }, "WEIR_SANDBOX must be 1 or 0"],
  [{ WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "fast" }, 'got "fast"'],
  [{ WEIR_ACCESS: "caller", WEIR_CACHE_TTL: "86401" }, "from 0 to 86400, got 86401"],
  [{ WEIR_ACCESS: "caller", WEIR_LOG: "jsn" }, 'got "jsn": did you mean "json"?'],
  [{ WEIR_ACCESS: "caller", WEIR_PAGE_ROWS: "10001" }, "WEIR_PAGE_ROWS must be a whole number"],
  [{ WEIR_SANDBOX: "1", WEIR_PAGE_ROWS: "1e3" }, "WEIR_PAGE_ROWS"],
  [{ WEIR_SANDBOX: "1", WEIR_ACCESS: "token" }, "WEIR_ACCESS must be public for synthetic data"],
];
for (const [environment, message] of wrong) {
  Deno.test(`createApp() names the variable when the environment is ${JSON.stringify(environment)}`, () => {
    assertThrows(() => create(environment), TypeError, message);
  });
}

Deno.test("readListenOptions() returns the address and the port of the variables, or their defaults", () => {
  const cases: [environment: Record<string, string>, hostname: string, port: number][] = [
    [{}, "127.0.0.1", 8000],
    [{ HOST: " ", PORT: "" }, "127.0.0.1", 8000],
    [{ HOST: "0.0.0.0", PORT: "0 " }, "0.0.0.0", 0],
    [{ HOST: "[::1]" }, "::1", 8000],
    [{ HOST: "::1" }, "::1", 8000],
  ];
  for (const [environment, hostname, port] of cases) {
    assertEquals(readListenOptions(environment), { hostname, port });
  }
  for (const PORT of ["http", "65536", "-1"]) {
    const { message } = assertThrows(() => readListenOptions({ PORT }), ValidationError);
    assertStringIncludes(message, "PORT must be a whole number from 0 to 65535, got ");
  }
});

Deno.test("unknownVariables() suggests the nearest known name, or lists all", () => {
  assertEquals(unknownVariables(["WEIR_MAX_ROW", "PATH", "weir_acess", "DATASTREAM_KEY"]), [
    'Unknown variable WEIR_MAX_ROW: did you mean "WEIR_MAX_ROWS"?',
    'Unknown variable weir_acess: did you mean "WEIR_ACCESS"?',
  ]);
  const [line] = unknownVariables(["WEIR_API_KEY", "WEIR_X=secret"]);
  assertStringIncludes(
    line!,
    "Unknown variable WEIR_API_KEY: use one of WEIR_ACCESS, DATASTREAM_API_KEY,",
  );
});

Deno.test("settingsLine() contains no secret when the server has all of them", () => {
  const secrets = {
    DATASTREAM_API_KEY: "the-api-key",
    WEIR_SIGNING_SECRET: "the-signing-secret-of-at-least-32-bytes",
    WEIR_TOKENS: "the-first-token-00,the-second-token-0",
    WEIR_METRICS_TOKEN: "the-metrics-token",
  };
  const line = settingsLine(readConfig({
    ...secrets,
    WEIR_ACCESS: "signed",
    DATASTREAM_BASE_URL: "https://example.org/the-path-of-a-proxy/",
  }));
  const settings = [
    ...["DATASTREAM_API_KEY=(set)", "WEIR_SIGNING_SECRET=(set)", "WEIR_TOKENS=(2)"],
    ...["WEIR_METRICS_TOKEN=(set)", "DATASTREAM_BASE_URL=example.org", "WEIR_MAX_ROWS=unlimited"],
  ];
  for (const setting of settings) assertStringIncludes(line, ` ${setting},`);
  const texts = Object.values(secrets).flatMap((text) => text.split(","));
  for (const secret of [...texts, "the-path-of-a-proxy"]) {
    assertEquals(line.includes(secret), false);
  }
});

Deno.test("settingsLine() has each setting in force when its variable is set", () => {
  const parts = (variables: Record<string, string>) =>
    settingsLine(readConfig({ WEIR_ACCESS: "caller", ...variables })).split(/, |: /);
  const settings: [variable: string, text: string, shown?: string][] = [
    ["DATASTREAM_BASE_URL", "https://example.org", "example.org"],
    ["WEIR_MAX_ROWS", "1234"],
    ["WEIR_MAX_DOWNLOADS", "1234"],
    ["WEIR_MAX_DOWNLOADS_PER_CLIENT", "1234"],
    ["WEIR_CLIENT_ADDRESS_HEADER", "x-real-ip"],
    ["WEIR_MAX_CACHED_BYTES", "1234"],
    ["WEIR_CACHE_TTL", "0"],
    ["WEIR_PAGE_ROWS", "1234"],
    [
      "WEIR_CORS_ORIGINS",
      "https://a.example,https://b.example",
      "https://a.example https://b.example",
    ],
    ["WEIR_REQUESTS_PER_SECOND", "1.5"],
    ["WEIR_LOG", "json"],
    ["WEIR_LOG", "errors"],
  ];
  for (const [variable, text, shown = text] of settings) {
    const setting = `${variable}=${shown}`;
    assertEquals([{}, { [variable]: text }].map((given) => parts(given).includes(setting)), [
      false,
      true,
    ]);
  }
});

Deno.test("createReport() writes text, or JSON objects when WEIR_LOG is json", () => {
  const lines = [undefined, "errors", "json "].map((log) => {
    const written: unknown[] = [];
    // All arguments, as of console.error().
    const report = createReport((...line) => written.push(...line), { WEIR_LOG: log });
    report("It starts");
    report("It fails", "error");
    return written;
  });
  assertEquals(lines.slice(0, 2), [["It starts", "It fails"], ["It starts", "It fails"]]);
  const objects = lines[2]!.map((line) => JSON.parse(String(line)));
  assertEquals(objects.map(({ level, message }) => [level, message]), [
    ["info", "It starts"],
    ["error", "It fails"],
  ]);
  assertEquals(new Date(objects[0].time).toISOString(), objects[0].time);
});
