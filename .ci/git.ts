import { PROJECT } from "../tests/helpers/project.ts";

/**
 * Runs Git in the project's folder and returns its standard output.
 *
 * @throws {Error} If it fails; the message has its standard error
 */
export async function git(...args: string[]): Promise<string> {
  const command = new Deno.Command("git", { args, cwd: PROJECT, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`git ${args[0]} failed: ${errors!.trim()}`);
  return output!;
}
