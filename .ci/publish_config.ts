import deno from "../deno.json" with { type: "json" };
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";

/** A configuration for the time of one command, by its name in the project's folder. */
const NAME = `.publish-${Deno.pid}.json`;

/**
 * Runs deno with `deno.json`, whose packages all come from npm, and what `jsr.json` says of the
 * published package: to make and check it where JSR cannot be reached.
 *
 * @param exports The entries that there are besides the published ones
 * @param args The command and its arguments
 * @returns What it printed
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
 * @returns What it printed, to standard output and then to standard error
 * @throws {Error} If it fails; the message is what it printed
 */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], cwd: PROJECT, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  if (!success) throw new Error(`${program} ${args.join(" ")}\n${printed}`);
  return printed;
}
