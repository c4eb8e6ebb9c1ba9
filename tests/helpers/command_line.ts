// The command line as a process, with the least permissions that the README names for it.

import { PROJECT } from "./project.ts";

/** The folder that its files go to. */
export const FOLDER = "tests/e2e/processes/files";
/** The module of the command line. */
export const MAIN = `${PROJECT}src/cli/main.ts`;

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

/** Starts it. */
export function start(line: CommandLine, ...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: denoArguments(line, args),
    cwd: FOLDER,
    env: line.environment ?? {},
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs it to its end. */
export async function runToEnd(line: CommandLine, ...args: string[]): Promise<Ended> {
  const { code, stdout, stderr } = await start(line, ...args).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: decode(stdout), stderr: decode(stderr) };
}

/** Runs a test with a folder of its own for files. */
export async function withFiles(test: () => Promise<void>): Promise<void> {
  // What a run that was killed has left is nobody's.
  await removeFolder();
  await Deno.mkdir(FOLDER, { recursive: true });
  try {
    await test();
  } finally {
    await removeFolder();
  }
}

async function removeFolder(): Promise<void> {
  try {
    await Deno.remove(FOLDER, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Serves a handler as the service while the test runs; `line` reaches it. */
export async function serving(
  handler: (request: Request) => Response | Promise<Response>,
  test: (line: CommandLine, baseUrl: string) => Promise<void>,
): Promise<void> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
  const { port } = server.addr;
  const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const line = { port, hasFiles: true, environment };
  await withFiles(() => test(line, `--base-url=http://127.0.0.1:${port}/v1/odata/v4`));
}

/** The names of the files that are there. */
export async function fileNames(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(FOLDER));
  return entries.map(({ name }) => name).sort();
}

export const readFile = (name: string): Promise<string> => Deno.readTextFile(`${FOLDER}/${name}`);

export const writeFile = (name: string, text: string): Promise<void> =>
  Deno.writeTextFile(`${FOLDER}/${name}`, text);
