/** How a program ended, and what it printed. */
export interface Ran {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/** Where a program runs: in a folder, with more in its environment. */
export type Place = Pick<Deno.CommandOptions, "cwd" | "env">;

/** Whether the system can end a process with the one that started it: Linux, by util-linux. */
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
 * A command of a program that is killed when its test file ends, even where the test run is itself
 * killed: no `finally` runs then.
 */
export function childCommand(program: string, options: Deno.CommandOptions): Deno.Command {
  if (!hasSetpriv) return new Deno.Command(program, options);
  const args = ["--pdeathsig", "KILL", program, ...options.args ?? []];
  return new Deno.Command("setpriv", { ...options, args });
}

/** Runs a program; undefined where it is not installed. */
export function runProgram(program: string, ...args: string[]): Promise<Ran | undefined> {
  return runIn({}, program, ...args);
}

/** The same at a place of its own. */
export async function runIn(
  place: Place,
  program: string,
  ...args: string[]
): Promise<Ran | undefined> {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  try {
    const command = childCommand(program, { ...place, args, stdin: "null" });
    const { success, code, stdout, stderr } = await command.output();
    const ran = { success, code, stdout: decode(stdout), stderr: decode(stderr) };
    return code === 127 && ran.stderr.startsWith("setpriv: ") ? undefined : ran;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
