import { assertEquals, assertThrows } from "@std/assert";
import { createApp } from "../../edge/app.ts";
import { readConfig, sandboxOptions } from "../../edge/config.ts";

Deno.test("readConfig() reads key, address, access and pace", () => {
  const environment = {
    DATASTREAM_API_KEY: "k",
    DATASTREAM_BASE_URL: "https://example.org/v1",
    WEIR_ACCESS: "public",
    WEIR_REQUESTS_PER_SECOND: "0.5",
  };
  assertEquals(readConfig(environment), {
    access: "public",
    apiKey: "k",
    baseUrl: "https://example.org/v1",
    requestsPerSecond: 0.5,
  });
});

Deno.test("readConfig() needs no key where callers bring theirs", () => {
  assertEquals(readConfig({ WEIR_ACCESS: "caller" }), { access: "caller" });
});

Deno.test("readConfig() serves the sandbox when asked for by name, and says it is synthetic", async () => {
  const config = readConfig({ WEIR_SANDBOX: "1", DATASTREAM_API_KEY: "k" });
  assertEquals([config.access, config.synthetic, config.apiKey], ["public", true, "sandbox"]);
  const response = await createApp(config).request("/Records.csv?$select=Id&$filter=DOI eq 'x'");
  assertEquals(await response.text(), "Id\r\n");
});

Deno.test("sandboxOptions() keeps a pace for both sides", async () => {
  const { requestsPerSecond, fetch, apiKey, baseUrl } = sandboxOptions({
    requestsPerSecond: 0.001,
  });
  assertEquals(requestsPerSecond, 0.001);
  const ask = async () => {
    const url = `${baseUrl}/Metadata`;
    const response = await fetch!(new Request(url, { headers: { "x-api-key": apiKey! } }));
    await response.text();
    return response.status;
  };
  assertEquals([await ask(), await ask()], [200, 429]);
});

Deno.test("readConfig() takes WEIR_SANDBOX=0 and an empty one for no", () => {
  for (const WEIR_SANDBOX of ["0", ""]) {
    assertEquals(readConfig({ WEIR_SANDBOX, WEIR_ACCESS: "caller" }), { access: "caller" });
  }
});

const wrong: [environment: Record<string, string>, message: string][] = [
  [{}, "got nothing"],
  [{ DATASTREAM_API_KEY: "k" }, "WEIR_ACCESS must say who may download"],
  [{ WEIR_ACCESS: "everyone" }, 'got "everyone"'],
  [{ WEIR_ACCESS: "public" }, "DATASTREAM_API_KEY must hold"],
  [{ WEIR_SANDBOX: "yes" }, "WEIR_SANDBOX must be 1 or 0"],
  [{ WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "fast" }, 'got "fast"'],
  [{ WEIR_ACCESS: "caller", WEIR_REQUESTS_PER_SECOND: "0" }, "above 0"],
];
for (const [environment, message] of wrong) {
  Deno.test(`readConfig() refuses ${JSON.stringify(environment)}`, () => {
    assertThrows(() => readConfig(environment), TypeError, message);
  });
}
