/** Runs a program; undefined where it is not installed. */
export async function runProgram(
  program: string,
  ...args: string[]
): Promise<{ success: boolean; code: number; stdout: string; stderr: string } | undefined> {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  try {
    const { success, code, stdout, stderr } = await new Deno.Command(program, { args }).output();
    return { success, code, stdout: decode(stdout), stderr: decode(stderr) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
