/**
 * The command line of Weir: downloads water-quality data from [DataStream](https://datastream.org) to
 * files, continues interrupted downloads, counts rows and prints citations.
 *
 * ## Start
 *
 * These commands use synthetic data. They need neither an API key nor a network.
 *
 * ```sh
 * deno run jsr:@weir/datastream/cli records --sandbox --limit 5
 * npx @weir/datastream records --sandbox --limit 5
 * ```
 *
 * ## Install
 *
 * In Deno, this command installs `weir` with the permissions for files in the current folder:
 *
 * ```sh
 * deno install --global --name weir --allow-env=DATASTREAM_API_KEY \
 *   --allow-net=api.datastream.org --allow-read=. --allow-write=. \
 *   jsr:@weir/datastream/cli
 * ```
 *
 * In a Node project, `npm install @weir/datastream` makes `npx weir` available.
 *
 * ## API key
 *
 * [Request an API key](https://github.com/datastreamapp/api-docs/blob/main/docs/README.md). `weir` reads
 * it from the environment variable `DATASTREAM_API_KEY`, or from the file that `weir setup` saves. There is
 * no flag for it, because other users of the computer can see flags.
 *
 * ## Commands
 *
 * | command | result |
 * |---|---|
 * | `weir records --characteristic pH --from 2015 --output ph.csv` | a CSV file |
 * | `weir observations --region admin.4.ca.pe --count` | a number |
 * | `weir locations --region hub.atlantic --output atlantic.geojson` | a map |
 * | `weir records --doi 10.25976/xxxx-xx00 --output records.csv --update` | the same file, replaced if the data is new |
 * | `weir serve --sandbox` | a server of download URLs, with a web page |
 * | `weir help` | all commands |
 *
 * The file of `--output` appears when it is complete. Until then, the rows are in `FILE.part`, and the same command
 * continues it. The page `docs/cli.md` in the repository describes every flag, file, variable, permission and exit code.
 *
 * ## Runtimes
 *
 * Deno, Node and Bun. In Bun, write `bunx` instead of `npx`.
 *
 * @module
 */
import process from "node:process";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "../clock.ts";
import { oneLine } from "../errors.ts";
import { explainFileError } from "../files/output.ts";
import { type Context, INTERRUPTED, setExitCode } from "./context.ts";
import { ignoredProxyHint } from "./proxy.ts";
import { run } from "./run.ts";

/**
 * Runs the command line in this process. Calls can overlap.
 *
 * A closed pipe (`| head`) is not an error. SIGINT, SIGTERM and SIGHUP end every running call with
 * 130; a second signal exits the process. The first signal also ends the command `serve`, which then exits
 * the process when its open responses are complete.
 *
 * Permissions in Deno: `--allow-env=DATASTREAM_API_KEY`, `--allow-net` for the host of the service,
 * and for `--output` to read and write the folder of the file. Other variables and signals are used
 * only if they are permitted.
 *
 * @param args Arguments after the name of the program. Default: the arguments of the process
 * @returns The exit code: 0 success, 1 failure, 2 invalid command line, 3 outdated file, 130 interrupted
 *
 * @example Run a command from a script
 * ```ts
 * import { main } from "@weir/datastream/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["url", "locations"]), 0); // prints the URL
 * assertEquals(await main(["url", "records", "-n5"]), 0);
 * ```
 */
export async function main(args: string[] = process.argv.slice(2)): Promise<number> {
  const { stdout, stderr } = process;
  const call: Call = {
    stop: new AbortController(),
    isPipeClosed: false,
    endsProcess: false,
    onOutputError(error) {
      call.isPipeClosed ||= error.code === "EPIPE" || error.name === "BrokenPipe";
      call.outputError ??= error;
      // Not every runtime rejects the write that failed.
      call.stop.abort(error);
    },
  };
  let signals = 0;
  const onSignal = () => {
    call.stop.abort(new Error("interrupted"));
    // The first signal waits for pending writes, which a stopped reader can block.
    if (++signals === 2) process.exit(INTERRUPTED);
  };
  let exitCode = 0;
  stdout.on("error", call.onOutputError);
  stderr.on("error", onMessageError);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    exitCode = await run(args, createContext(call));
    const { outputError } = call;
    if (signals > 0 || outputError === undefined) return exitCode;
    if (call.isPipeClosed) return 0;
    writeMessage(`${oneLine(explainFileError(outputError, "standard output"))}\n`);
    return 1;
  } finally {
    // The listeners stay until the streams have reported their errors.
    if (!deno) await new Promise<void>((resolve) => void stderr.write("", () => resolve()));
    // In Bun, a stream reports its error after the write that failed.
    await setImmediate();
    stdout.off("error", call.onOutputError);
    stderr.off("error", onMessageError);
    for (const signal of SIGNALS) process.off(signal, onSignal);
    if (call.endsProcess) process.exit(exitCode);
  }
}

