// Tests `readConfig()` directly: `edge/serve.ts` reads the environment of the process once.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { createApp } from "../../../edge/app.ts";
import { readConfig, sandboxOptions, settingsLine } from "../../../edge/config.ts";
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

const LOG_DEFAULTS = { logRequests: true, logFormat: "text" };

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

Deno.test("readConfig() trims a secret and a key that end with a line feed", () => {
  const { apiKey, signingSecret } = readConfig({
    WEIR_ACCESS: "signed",
    DATASTREAM_API_KEY: "k\n",
    WEIR_SIGNING_SECRET: `${SECRET}\n`,
  });
  assertEquals([apiKey, signingSecret], ["k", SECRET]);
});

Deno.test("readConfig() throws when a required variable holds only white space", () => {
  const given = { WEIR_ACCESS: "signed", DATASTREAM_API_KEY: "k", WEIR_SIGNING_SECRET: SECRET };
  for (const name of ["DATASTREAM_API_KEY", "WEIR_SIGNING_SECRET"]) {
    assertThrows(() => create({ ...given, [name]: " \n" }), TypeError, `${name} must be set`);
  }
});

Deno.test("readConfig() ignores a variable when it is empty", () => {
  const empty = Object.fromEntries(variables.map((name) => [name, ""]));
  assertEquals(read({ ...empty, WEIR_ACCESS: "caller" }), {
    access: "caller",
    ...LOG_DEFAULTS,
  });
});

for (
  const [text, logRequests, logFormat] of [
    ["text", true, "text"],
    ["json", true, "json"],
    ["errors", false, "text"],
  ] as const
) {
  Deno.test(`readConfig() selects the lines of the log when WEIR_LOG is ${text}`, () => {
    for (const others of [{ WEIR_ACCESS: "caller" }, { WEIR_SANDBOX: "1" }]) {
      const config = readConfig({ ...others, WEIR_LOG: text });
      assertEquals([config.logRequests, config.logFormat], [logRequests, logFormat]);
    }
  });
}

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

Deno.test("readConfig() allows all origins when WEIR_CORS_ORIGINS is *", () => {
  assertEquals(read({ WEIR_ACCESS: "caller", WEIR_CORS_ORIGINS: "*" }).corsOrigins, "*");
});

Deno.test("readConfig() returns options over synthetic data when WEIR_SANDBOX is 1", async () => {
  const config = readConfig({ WEIR_SANDBOX: "1", DATASTREAM_API_KEY: "k" });
  assertEquals([config.access, config.synthetic, config.apiKey], ["public", true, "sandbox"]);
  assertEquals(config.requestsPerSecond, 2);
  const response = await createApp(config).request("/Records.csv?$select=Id&$filter=DOI eq 'x'");
  assertEquals(await response.text(), "Id\r\n");
});

Deno.test("sandboxOptions() sets the rate limit of the client and of the sandbox", async () => {
  const { requestsPerSecond, fetch, apiKey, baseUrl } = sandboxOptions({
    requestsPerSecond: 0.001,
  });
  assertEquals(requestsPerSecond, 0.001);
  const getStatus = async () => {
    const url = `${baseUrl}/Metadata`;
    const response = await fetch!(new Request(url, { headers: { "x-api-key": apiKey! } }));
    await response.text();
    return response.status;
  };
  assertEquals([await getStatus(), await getStatus()], [200, 429]);
});

Deno.test("readConfig() keeps the limits when WEIR_SANDBOX is 1", () => {
  const config = readConfig({ WEIR_SANDBOX: "1", WEIR_MAX_DOWNLOADS: "3", WEIR_MAX_ROWS: "10" });
  assertEquals([config.maxDownloads, config.maxRows], [3, 10]);
});

const wrong: [environment: Record<string, string>, message: string][] = [
  [{}, "WEIR_ACCESS must be one of caller, signed, token, public, got nothing"],
  [{ WEIR_ACCESS: "tokens" }, 'got "tokens": did you mean "token"?'],
  [{ WEIR_ACCESS: "public" }, "DATASTREAM_API_KEY must be set"],
  [{ WEIR_ACCESS: "signed", DATASTREAM_API_KEY: "k" }, "WEIR_SIGNING_SECRET must be set"],
  [{ WEIR_SANDBOX: "yes" }, "WEIR_SANDBOX must be 1 or 0"],
  [{ WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "fast" }, 'got "fast"'],
  [{ WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "0" }, "above 0"],
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
