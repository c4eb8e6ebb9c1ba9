import { runProgramWith } from "../../helpers/programs.ts";

/** Runs a program in a folder with files; returns its exit code and output. */
export async function runWith(
  files: Record<string, string>,
  program: string,
  ...args: string[]
): Promise<[code: number, output: string]> {
  const folder = await Deno.makeTempDir({ prefix: "weir-deployment-" });
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const result = (await runProgramWith({ cwd: folder, env }, program, ...args))!;
    return [result.code, result.stdout + result.stderr];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
