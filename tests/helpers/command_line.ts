// The command line as a process, with the least permissions that the README names for it.

import { withDeadline } from "./deadline.ts";
import { childCommand } from "./programs.ts";
import { PROJECT } from "./project.ts";

/**
 * Folder of the running test, which `withFiles()` creates empty and removes. Its name is random,
 * because test files run at the same time; each one loads this module by itself.
 */
export const FOLDER = `tests/tmp/${crypto.randomUUID().slice(0, 8)}`;
/** The module of the command line. */
export const MAIN = `${PROJECT}src/cli/main.ts`;

/** Time limit (ms) of a test that runs processes. */
const TEST_LIMIT = 60_000;
/** Command lines of the processes that are running. */
const running = new Map<Deno.ChildProcess, string>();

/** What a process came to. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** A command line that is about to be a process. */
export interface CommandLine {
  /** The port of a service on this machine; undefined is no network. */
  port?: number;
  /** Whether it reads and writes files. */
  hasFiles?: boolean;
  environment?: Record<string, string>;
}

/** The arguments for Deno. */
export function denoArguments(
  { port, hasFiles, environment = {} }: CommandLine,
  args: readonly string[],
): string[] {
  const names = ["DATASTREAM_API_KEY", ...Object.keys(environment)];
  return [
    ...["run", "--quiet", "--no-prompt", `--allow-env=${[...new Set(names)].join(",")}`],
    ...(port === undefined ? [] : [`--allow-net=127.0.0.1:${port}`]),
    ...(hasFiles ? ["--allow-read=.", "--allow-write=."] : []),
    ...[MAIN, ...args],
  ];
}

/** Starts it. `withFiles()` kills it where a test fails before it has ended. */
export function start(line: CommandLine, ...args: string[]): Deno.ChildProcess {
  const child = childCommand(Deno.execPath(), {
    args: denoArguments(line, args),
    cwd: FOLDER,
    env: line.environment ?? {},
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  running.set(child, `weir ${args.join(" ")}`);
  child.status.finally(() => running.delete(child));
  return child;
}

/** Runs it to its end. */
export async function runToEnd(line: CommandLine, ...args: string[]): Promise<Ended> {
  const { code, stdout, stderr } = await start(line, ...args).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** Runs a test with an empty `FOLDER`; removes it afterwards, and kills what `start()` started. */
export async function withFiles(test: () => Promise<void>): Promise<void> {
  await Deno.mkdir(FOLDER, { recursive: true });
  const unfinished = () => ["The test", ...running.values()].join(" / ");
  try {
    await withDeadline(test(), unfinished, TEST_LIMIT);
  } finally {
    const left = [...running.keys()];
    left.forEach(killIfRunning);
    await Promise.all(left.map(({ status }) => status));
    await Deno.remove(FOLDER, { recursive: true });
  }
}

function killIfRunning(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended, and its status is not known yet.
  }
}

/** Serves a handler as the service while the test runs; `line` reaches it. */
export async function serving(
  handler: (request: Request) => Response | Promise<Response>,
  test: (line: CommandLine, baseUrl: string) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, signal, onListen() {} }, handler);
  const { port } = server.addr;
  const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const line = { port, hasFiles: true, environment };
  try {
    await withFiles(() => test(line, `--base-url=http://127.0.0.1:${port}/v1/odata/v4`));
  } catch (error) {
    // shutdown() would wait for an answer that the failed test never gives.
    stop.abort();
    throw error;
  }
  await server.shutdown();
}

/** The names of the files that are there. */
export async function fileNames(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(FOLDER));
  return entries.map(({ name }) => name).sort();
}

export const readFile = (name: string): Promise<string> => Deno.readTextFile(`${FOLDER}/${name}`);

export const writeFile = (name: string, text: string): Promise<void> =>
  Deno.writeTextFile(`${FOLDER}/${name}`, text);
