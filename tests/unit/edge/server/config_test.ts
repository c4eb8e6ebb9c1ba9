// The environment of a server is checked, and its settings are printed without a secret. Tests `readConfig()` directly:
// `edge/serve.ts` reads the environment of the process once.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ValidationError } from "../../../../mod.ts";
import { createApp } from "../../../../edge/app.ts";
import {
  createConfiguredApp,
  readConfig,
  readListenOptions,
  sandboxOptions,
  settingsLine,
  unknownVariables,
} from "../../../../edge/server/config.ts";
import { VARIABLE_NAMES, VARIABLES } from "../../../../edge/http/options.ts";
import { messageFor, namesOf } from "../../../../src/errors.ts";
import { signUrl } from "../../../../src/signing/signed_url.ts";

const variables = VARIABLES.map(({ variable }) => variable);
/** Returns the settings of an environment, as the log shows them. */
const settingsOf = (environment: Record<string, string>) =>
  settingsLine(readConfig(environment)).replace("Settings: ", "").split(", ");

/** Variables except HOST and PORT: a value, and how the log shows it and the default. Files can end values with a line feed. */
const SETTINGS: [variable: string, value: string, shown: string, shownDefault: string][] = [
  ["WEIR_ACCESS", "signed", "signed", "caller"],
  ["DATASTREAM_API_KEY", "the-api-key\n", "(set)", "(not set)"],
  ["WEIR_SIGNING_SECRET", "the-signing-secret-of-at-least-32-bytes\n", "(set)", "(not set)"],
  ["WEIR_TOKENS", "the-first-token-00, the-second-token-0,", "(2)", "(0)"],
  ["WEIR_MAX_ROWS", "1000000", "1000000", "unlimited"],
  ["WEIR_MAX_DOWNLOADS", "5", "5", "20"],
  ["WEIR_MAX_DOWNLOADS_PER_CLIENT", "3", "3", "unlimited"],
  ["WEIR_CLIENT_ADDRESS_HEADER", "x-forwarded-for", "x-forwarded-for", "none"],
  ["WEIR_MAX_CACHED_BYTES", "16000000", "16000000", "64000000"],
  ["WEIR_CACHE_TTL", "0", "0", "60"],
  ["WEIR_CORS_ORIGINS", "https://a.ca, https://b.ca", "https://a.ca https://b.ca", "*"],
  ["WEIR_REQUESTS_PER_SECOND", "0.5", "0.5", "2"],
  // A folder needs a permission, which the tests of processes have.
  ["WEIR_MIRROR", "", "none", "none"],
  ["WEIR_METRICS_TOKEN", "the-metrics-token\n", "(set)", "(not set)"],
  ["DATASTREAM_BASE_URL", "https://a.ca/path-of-a-proxy/", "a.ca", "api.datastream.org"],
  ["WEIR_LOG", "json", "json", "text"],
  ["WEIR_SANDBOX", "0", "0", "0"],
];
const EVERY_VARIABLE = Object.fromEntries(SETTINGS.map(([variable, value]) => [variable, value]));

Deno.test("settingsLine() has each setting in force, and no secret", () => {
  assertEquals([...Object.keys(EVERY_VARIABLE), "HOST", "PORT"], variables);
  const expected = SETTINGS.map(([variable, , shown]) => `${variable}=${shown}`);
  assertEquals(settingsOf(EVERY_VARIABLE), expected);
});

Deno.test("settingsLine() has the defaults when variables are empty", () => {
  const empty = Object.fromEntries(variables.map((name) => [name, " \n"]));
  const expected = SETTINGS.map(([variable, , , shown]) => `${variable}=${shown}`);
  assertEquals(settingsOf({ ...empty, WEIR_ACCESS: "caller", WEIR_CORS_ORIGINS: "*" }), expected);
  assertEquals(settingsOf({ WEIR_ACCESS: "caller", WEIR_LOG: "errors" }).at(-2), "WEIR_LOG=errors");
  const ofPublic = settingsOf({ WEIR_ACCESS: "public", DATASTREAM_API_KEY: "k" });
  assert(ofPublic.includes("WEIR_MAX_ROWS=5000000"));
});

Deno.test("readConfig() trims values and the items of lists", () => {
  const { apiKey, tokens } = readConfig(EVERY_VARIABLE);
  assertEquals(apiKey, "the-api-key");
  assertEquals(tokens, ["the-first-token-00", "the-second-token-0"]);
});

