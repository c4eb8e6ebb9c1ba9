/**
 * The command line: `deno run jsr:@weir/datastream/cli records --output records.csv`.
 *
 * @module
 */
import process from "node:process";
import { Writable } from "node:stream";
import { oneLine } from "../errors.ts";
import { askSecret } from "./ask_secret.ts";
import { INTERRUPTED, run } from "./run.ts";

/** The signals that ask a process to end. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs the command line in this process; a reader of standard output that leaves (`| head`) ends
 * it quietly.
 *
 * Permissions in Deno: `--allow-env=DATASTREAM_API_KEY`, `--allow-net` for the service's host, and
 * for `--output` to read and write the folder of the file; what is not allowed is done without.
 *
 * @param args The arguments after the program's name; default: the process's own
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted
 *
 * @example A script of one's own in front of it
 * ```ts
 * import { main } from "@weir/datastream/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["url", "locations"]), 0); // prints the URL
 * ```
 */
export async function main(args: string[] = process.argv.slice(2)): Promise<number> {
  let readerLeft = false;
  let broken: Error | undefined;
  const interrupted = new AbortController();
  const onOutput = (error: Error & { code?: string }) => {
    readerLeft ||= error.code === "EPIPE" || error.name === "BrokenPipe";
    broken ??= error;
    // Not every runtime fails the write that it is about.
    interrupted.abort(error);
  };
  // Nobody reads what is said: the rows are worth no less for it.
  const onError = () => {};
  process.stdout.on("error", onOutput);
  process.stderr.on("error", onError);
  let asked = 0;
  const interrupt = () => {
    interrupted.abort(new Error("interrupted"));
    // Whoever asks twice does not want to wait for a reader that takes nothing.
    if (++asked === 2) process.exit(INTERRUPTED);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  const { stdout, stderr } = process;
  // Deno's process.stdout waits for a slow reader with everything, the signals too.
  const raw = scope.Deno?.stdout.writable ?? Writable.toWeb(stdout);
  const rawWriter = raw.getWriter();
  const output = new WritableStream<Uint8Array>({
    write: (bytes) =>
      rawWriter.write(bytes).catch((error) => {
        onOutput(error);
        throw error;
      }),
  });
  try {
    const code = await run(args, {
      environment,
      environmentIfAllowed: (name) => isAllowed(name) ? environment(name) : undefined,
      howToAllow: (name) => isAllowed(name) ? "" : ` and let it be read, --allow-env=${name},`,
      output,
      async print(text) {
        const writer = output.getWriter();
        await writer.write(new TextEncoder().encode(text));
        writer.releaseLock();
      },
      error(line) {
        if (broken === undefined) stderr.write(`${line}\n`);
      },
      terminal: stderr.isTTY
        ? { columns: () => stderr.columns || 80, write: (text) => void stderr.write(text) }
        : undefined,
      showsOutput: stdout.isTTY === true,
      askSecret: (question) => askSecret(question, interrupted.signal),
      signal: interrupted.signal,
    });
    // A reader that takes nothing must not keep a process that was asked to end.
    if (asked > 0) process.exit(code);
    // Until all is taken: only then is it known to be.
    if (code === 0) await new Promise<void>((resolve) => stdout.write("", () => resolve()));
    if (broken === undefined) return code;
    if (readerLeft) return 0;
    process.stderr.write(`Standard output: ${oneLine(broken)}\n`);
    return 1;
  } finally {
    process.stdout.off("error", onOutput);
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

const scope = globalThis as {
  Deno?: {
    stdout: { writable: WritableStream<Uint8Array> };
    permissions: { querySync(of: { name: "env"; variable: string }): { state: string } };
  };
};

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

// Not awaited: require() takes no module that awaits at its top.
if (import.meta.main) main().then((code) => process.exitCode = code);
