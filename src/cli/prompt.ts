import process from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { CommandError } from "./context.ts";

/** Without a terminal, returns the first line of standard input that is not blank. */
export async function promptSecret(prompt: string, signal: AbortSignal): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await text(stdin)).trim().split("\n")[0] ?? "";
  try {
    const key = await ask(prompt, true, signal);
    if (key === undefined) throw new CommandError("No key was typed");
    return key;
  } finally {
    stderr.write("\n");
  }
}

/** `false` without a terminal, and for any answer but "y" or "yes". */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  return /^\s*y(es)?\s*$/i.test(await ask(question, false, signal) ?? "");
}

/** Returns a line from the terminal; `undefined` for Ctrl-D. */
async function ask(
  question: string,
  isSecret: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { stdin, stderr } = process;
  // readline echoes to its output, which discards everything.
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isSecret ? { output: discard, terminal: true } : { output: stderr };
  const lines = createInterface({ input: stdin, ...output });
  // Not earlier: until readline has switched the terminal to raw mode, it shows what the user types.
  if (isSecret) stderr.write(question);
  const ended = new AbortController();
  // In raw mode, Ctrl-C sends no signal. Ctrl-D closes the input.
  lines.once("SIGINT", () => process.emit("SIGINT"));
  lines.once("close", () => ended.abort());
  try {
    const signals = AbortSignal.any([signal, ended.signal]);
    return await lines.question(isSecret ? "" : question, { signal: signals });
  } catch (error) {
    if (signal.aborted || !ended.signal.aborted) throw error;
    return undefined;
  } finally {
    lines.close();
  }
}
