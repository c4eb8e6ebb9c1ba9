// The entry point of Workers uses its Durable Object for the rate limit. tests/e2e/servers/isolates_test.ts runs it in
// workerd.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import worker from "../../../../edge/cloudflare/mod.ts";
import { systemClock } from "../../../../src/clock.ts";
import { MemoryObjects } from "./memory_objects.ts";

Deno.test("fetch() of the Workers entry limits the rate with the binding RATE_LIMITER when it exists", async () => {
  const objects = new MemoryObjects(systemClock);
  const variables = { WEIR_SANDBOX: "1", WEIR_LOG: "errors", WEIR_REQUESTS_PER_SECOND: "1000" };
  const request = new Request("http://host/Locations.csv?$select=Id&limit=1");
  const response = await worker.fetch(request, { ...variables, RATE_LIMITER: objects });
  assertEquals([response.status, (await response.text()).split("\r\n").length], [200, 3]);
  const { name, path } = objects.messages[0]!;
  assertEquals(path, "/acquire");
  // The name has the hash of the key, not the key.
  assert(/^https:\/\/sandbox\.invalid [0-9a-f]{64}$/.test(name), name);
});
