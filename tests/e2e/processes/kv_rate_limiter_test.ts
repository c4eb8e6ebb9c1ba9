// The rate limiter in Deno KV: processes that share a database, and a service that rejects early and concurrent
// requests.
import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";

const PROGRAM = "tests/e2e/processes/kv_program.ts";

Deno.test("three processes keep the limits of the service together when each has three downloads", async () => {
  const { fetch, stats } = createSandbox();
  await Deno.mkdir("tests/tmp", { recursive: true });
  const folder = await Deno.makeTempDir({ dir: "tests/tmp", prefix: "kv_" });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => fetch(request),
  );
  const url = `http://127.0.0.1:${server.addr.port}/v1/odata/v4`;
  const flags = ["--quiet", "--no-check", "--unstable-kv", "--allow-net", "--allow-read"];
  const args = ["run", ...flags, "--allow-write", PROGRAM, url, `${folder}/kv.sqlite`];
  try {
    const processes = [1, 2, 3].map(() => runProgram(Deno.execPath(), ...args));
    const outputs = (await Promise.all(processes)).map((ended) => JSON.parse(ended!.stdout));
    assertEquals(outputs, Array(3).fill([60, 60, 60]));
    assert(stats.requests >= 9);
    assertEquals([stats.tooFast, stats.parallel], [0, 0]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
