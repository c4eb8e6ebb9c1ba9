import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";

/**
 * Asks for a line that is not shown while it is typed; without a terminal, gives the first line of
 * standard input that holds something.
 *
 * @param signal Ends the asking
 */
export async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await text(stdin)).trim().split("\n")[0] ?? "";
  stderr.write(question);
  // A terminal shows what is written to the output: nothing is.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true });
  const ended = new AbortController();
  // Ctrl-C is a key like others to whoever reads keys; Ctrl-D ends the input.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  lines.once("close", () => ended.abort(new Error("No key was typed")));
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, ended.signal]) });
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
