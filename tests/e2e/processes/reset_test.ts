// Deno repeats a GET by itself when a reused connection breaks: the client must not reuse connections.
import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";
import { type ResettingServerOptions, serveResetting } from "../resetting_server.ts";

const API_PATH = "/v1/odata/v4";

function serveLocations(options?: ResettingServerOptions) {
  const sandbox = createSandbox({ hostileNames: true, records: 300, requestsPerSecond: Infinity });
  return serveResetting(
    (request) => sandbox.fetch(request, { headers: { "x-api-key": sandbox.apiKey } }),
    options,
  );
}

Deno.test("Progress.requests counts each request when the service offers HTTP/2", async () => {
  await using service = await serveLocations({ secure: true });
  const ran = await runProgram(
    Deno.execPath(),
    "run",
    "--no-prompt",
    "--allow-net=127.0.0.1",
    "--unsafely-ignore-certificate-errors=127.0.0.1",
    "tests/e2e/processes/reset_program.ts",
    service.origin + API_PATH,
  );
  assert(ran?.success, ran?.stderr);
  assertEquals(service.received.length, Number(ran.stdout));
  const connections = service.received.map(({ connection }) => connection);
  assertEquals(new Set(connections).size, connections.length, "a connection was reused");
});
