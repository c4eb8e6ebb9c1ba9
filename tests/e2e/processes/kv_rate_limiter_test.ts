// The rate limiter in Deno KV: processes that share a database, and a service that rejects early and concurrent
// requests.
import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { childCommand } from "../../helpers/programs.ts";

const PROGRAM = "tests/e2e/processes/kv_program.ts";

/** Starts a strict service and runs a test with it and a folder for the database. */
async function withService(
  test: (
    service: {
      start: (downloads: number) => Deno.ChildProcess;
      arrivals: number[];
      stats: ReturnType<typeof createSandbox>["stats"];
      /** Holds the responses that arrive from now on. */
      hold: () => void;
      resume: () => void;
    },
  ) => Promise<void>,
): Promise<void> {
  const sandbox = createSandbox();
  const arrivals: number[] = [];
  let held = Promise.resolve();
  let resume = () => {};
  await Deno.mkdir("tests/tmp", { recursive: true });
  const folder = await Deno.makeTempDir({ dir: "tests/tmp", prefix: "kv_" });
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, async (request) => {
    arrivals.push(performance.now());
    const response = await sandbox.fetch(request);
    await held;
    return response;
  });
  const url = `http://127.0.0.1:${server.addr.port}/v1/odata/v4`;
  try {
    await test({
      start(downloads) {
        const args = [
          "run",
          "--quiet",
          "--no-check",
          "--unstable-kv",
          "--allow-net",
          "--allow-read",
        ];
        return childCommand(Deno.execPath(), {
          args: [...args, "--allow-write", PROGRAM, url, `${folder}/kv.sqlite`, String(downloads)],
          stdout: "piped",
        }).spawn();
      },
      arrivals,
      stats: sandbox.stats,
      hold() {
        held = new Promise((resolve) => resume = resolve);
      },
      resume: () => resume(),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns what a process prints. */
async function outputOf(child: Deno.ChildProcess): Promise<unknown> {
  const { stdout } = await child.output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("three processes keep the limits of the service together when each has three downloads", async () => {
  await withService(async ({ start, stats }) => {
    const processes = [start(3), start(3), start(3)];
    // Each file has a header and 60 locations.
    assertEquals(await Promise.all(processes.map(outputOf)), [[61, 61, 61], [61, 61, 61], [
      61,
      61,
      61,
    ]]);
    assert(stats.requests >= 9);
    assertEquals([stats.tooFast, stats.parallel], [0, 0]);
  });
});

Deno.test("two processes continue when a third one is killed while it has the permit", async () => {
  await withService(async ({ start, stats, arrivals, hold, resume }) => {
    hold();
    const killed = start(1);
    while (arrivals.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const others = [start(2), start(2)];
    const outputs = others.map(outputOf);
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // the permit is extended
    assertEquals(arrivals.length, 1);
    killed.kill("SIGKILL");
    await killed.output();
    const killedAt = performance.now();
    resume();
    assertEquals(await Promise.all(outputs), [[61, 61], [61, 61]]);
    assertEquals([stats.tooFast, stats.parallel], [0, 0]);
    // The permit was extended at most 1 s before its process was killed, and is valid for 5 s.
    assert(arrivals[1]! - killedAt > 3_500, `started after ${arrivals[1]! - killedAt} ms`);
  });
});
