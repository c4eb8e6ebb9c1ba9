import { runProgram } from "./programs.ts";

/**
 * A module and all that it imports, as one file.
 *
 * @param module The module's path in the project, which the tests run in
 * @param flags What `deno bundle` takes beside
 */
export async function bundle(module: string, ...flags: string[]): Promise<string> {
  // The module comes first: --external takes all that follows.
  const result = await runProgram(Deno.execPath(), "bundle", "--quiet", module, ...flags);
  if (!result?.success) throw new Error(`Cannot bundle ${module}: ${result?.stderr}`);
  return result.stdout;
}
