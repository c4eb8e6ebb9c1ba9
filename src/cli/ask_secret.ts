import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/**
 * Asks for a line that is not shown while it is typed; without a terminal, gives the first line of
 * standard input.
 *
 * @param signal Ends the asking
 */
export async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process;
  const isTerminal = stdin.isTTY === true;
  if (isTerminal) stderr.write(question);
  // A terminal shows what is written to the output: nothing is.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isTerminal });
  // Ctrl-C is a key like others to whoever reads keys.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  try {
    return await lines.question("", { signal });
  } finally {
    lines.close();
    if (isTerminal) stderr.write("\n");
  }
}