Deno.test("settingsLine() has smaller defaults when the runtime is Workers", () => {
  const original = Object.getOwnPropertyDescriptor(globalThis, "navigator")!;
  const navigator = { userAgent: "Cloudflare-Workers" };
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  try {
    const settings = settingsOf({ WEIR_ACCESS: "caller" });
    assert(settings.includes("WEIR_MAX_CACHED_BYTES=32000000"));
    assert(settings.includes("WEIR_MAX_DOWNLOADS=8"));
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
  assertEquals(await response.text(), '"Id"\r\n');
});

Deno.test("readConfig() protects synthetic data as WEIR_ACCESS says when WEIR_SANDBOX is 1", async () => {
  const url = "http://127.0.0.1/Records.csv?$select=Id&limit=1";
  const [token, secret] = ["a-token-of-the-group", "a-secret-of-thirty-two-characters"];
  const rehearsals: [access: string, url: string, headers?: Record<string, string>][] = [
    ["token", url, { authorization: `Bearer ${token}` }],
    ["signed", await signUrl(url, { secret, expires: new Date(Date.now() + 60_000) })],
    ["caller", url, { "x-api-key": "sandbox" }],
  ];
  for (const [WEIR_ACCESS, permitted, headers = {}] of rehearsals) {
    const secrets = { WEIR_TOKENS: token, WEIR_SIGNING_SECRET: secret };
    const app = createApp(readConfig({ WEIR_SANDBOX: "1", WEIR_ACCESS, ...secrets }));
    assertEquals([401, 403].includes((await app.request(url)).status), true, WEIR_ACCESS);
    const response = await app.request(permitted, { headers });
    assertEquals([response.status, response.headers.get("x-weir-data")], [200, "synthetic"]);
    await response.text();
  }
});

Deno.test("sandboxOptions() sets the rate limit of the client and of the sandbox", async () => {
  const { requestsPerSecond, fetch, apiKey, baseUrl } = sandboxOptions({ requestsPerSecond: 0.01 });
  const getStatus = async () => {
    const request = new Request(`${baseUrl}/Metadata`, { headers: { "x-api-key": apiKey! } });
    const response = await fetch!(request);
    await response.text();
    return response.status;
  };
  assertEquals([requestsPerSecond, await getStatus(), await getStatus()], [0.01, 200, 429]);
});

Deno.test("createConfiguredApp() warns of each setting that opens the server, in the format of the log", () => {
  const token = "a-token-of-the-group";
  const key = { DATASTREAM_API_KEY: "k" };
  const cases: [environment: Record<string, string>, message?: string][] = [
    [{ ...key, WEIR_ACCESS: "public", WEIR_TOKENS: token }, "public: WEIR_TOKENS protects nothing"],
    [{ ...key, WEIR_ACCESS: "public" }],
    [{ ...key, WEIR_ACCESS: "caller" }, "DATASTREAM_API_KEY is not used"],
    [{ WEIR_SANDBOX: "1", WEIR_ACCESS: "caller" }],
    [
      { ...key, WEIR_ACCESS: "token", WEIR_TOKENS: `anna=${token}`, WEIR_METRICS_TOKEN: token },
      "WEIR_METRICS_TOKEN is also in WEIR_TOKENS",
    ],
    [{ WEIR_ACCESS: "caller", WEIR_MAX_CACHED_BYTES: "1" }, "WEIR_MAX_CACHED_BYTES=1 is less"],
    [{ WEIR_ACCESS: "caller", WEIR_MAX_CACHED_BYTES: "800000" }],
  ];
  for (const [environment, message] of cases) {
    for (const WEIR_LOG of ["text", "json"]) {
      const lines: [level: string, line: string][] = [];
      const add = (level: string) => (line: string) => void lines.push([level, line]);
      const log = { info: add("info"), warn: add("warn"), error: add("error") };
      createConfiguredApp({ ...environment, WEIR_LOG }, [], log);
      assertEquals(lines.map(([level]) => level), message === undefined ? [] : ["warn"]);
      if (message === undefined) continue;
      const text = WEIR_LOG === "json" ? JSON.parse(lines[0]![1]).message : lines[0]![1];
      assertStringIncludes(text, message);
      assertEquals(lines.join().includes(token), false);
    }
  }
});

const wrong: [environment: Record<string, string>, message: string][] = [
  [{}, "WEIR_ACCESS must be one of caller, signed, token, public, got nothing"],
  [{ WEIR_ACCESS: "tokens" }, 'got "tokens": did you mean "token"?'],
  [{ WEIR_ACCESS: "public" }, "DATASTREAM_API_KEY must be set"],
  [{ WEIR_ACCESS: "signed", DATASTREAM_API_KEY: "k" }, "WEIR_SIGNING_SECRET must be set"],
  [{ WEIR_SANDBOX: "yes" }, "WEIR_SANDBOX must be one of 0, 1, firewall"],
  [{ WEIR_ACCESS: "caller", WEIR_CACHE_TTL: "86401" }, "from 0 to 86400, got 86401"],
  [{ WEIR_ACCESS: "caller", WEIR_LOG: "jsn" }, 'got "jsn": did you mean "json"?'],
  [{ WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "1e3" }, "WEIR_MAX_ROWS"],
  [{ WEIR_SANDBOX: "1", WEIR_ACCESS: "token" }, "WEIR_TOKENS must be set for token access"],
];
for (const [environment, message] of wrong) {
  Deno.test(`createApp() names the variable when the environment is ${JSON.stringify(environment)}`, () => {
    const error = assertThrows(() => createApp(readConfig(environment)), ValidationError);
    assertStringIncludes(messageFor(error, namesOf(VARIABLE_NAMES)), message);
  });
}

Deno.test("readListenOptions() returns the address and the port of the variables, or their defaults", () => {
  const cases: [environment: Record<string, string>, hostname: string, port: number][] = [
    [{ HOST: " ", PORT: "" }, "127.0.0.1", 8000],
    [{ HOST: "0.0.0.0", PORT: "0 " }, "0.0.0.0", 0],
    [{ HOST: "[::1]" }, "::1", 8000],
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
  assertEquals(unknownVariables(["WEIR_API_KEY", "WEIR_PORT"]), [
    'Unknown variable WEIR_API_KEY: did you mean "DATASTREAM_API_KEY"?',
    'Unknown variable WEIR_PORT: did you mean "PORT"?',
  ]);
  const lines = unknownVariables(["WEIR_FOO", "WEIR_X=secret"]);
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0]!, "Unknown variable WEIR_FOO: use one of WEIR_ACCESS, ");
});
