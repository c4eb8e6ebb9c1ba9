/** How a program ended, and what it printed. */
export interface Ran {
  success: boolean;
  code: number;
  stdout: string;
  stderr: string;
}

/** Where a program runs: in a folder, with more in its environment. */
export type Place = Pick<Deno.CommandOptions, "cwd" | "env">;

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
    const command = new Deno.Command(program, { ...place, args, stdin: "null" });
    const { success, code, stdout, stderr } = await command.output();
    return { success, code, stdout: decode(stdout), stderr: decode(stderr) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
