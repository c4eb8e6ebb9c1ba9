import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "../../src/cli/run.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { withDeadline } from "./deadline.ts";

export const COMMAND_NAMES = [
  "records",
  "observations",
  "locations",
  "metadata",
  "sync",
  "verify",
  "cite",
  "values",
  "summary",
  "fields",
  "url",
  "sign",
  "serve",
  "mcp",
  "doctor",
  "completion",
  "setup",
] as const;

export interface RunResult {
  code: number;
  output: string;
  errors: string[];
  /** Text that was written to the terminal. */
  drawn: string;
}

/** Environment of a command line in this process. */
export interface RunOptions {
  environment?: Record<string, string>;
  isTerminal?: boolean;
  isStdoutTerminal?: boolean;
  /** Answer to a question. Default: no. */
  confirms?: boolean;
  /** Text that the user enters at the prompt for the key. */
  secret?: string;
  input?: string | Readable;
  networkHint?: () => string | undefined;
  signal?: AbortSignal;
  clock?: Clock;
  /** Replaces the function that writes text to standard output. */
  print?: (text: string) => Promise<void>;
  /** Replaces the function that writes bytes to standard output. */
  write?: (bytes: Uint8Array) => Promise<void>;
  /** Called with each line of standard error. */
  onError?: (line: string) => void;
}

export async function weir(line: readonly string[], given: RunOptions = {}): Promise<RunResult> {
  const chunks: string[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const errors: string[] = [];
  let drawn = "";
  // Disables the rate limit of the sandbox.
  const variables: Record<string, string> = {
    WEIR_REQUESTS_PER_SECOND: "Infinity",
    ...given.environment,
  };
  const environment = (name: string) => variables[name];
  const input = given.input instanceof Readable ? given.input : Readable.from([given.input ?? ""]);
  const running = run(line, {
    environment,
    environmentIfAllowed: environment,
    environmentNames: () => Object.keys(variables),
    endProcess: () => {},
    permissionHint: () => "",
    networkHint: given.networkHint ?? (() => undefined),
    isStdoutTerminal: given.isStdoutTerminal ?? false,
    write: given.write ?? ((bytes) => Promise.resolve(void chunks.push(decoder.decode(bytes)))),
    print: given.print ?? ((text) => Promise.resolve(void chunks.push(text))),
    printError(text) {
      errors.push(text);
      given.onError?.(text);
    },
    terminal: given.isTerminal ? { columns: () => 80, write: (text) => drawn += text } : undefined,
    input: () => input,
    readInput: () => text(input),
    confirm: () => Promise.resolve(given.confirms ?? false),
    promptSecret: () => Promise.resolve(given.secret ?? ""),
    signal: given.signal ?? new AbortController().signal,
    clock: given.clock ?? { now: Date.now, sleep: systemClock.sleep },
  });
  const code = await withDeadline(running, `weir ${line.join(" ")}`);
  return { code, output: chunks.join(""), errors, drawn };
}