/** State of a call of {@linkcode main}. */
interface Call {
  readonly stop: AbortController;
  onOutputError(error: Error & { code?: string }): void;
  /** The first one. */
  outputError?: Error;
  isPipeClosed: boolean;
  endsProcess: boolean;
}

function createContext(call: Call): Context {
  const { stdout, stderr } = process;
  const { signal } = call.stop;
  const write = async (bytes: Uint8Array) => {
    try {
      await writeOutput(bytes);
    } catch (error) {
      call.onOutputError(error as Error);
      throw error;
    }
  };
  return {
    environment,
    environmentIfAllowed,
    environmentNames: () => isAllowed() ? Object.keys(process.env) : [],
    permissionHint: (name) => isAllowed(name) ? "" : ` and permit reading it (--allow-env=${name})`,
    networkHint: ignoredProxyHint,
    write,
    isStdoutTerminal: stdout.isTTY === true,
    print: (content) => write(new TextEncoder().encode(content)),
    printError(line) {
      if (call.outputError === undefined) writeMessage(`${line}\n`);
    },
    terminal: stderr.isTTY && environmentIfAllowed("TERM") !== "dumb"
      ? { columns: () => stderr.columns || 80, write: writeMessage }
      : undefined,
    input: () => process.stdin,
    readInput: () => text(process.stdin),
    promptSecret: async (prompt) =>
      await (await import("./command_functions.ts")).promptSecret(prompt, signal),
    confirm: async (question) =>
      await (await import("./command_functions.ts")).confirm(question, signal),
    endProcess: () => void (call.endsProcess = true),
    signal,
    clock: { now: Date.now, sleep: systemClock.sleep },
  };
}

/** SIGBREAK (Ctrl-Break) exists only on Windows. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"] as const;

/** A message that cannot be written does not end a download. */
const onMessageError = () => {};

const deno = (globalThis as {
  Deno?: {
    stdout: { write(bytes: Uint8Array): Promise<number> };
    stderr: { writeSync(bytes: Uint8Array): number };
    permissions: { querySync(of: { name: "env"; variable?: string }): { state: string } };
  };
}).Deno;

/** Ignores failed writes. After one to `process.stderr`, Deno would exit with 0. */
function writeMessage(text: string): void {
  if (!deno) return void process.stderr.write(text);
  const bytes = new TextEncoder().encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += deno.stderr.writeSync(bytes.subarray(at));
  } catch {
    // Standard error is closed.
  }
}

/** Without a name, whether all variables may be listed. */
function isAllowed(variable?: string): boolean {
  const { state = "granted" } = deno?.permissions.querySync({ name: "env", variable }) ?? {};
  return state === "granted";
}

function environment(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}

function environmentIfAllowed(name: string): string | undefined {
  return isAllowed(name) ? environment(name) : undefined;
}

/** Does not lock it, because calls of `main()` can overlap. */
async function writeOutput(bytes: Uint8Array): Promise<void> {
  if (deno === undefined) {
    return await new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => error ? reject(error) : resolve());
    });
  }
  // In Deno, process.stdout blocks the event loop, and thus signals, while a reader is slow.
  for (let at = 0; at < bytes.length;) at += await deno.stdout.write(bytes.subarray(at));
}

// Without `await`, because require() cannot load a module with a top-level await.
if (import.meta.main) main().then(setExitCode);
