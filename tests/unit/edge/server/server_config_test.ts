import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { readConfig } from "../../../../edge/config.ts";
import {
  createReport,
  KNOWN_VARIABLES,
  readListenOptions,
  readMetricsPort,
  settingsLine,
  unknownVariables,
} from "../../../../edge/server/server_config.ts";
import { ValidationError } from "../../../../mod.ts";

Deno.test("readListenOptions() returns a loopback address and the defaults when no variable is set", () => {
  const defaults = { host: "127.0.0.1", port: 8000, shutdownTimeout: 25_000 };
  assertEquals(readListenOptions({}), defaults);
  assertEquals(readListenOptions({ HOST: " ", PORT: "", WEIR_SHUTDOWN_TIMEOUT: "" }), defaults);
});

Deno.test("readListenOptions() returns the values of the variables when they are set", () => {
  assertEquals(readListenOptions({ HOST: "0.0.0.0", PORT: "0", WEIR_SHUTDOWN_TIMEOUT: "90" }), {
    host: "0.0.0.0",
    port: 0,
    shutdownTimeout: 90_000,
  });
  assertEquals(readListenOptions({ WEIR_SHUTDOWN_TIMEOUT: "0" }).shutdownTimeout, 0);
});

Deno.test("readListenOptions() removes the brackets of an IPv6 address", () => {
  assertEquals(readListenOptions({ HOST: "[::1]" }).host, "::1");
  assertEquals(readListenOptions({ HOST: "::1" }).host, "::1");
});

for (
  const [variable, value, problem] of [
    ["PORT", "http", 'must be a whole number from 0 to 65535, got "http"'],
    ["PORT", "65536", "must be a whole number from 0 to 65535, got 65536"],
    ["PORT", "-1", 'must be a whole number from 0 to 65535, got "-1"'],
    ["WEIR_SHUTDOWN_TIMEOUT", "25s", 'must be a whole number from 0 to 3600, got "25s"'],
    ["WEIR_SHUTDOWN_TIMEOUT", "3601", "must be a whole number from 0 to 3600, got 3601"],
  ] as const
) {
  Deno.test(`readListenOptions() throws when ${variable} is ${value}`, () => {
    const error = assertThrows(() => readListenOptions({ [variable]: value }), ValidationError);
    assertEquals([error.option, error.problem], [variable, problem]);
  });
}

Deno.test("unknownVariables() suggests the nearest known name when the names have typing errors", () => {
  assertEquals(
    unknownVariables(["WEIR_MAX_ROW", "PATH", "weir_acess", "WEIR_TOKEN", "DATASTREAM_KEY"]),
    [
      "Unknown variable WEIR_MAX_ROW: did you mean WEIR_MAX_ROWS?",
      "Unknown variable WEIR_TOKEN: did you mean WEIR_TOKENS?",
      "Unknown variable weir_acess: did you mean WEIR_ACCESS?",
    ],
  );
});

Deno.test("unknownVariables() suggests names without the prefix WEIR_ when they are near", () => {
  assertEquals(
    unknownVariables([
      "WEIR_API_KEY",
      "WEIR_BASEURL",
      "WEIR_DATASTREAM_API_KEY",
      "WEIR_HOST",
      "WEIR_PORT",
    ]),
    [
      "Unknown variable WEIR_API_KEY: did you mean DATASTREAM_API_KEY?",
      "Unknown variable WEIR_BASEURL: did you mean DATASTREAM_BASE_URL?",
      "Unknown variable WEIR_DATASTREAM_API_KEY: did you mean DATASTREAM_API_KEY?",
      "Unknown variable WEIR_HOST: did you mean HOST?",
      "Unknown variable WEIR_PORT: did you mean PORT?",
    ],
  );
});

Deno.test("unknownVariables() lists the known names when none is near", () => {
  const [line, ...others] = unknownVariables(["WEIR_COLOUR"]);
  assertEquals(others, []);
  for (const name of KNOWN_VARIABLES.filter((name) => name.startsWith("WEIR_"))) {
    assertEquals(line!.includes(name), true, name);
  }
});

Deno.test("unknownVariables() compares only the part after WEIR_ when it suggests a name", () => {
  assertMatch(unknownVariables(["WEIR_FOO"])[0]!, /^Unknown variable WEIR_FOO: use WEIR_ACCESS, /);
});

Deno.test("unknownVariables() ignores names that contain other characters, which may be part of a value", () => {
  assertEquals(unknownVariables(["WEIR_TOKENS: a-secret-token-00\nHOST", "WEIR_LOG "]), []);
});

Deno.test("unknownVariables() returns nothing when all names are known", () => {
  assertEquals(unknownVariables(KNOWN_VARIABLES), []);
});

Deno.test("settingsLine() has the settings in force when the server has synthetic data", () => {
  assertEquals(
    settingsLine(readConfig({ WEIR_SANDBOX: "1" }), 25_000),
    "Settings: access public, synthetic data, 2 requests per second, 20 concurrent downloads, " +
      "no limit per client, at most 64000000 bytes in memory, " +
      "at most 5000000 rows per download, 10000 rows per page, " +
      "downloads shared for 60 s, log of requests as text, " +
      "CORS for all origins, shutdown timeout 25 s",
  );
});

