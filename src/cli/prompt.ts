import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { CommandError } from "./context.ts";

/** Without a terminal, returns the first line of standard input that is not blank. */
export async function promptSecret(prompt: string, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await text(stdin)).trim().split("\n")[0] ?? "";
  // readline echoes to its output, which discards everything.
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: discard, terminal: true });
  // Not earlier: until readline has switched the terminal to raw mode, it shows what the user types.
  stderr.write(prompt);
  const ended = new AbortController();
  // In raw mode, Ctrl-C sends no signal. Ctrl-D closes the input.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  lines.once("close", () => ended.abort(new CommandError("No key was typed")));
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, ended.signal]) })
      .catch((error) => {
        // readline rejects with its own AbortError.
        throw signal.aborted ? error : ended.signal.reason ?? error;
      });
  } finally {
    lines.close();
    stderr.write("\n");
  }
}

/** `false` without a terminal, and for any answer but "y" or "yes". */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return false;
  const lines = createInterface({ input: stdin, output: stderr });
  const ended = new AbortController();
  lines.once("SIGINT", () => process.emit("SIGINT"));
  lines.once("close", () => ended.abort());
  try {
    const answer = lines.question(question, { signal: AbortSignal.any([signal, ended.signal]) });
    return /^\s*y(es)?\s*$/i.test(await answer);
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  } finally {
    lines.close();
  }
}
