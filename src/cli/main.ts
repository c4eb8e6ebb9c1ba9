/**
 * The command line: `deno run jsr:@weir/datastream/cli records --output records.csv`.
 *
 * @module
 */
import process from "node:process";
import { Writable } from "node:stream";
import { askSecret } from "./ask_secret.ts";
import { run } from "./run.ts";

/** The signals that ask a process to end. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Runs the command line in this process; a reader of standard output that leaves (`| head`) ends
 * it quietly.
 *
 * Permissions in Deno: `--allow-env=DATASTREAM_API_KEY`, `--allow-net` for the service's host, and
 * for `--output` to read and write the folder of the file; what is not allowed is done without.
 *
 * @param args The arguments after the program's name; default: the process's own
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted
 */
export async function main(args: string[] = process.argv.slice(2)): Promise<number> {
  let readerLeft = false;
  process.stdout.on("error", (error: Error & { code?: string }) => {
    // Any other error reaches `run` as a failed write.
    if (error.code === "EPIPE") readerLeft = true;
  });
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new Error("interrupted"));
  for (const signal of SIGNALS) process.once(signal, interrupt);
  const { stdout, stderr } = process;
  const output = Writable.toWeb(stdout);
  try {
    const code = await run(args, {
      environment,
      output,
      async print(text) {
        const writer = output.getWriter();
        await writer.write(new TextEncoder().encode(text));
        writer.releaseLock();
      },
      error(line) {
        if (!readerLeft) stderr.write(`${line}\n`);
      },
      terminal: stderr.isTTY
        ? { columns: () => stderr.columns || 80, write: (text) => void stderr.write(text) }
        : undefined,
      askSecret: (question) => askSecret(question, interrupted.signal),
      signal: interrupted.signal,
    });
    return readerLeft ? 0 : code;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

/** A variable that nobody need be asked for. */
const OPTIONAL = "WEIR_REQUESTS_PER_SECOND";

const scope = globalThis as {
  Deno?: { permissions: { querySync(of: { name: "env"; variable: string }): { state: string } } };
};

/** A variable; where it may not be read, it is as if it were not set. */
function environment(name: string): string | undefined {
  try {
    const { state } = scope.Deno?.permissions.querySync({ name: "env", variable: name }) ?? {};
    // Deno would ask whoever sits at the terminal.
    if (name === OPTIONAL && state === "prompt") return undefined;
    return process.env[name];
  } catch {
    return undefined;
  }
}

if (import.meta.main) process.exitCode = await main();
