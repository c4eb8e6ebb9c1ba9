// A copy of the clone, in which the commands of examples/README.md run.
import { assert } from "@std/assert";
import { copyClone } from "../../package/copy_clone.ts";
import { type ProgramResult, runProgramWith } from "../../helpers/programs.ts";
import { type Server, startServer } from "../servers/server.ts";
import { commandsFor } from "./readme.ts";

/** Keeps Wrangler from sending requests, except those of the Worker. */
const OFFLINE_WRANGLER = {
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_ERROR_REPORTS: "false",
  WRANGLER_SEND_METRICS: "false",
};

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

/** Starts a server with a command, whose port is replaced by a free one, and waits for a response. */
export function startCommand(
  folder: string,
  command: string,
  environment: Record<string, string> = {},
): Promise<Server> {
  const port = findFreePort();
  const [program, ...args] = wordsOf(command.replace(/--port \d+/, `--port ${port}`));
  const variables = { ...OFFLINE_WRANGLER, ...environment, CI: "1", PORT: `${port}` };
  return startServer({ program: program!, args, folder, environment: variables, port });
}

/** Returns a port on which no program listens. */
function findFreePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Splits a command into words and replaces `deno` by the Deno that runs the test. */
function wordsOf(command: string): string[] {
  const words = command.replace(/^((?:\w+=\S+ )*)deno(?= )/, `$1${Deno.execPath()}`).split(" ");
  return words[0]!.includes("=") ? ["env", ...words] : words;
}
