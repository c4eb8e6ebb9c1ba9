/** Exit status and output of a program. */
export interface ProgramResult {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/** Working folder and additional environment variables of a program. */
export type ProgramOptions = Pick<Deno.CommandOptions, "cwd" | "env">;

/** Whether setpriv (util-linux on Linux) is installed, which can kill a process with its parent. */
const hasSetpriv = await isInstalled("setpriv");

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

/** Runs a program; resolves to `undefined` if it is not installed. */
export function runProgram(
  program: string,
  ...args: string[]
): Promise<ProgramResult | undefined> {
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
