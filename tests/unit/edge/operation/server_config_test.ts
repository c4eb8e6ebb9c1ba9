// The environment of a server is checked, and its settings are printed without a secret.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  createReport,
  readConfig,
  readListenOptions,
  settingsLine,
  unknownVariables,
} from "../../../../edge/config.ts";
import { ValidationError } from "../../../../mod.ts";

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
  for (
    const setting of [
      "DATASTREAM_API_KEY=(set)",
      "WEIR_SIGNING_SECRET=(set)",
      "WEIR_TOKENS=(2)",
      "WEIR_METRICS_TOKEN=(set)",
      "DATASTREAM_BASE_URL=example.org",
      "WEIR_MAX_ROWS=unlimited",
    ]
  ) {
    assert(line.includes(` ${setting},`), `${setting} is not in ${line}`);
  }
  const texts = Object.values(secrets).flatMap((text) => text.split(","));
  for (const secret of [...texts, "the-path-of-a-proxy"]) {
    assertEquals(line.includes(secret), false);
  }
});

Deno.test("settingsLine() has each setting in force when its variable is set", () => {
  const line = (variables: Record<string, string>) =>
    settingsLine(readConfig({ WEIR_ACCESS: "caller", ...variables })).split(/, |: /);
  for (
    const [variable, value] of [
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
    ].map(([name, text, shown = text]) => [`${name}=${shown}`, { [name!]: text! }] as const)
  ) {
    assertEquals(line({}).includes(variable), false, variable);
    assertEquals(line(value).includes(variable), true, variable);
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
