/**
 * The command line: `deno run jsr:@weir/datastream/cli records --output records.csv`.
 *
 * @module
 */
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { oneLine } from "../errors.ts";
import { askSecret } from "./ask_secret.ts";
import { explainWriteError } from "./files.ts";
import { end, listen, type ProcessEvents, unlisten } from "./process_events.ts";
import { ignoredProxyHint } from "./proxy.ts";
import { INTERRUPTED, run } from "./run.ts";

/**
 * Runs the command line in this process. It can be called any number of times, also concurrently.
 *
 * A reader of standard output that leaves (`| head`) is not an error. SIGINT, SIGTERM and SIGHUP end
 * every call in progress with 130; a second signal exits the process.
 *
 * Permissions in Deno: `--allow-env=DATASTREAM_API_KEY`, `--allow-net` for the service's host, and
 * for `--output` to read and write the folder of the file; what is not allowed is done without.
 *
 * @param args The arguments after the program's name; default: the process's own
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted
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
  let readerLeft = false;
  let broken: Error | undefined;
  let signals = 0;
  const interrupted = new AbortController();
  const events: ProcessEvents = {
    onOutputError(error: Error & { code?: string }) {
      readerLeft ||= error.code === "EPIPE" || error.name === "BrokenPipe";
      broken ??= error;
      // Not every runtime rejects the write that failed.
      interrupted.abort(error);
    },
    onSignal() {
      interrupted.abort(new Error("interrupted"));
      // A second signal does not wait for a reader that takes nothing.
      if (++signals === 2) process.exit(INTERRUPTED);
    },
  };
  const output = new WritableStream<Uint8Array>({
    write: (bytes) =>
      writeOutput(bytes).catch((error) => {
        events.onOutputError(error);
        throw error;
      }),
  });
  listen(events);
  try {
    const code = await run(args, {
      environment,
      environmentIfAllowed,
      howToAllow: (name) => isAllowed(name) ? "" : ` and let it be read, --allow-env=${name},`,
      networkHint: ignoredProxyHint,
      output,
      async print(text) {
        const writer = output.getWriter();
        await writer.write(new TextEncoder().encode(text));
        writer.releaseLock();
      },
      error(line) {
        if (broken === undefined) writeMessage(`${line}\n`);
      },
      terminal: stderr.isTTY && environmentIfAllowed("TERM") !== "dumb"
        ? { columns: () => stderr.columns || 80, write: writeMessage }
        : undefined,
      showsOutput: stdout.isTTY === true,
      askSecret: (question) => askSecret(question, interrupted.signal),
      signal: interrupted.signal,
    });
    if (signals > 0 || broken === undefined) return code;
    if (readerLeft) return 0;
    writeMessage(`${oneLine(explainWriteError(broken, "standard output"))}\n`);
    return 1;
  } finally {
    // The listeners stay until the streams have reported their errors.
    if (!scope.Deno) await new Promise<void>((resolve) => void stderr.write("", () => resolve()));
    // In Bun, a stream reports its error after the write that failed.
    await setImmediate();
    unlisten(events);
  }
}

const scope = globalThis as {
  Deno?: {
    stdout: { write(bytes: Uint8Array): Promise<number> };
    stderr: { writeSync(bytes: Uint8Array): number };
    permissions: { querySync(of: { name: "env"; variable: string }): { state: string } };
  };
};

/**
 * Writes to standard error. Messages that cannot be written do not end a download: in Deno, a
 * `process.stderr` whose write failed stops the event loop, and the process with exit code 0.
 */
function writeMessage(text: string): void {
  if (!scope.Deno) return void process.stderr.write(text);
  const bytes = new TextEncoder().encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += scope.Deno.stderr.writeSync(bytes.subarray(at));
  } catch {
    // Nobody can read the message.
  }
}

function isAllowed(variable: string): boolean {
  const { state = "granted" } = scope.Deno?.permissions.querySync({ name: "env", variable }) ?? {};
  return state === "granted";
}

/** A variable; where it may not be read, it is as if it were not set. */
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

/** Writes to standard output. Takes no lock on it, because calls of `main()` can overlap. */
async function writeOutput(bytes: Uint8Array): Promise<void> {
  if (scope.Deno === undefined) {
    return await new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => error ? reject(error) : resolve());
    });
  }
  // In Deno, process.stdout blocks the event loop, and thus signals, while a reader is slow.
  for (let at = 0; at < bytes.length;) at += await scope.Deno.stdout.write(bytes.subarray(at));
}

// Not awaited: require() takes no module that awaits at its top.
if (import.meta.main) main().then(end);
