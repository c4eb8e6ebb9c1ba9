// Runs the command line as a process; in Deno, with the minimal permissions that the README lists.

import { withDeadline } from "../helpers/deadline.ts";
import { bundle } from "./bundle.ts";
import { childCommand, type ProgramResult, runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import { needing } from "./needs.ts";
import { bun, newestNode, node } from "./runtime_programs.ts";

/**
 * Folder of the running test, which `withFiles()` creates empty and removes. Its name is random,
 * because test files run at the same time; each one loads this module by itself.
 */
export const FOLDER = `tests/tmp/${crypto.randomUUID().slice(0, 8)}`;
/** Path of the command line's main module. */
export const MAIN = `${PROJECT}src/cli/main.ts`;

/** Time limit (ms) of a test that runs processes; generous, because a busy machine starts them slowly. */
const TEST_LIMIT = 300_000;
const running = new Map<Deno.ChildProcess, string>();

/** Programs that run the command line; `undefined` if not installed. */
export const PROGRAMS = {
  "Deno": Deno.execPath(),
  "Node": node,
  "the newest Node": newestNode,
  "Bun": bun,
};

export type Runtime = keyof typeof PROGRAMS;

/** Runtime, permissions and environment of a command line. */
export interface CommandLine {
  /** Default: Deno. The others run the file of `writeBundle()`. */
  runtime?: Runtime;
  /** Port of the service on loopback; without it, there is no network permission. */
  port?: number;
  /** Whether it may read and write files. */
  hasFiles?: boolean;
  /** Whether the test writes to its standard input. */
  hasInput?: boolean;
  environment?: Record<string, string>;
}

/** Writes the command line as one file, for the runtimes without permissions. */
export async function writeBundle(): Promise<void> {
  await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
}

/** Returns the program of a command line and its arguments. */
export function commandOf(
  { runtime = "Deno", port, hasFiles, environment = {} }: CommandLine,
  ...args: string[]
): [program: string, ...args: string[]] {
  if (runtime !== "Deno") return [PROGRAMS[runtime]!, `${PROJECT}${FOLDER}/weir.mjs`, ...args];
  const names = ["DATASTREAM_API_KEY", ...Object.keys(environment)];
  return [
    PROGRAMS.Deno,
    "run",
    "--quiet",
    "--no-prompt",
    `--allow-env=${[...new Set(names)].join(",")}`,
    ...(port === undefined ? [] : [`--allow-net=127.0.0.1:${port}`]),
    ...(hasFiles ? ["--allow-read=.", "--allow-write=."] : []),
    MAIN,
    ...args,
  ];
}

/** Starts a command line. `withFiles()` kills it if it is still running after the test. */
export function start(line: CommandLine, ...args: string[]): Deno.ChildProcess {
  const [program, ...programArgs] = commandOf(line, ...args);
  const child = childCommand(program, {
    args: programArgs,
    cwd: FOLDER,
    env: line.environment ?? {},
    stdin: line.hasInput ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  running.set(child, `weir ${args.join(" ")}`);
  child.status.finally(() => running.delete(child));
  return child;
}

export async function runToEnd(line: CommandLine, ...args: string[]): Promise<ProgramResult> {
  const { success, code, stdout, stderr } = await start(line, ...args).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { success, code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** Runs a line of bash in `FOLDER`, in which "$@" is a command. */
export async function inShell(
  line: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<ProgramResult> {
  return (await runProgramWith({ cwd: FOLDER, env }, "bash", "-c", line, "bash", ...command))!;
}

/** Runs a test with an empty `FOLDER`, then kills the processes of `start()` and removes it. */
export async function withFiles(test: () => Promise<void>): Promise<void> {
  await Deno.mkdir(FOLDER, { recursive: true });
  const unfinished = () => ["The test", ...running.values()].join(" / ");
  try {
    await withDeadline(test(), unfinished, TEST_LIMIT);
  } finally {
    const remaining = [...running.keys()];
    remaining.forEach(killIfRunning);
    await Promise.all(remaining.map(({ status }) => status));
    await Deno.remove(FOLDER, { recursive: true });
  }
}

/** Registers a test with `withFiles()`, which is skipped where something that it needs is missing. */
export function testWithFiles(
  name: string,
  test: () => Promise<void>,
  needs: Readonly<Record<string, unknown>> = {},
): void {
  Deno.test(needing(needs, name, () => withFiles(test)));
}

export function killIfRunning(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // The process has ended, but its status has not been read yet.
  }
}

/** Serves a handler as the service while a test runs. */
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
    // `shutdown()` would wait for responses that the failed test does not send.
    stop.abort();
    throw error;
  }
  await server.shutdown();
}

/** Returns the sorted names of the files in `FOLDER`, except the packages of finished files. */
export async function fileNames(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(FOLDER));
  return entries.map(({ name }) => name)
    .filter((name) => !name.endsWith(".datapackage.json")).sort();
}

export const readFile = (name: string): Promise<string> => Deno.readTextFile(`${FOLDER}/${name}`);

export const writeFile = (name: string, text: string): Promise<void> =>
  Deno.writeTextFile(`${FOLDER}/${name}`, text);
