/** Exit status and output of a program. */
export interface ProgramResult {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/** Working folder and environment variables of a program, and the signal that kills it. */
export type ProgramOptions = Pick<Deno.CommandOptions, "cwd" | "env" | "clearEnv" | "signal">;

/** Whether setpriv (util-linux on Linux) is installed, which can kill a process with its parent. */
const hasSetpriv = await isInstalled("setpriv");
/** Whether setsid (util-linux on Linux) is installed, which makes a process the leader of a group. */
const hasSetsid = await isInstalled("setsid");

async function isInstalled(program: string): Promise<boolean> {
  try {
    const options: Deno.CommandOptions = { args: ["--version"], stdout: "null", stderr: "null" };
    return (await new Deno.Command(program, options).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Creates a command whose process is killed when its parent ends. This also works if the test run is
 * killed, so that no `finally` block runs.
 */
export function childCommand(program: string, options: Deno.CommandOptions): Deno.Command {
  if (!hasSetpriv) return new Deno.Command(program, options);
  const args = ["--pdeathsig", "KILL", program, ...options.args ?? []];
  return new Deno.Command("setpriv", { ...options, args });
}

export function runProgram(program: string, ...args: string[]): Promise<ProgramResult | undefined> {
  return runProgramWith({}, program, ...args);
}

/** Runs a program with options; resolves to `undefined` if it is not installed. */
export async function runProgramWith(
  options: ProgramOptions,
  program: string,
  ...args: string[]
): Promise<ProgramResult | undefined> {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  try {
    const command = childCommand(program, { ...options, args, stdin: "null" });
    const { success, code, stdout, stderr } = await command.output();
    const result = { success, code, stdout: decode(stdout), stderr: decode(stderr) };
    return code === 127 && result.stderr.startsWith("setpriv: ") ? undefined : result;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Creates a command like {@linkcode childCommand}. Its process ends with {@linkcode killGroup}, and so do,
 * where setsid is installed, those that it starts.
 */
export function groupCommand(program: string, options: Deno.CommandOptions): Deno.Command {
  if (!hasSetsid) return childCommand(program, options);
  return childCommand("setsid", { ...options, args: [program, ...options.args ?? []] });
}

export async function killGroup(child: Deno.ChildProcess): Promise<void> {
  if (!hasSetsid) return child.kill("SIGKILL");
  const args = ["-KILL", "--", `-${child.pid}`];
  await new Deno.Command("kill", { args, stderr: "null" }).output();
}