Deno.test("settingsLine() contains no secret when the server has all of them", () => {
  const secrets = {
    DATASTREAM_API_KEY: "the-api-key",
    WEIR_SIGNING_SECRET: "the-signing-secret-of-at-least-32-bytes",
    WEIR_TOKENS: "the-first-token-00,the-second-token-0",
    WEIR_METRICS_TOKEN: "the-metrics-token",
  };
  const options = readConfig({
    ...secrets,
    WEIR_ACCESS: "signed",
    DATASTREAM_BASE_URL: "https://example.org/v1/odata/v4",
    WEIR_MAX_DOWNLOADS: "3",
    WEIR_MAX_DOWNLOADS_PER_CLIENT: "4",
    WEIR_CLIENT_ADDRESS_HEADER: "x-real-ip",
    WEIR_CACHE_TTL: "0",
    WEIR_PAGE_ROWS: "2000",
    WEIR_REQUESTS_PER_SECOND: "5",
    WEIR_CORS_ORIGINS: "https://a.example,https://b.example",
    WEIR_LOG: "errors",
  });
  const line = settingsLine(options, undefined);
  assertEquals(
    line,
    "Settings: access signed, data of example.org, API key set, signing secret set, 2 tokens, " +
      "5 requests per second, 3 concurrent downloads, 4 per client, " +
      "client address from x-real-ip, at most 64000000 bytes in memory, " +
      "unlimited rows, 2000 rows per page, no shared downloads, log of errors as text, " +
      "metrics token set, CORS for https://a.example https://b.example",
  );
  for (const secret of Object.values(secrets).flatMap((text) => text.split(","))) {
    assertEquals(line.includes(secret), false);
  }
});

Deno.test("settingsLine() says that there is no key when callers send their own", () => {
  const line = settingsLine(readConfig({ WEIR_ACCESS: "caller" }), 0);
  assertEquals(line.split(", ").slice(0, 3), [
    "Settings: access caller",
    "data of api.datastream.org",
    "no API key",
  ]);
});

Deno.test("settingsLine() has each setting in force when its variable is set", () => {
  const line = (variables: Record<string, string>) => {
    const environment = { WEIR_SANDBOX: "1", ...variables };
    return settingsLine(readConfig(environment), readListenOptions(environment).shutdownTimeout);
  };
  for (
    const [variable, value, setting] of [
      ["WEIR_MAX_ROWS", "1234", "at most 1234 rows per download"],
      ["WEIR_MAX_DOWNLOADS", "1234", "1234 concurrent downloads"],
      ["WEIR_MAX_DOWNLOADS_PER_CLIENT", "1234", "1234 per client"],
      ["WEIR_CLIENT_ADDRESS_HEADER", "x-real-ip", "client address from x-real-ip"],
      ["WEIR_MAX_CACHED_BYTES", "1234", "at most 1234 bytes in memory"],
      ["WEIR_CACHE_TTL", "0", "no shared downloads"],
      ["WEIR_CACHE_TTL", "1234", "downloads shared for 1234 s"],
      ["WEIR_PAGE_ROWS", "1234", "1234 rows per page"],
      ["WEIR_CORS_ORIGINS", "https://a.example", "CORS for https://a.example"],
      ["WEIR_REQUESTS_PER_SECOND", "1234", "1234 requests per second"],
      ["WEIR_LOG", "json", "log of requests as json"],
      ["WEIR_METRICS_TOKEN", "the-metrics-token", "metrics token set"],
      ["WEIR_SHUTDOWN_TIMEOUT", "1234", "shutdown timeout 1234 s"],
    ] as const
  ) {
    assertEquals(line({}).includes(setting), false, variable);
    assertEquals(line({ [variable]: value }).split(/, |: /).includes(setting), true, variable);
  }
});

Deno.test("readMetricsPort() returns the port, or nothing when the variable is empty", () => {
  assertEquals(["9100", "0", " ", undefined].map((text) => readMetricsPort(text, 8000)), [
    9100,
    0,
    undefined,
    undefined,
  ]);
  assertThrows(
    () => readMetricsPort("on", 8000),
    ValidationError,
    "WEIR_METRICS_PORT must be a whole",
  );
});

Deno.test("readMetricsPort() throws when the port is that of the server", () => {
  assertThrows(
    () => readMetricsPort("9100", 9100),
    ValidationError,
    "WEIR_METRICS_PORT must be different from the port of the server, got 9100: choose another port",
  );
  assertEquals(readMetricsPort("0", 0), 0);
});

Deno.test("createReport() writes text, or JSON objects when WEIR_LOG is json", () => {
  const lines = [undefined, "errors", "json "].map((log) => {
    const written: unknown[] = [];
    // All arguments, as of console.error().
    const report = createReport((...line) => written.push(...line), log);
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
