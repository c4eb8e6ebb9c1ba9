// A copy of the clone, in which the commands of examples/README.md run.
import { assert } from "@std/assert";
import { copyClone } from "../../package/copy_clone.ts";
import { findFreePort } from "./free_port.ts";
import { killGroup, type ProgramResult, runProgramWith } from "../../helpers/programs.ts";
import { waitFor } from "../wait_for.ts";
import { commandsFor } from "./readme.ts";

/** Keeps Wrangler from sending requests, except those of the Worker. */
const OFFLINE_WRANGLER = {
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_SEND_METRICS: "false",
};

export interface RunningServer extends AsyncDisposable {
  /** URL without a trailing slash. */
  root: string;
}

/**
 * Copies the clone before the tests of a file, builds its npm package, and removes it after them.
 */
export function provideClone(): () => string {
  let clone = "";
  Deno.test.beforeAll(async () => {
    clone = await copyClone();
    const [pack] = commandsFor("package");
    await runCommand(clone, pack!);
  });
  Deno.test.afterAll(async () => {
    // Empty if the copy failed, whose error this one would hide.
    if (clone !== "") await Deno.remove(clone, { recursive: true });
  });
  return () => clone;
}

/** Runs a command in a folder and asserts that it succeeds. */
export async function runCommand(
  folder: string,
  command: string,
  environment: Record<string, string> = {},
): Promise<ProgramResult> {
  const [program, ...args] = wordsOf(command);
  const env = { ...OFFLINE_WRANGLER, ...environment, CI: "1", NO_COLOR: "1" };
  const result = await runProgramWith({ cwd: folder, env }, program!, ...args);
  assert(result, `${program} is not installed`);
  assert(result.code === 0, `${command}: ${result.code}\n${result.stdout}${result.stderr}`);
  return result;
}

/**
 * Runs the arguments as a command, and kills the process group when the command or the process that
 * holds the other end of standard input ends. That process can be killed before it stops the command.
 */
const RUN_WHILE_STDIN_IS_OPEN = '("$@"; kill -KILL 0) </dev/null & cat >/dev/null; kill -KILL 0';

/**
 * Starts a server with a command, whose port is replaced by a free one, and waits for a response.
 */
export async function startCommand(
  folder: string,
  command: string,
  environment: Record<string, string> = {},
): Promise<RunningServer> {
  const port = findFreePort();
  const [program, ...args] = wordsOf(command.replace(/--port \d+/, `--port ${port}`));
  // A process group of its own can be killed with all processes that the command starts.
  const child = new Deno.Command("setsid", {
    args: ["sh", "-c", RUN_WHILE_STDIN_IS_OPEN, "sh", program!, ...args],
    cwd: folder,
    env: { ...OFFLINE_WRANGLER, ...environment, CI: "1", NO_COLOR: "1", PORT: String(port) },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const read = async (output: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of output.pipeThrough(new TextDecoderStream())) printed += text;
  };
  let hasEnded = false;
  const ended = Promise.all([child.status, read(child.stdout), read(child.stderr)])
    .then(() => hasEnded = true);
  const stop = async () => {
    await killGroup(child);
    await Promise.all([ended, child.stdin.close().catch(() => {})]);
  };
  const root = `http://127.0.0.1:${port}`;
  try {
    await waitFor(
      async () => {
        if (hasEnded) throw new Error(`${command} has ended: ${printed}`);
        const response = await fetch(root).catch(() => undefined);
        await response?.body?.cancel();
        return response !== undefined;
      },
      command,
      60_000,
    );
    return { root, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Splits a command into words and replaces `deno` by the Deno that runs the test. */
function wordsOf(command: string): string[] {
  const words = command.replace(/^((?:\w+=\S+ )*)deno(?= )/, `$1${Deno.execPath()}`).split(" ");
  return words[0]!.includes("=") ? ["env", ...words] : words;
}
