import deno from "../deno.json" with { type: "json" };
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";

const NAME = `.publish-${Deno.pid}.json`;

/**
 * Runs a command of Deno with the published package's settings, without access to JSR.
 *
 * Combines `deno.json`, which imports from npm only, with version, license and files of `jsr.json`.
 *
 * @param exports Entry points in addition to the published ones
 * @param args Command and arguments
 * @returns The output
 * @throws {Error} If it fails
 */
export async function denoWithPublishConfig(
  exports: Record<string, string>,
  ...args: [string, ...string[]]
): Promise<string> {
  const { version, license, publish } = jsr;
  const config = { ...deno, version, license, publish, exports: { ...deno.exports, ...exports } };
  await Deno.writeTextFile(PROJECT + NAME, JSON.stringify(config));
  try {
    return await run(Deno.execPath(), [...args, "--config", NAME]);
  } finally {
    await Deno.remove(PROJECT + NAME);
  }
}

/**
 * Runs a program in the project's folder.
 *
 * @returns Standard output followed by standard error
 * @throws {Error} If it fails; the message has the output
 */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], cwd: PROJECT, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  if (!success) throw new Error(`${program} ${args.join(" ")}\n${printed}`);
  return printed;
}
