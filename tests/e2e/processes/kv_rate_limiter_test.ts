// The rate limiter in Deno KV: processes that share a database, and a service that rejects early and concurrent
// requests.
import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";
import { FOLDER, serving } from "../command_line.ts";

const PROGRAM = "tests/e2e/processes/kv_program.ts";

Deno.test("three processes keep the limits of the service together when each has three downloads", () => {
  const { fetch, stats } = createSandbox();
  return serving(fetch, async ({ port }) => {
    const database = `${FOLDER}/kv.sqlite`;
    const open = (program: string, ...args: string[]) =>
      runProgram(Deno.execPath(), program, "--quiet", "--no-check", "--unstable-kv", ...args);
    // Creates the database first, because the process that creates it locks it meanwhile.
    await open("eval", `(await Deno.openKv("${database}")).close()`);
    const args = ["-A", PROGRAM, `http://127.0.0.1:${port}/v1/odata/v4`, database];
    const ended = await Promise.all([1, 2, 3].map(() => open("run", ...args)));
    assertEquals(ended.map((program) => program!.stdout), Array(3).fill("[60,60,60]\n"));
    assert(stats.requests >= 9);
    assertEquals([stats.tooFast, stats.parallel], [0, 0]);
  });
});
