import { dirname } from "node:path";
import { runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";

/** Copies the files of the clone, without those that git ignores, to a temporary folder. */
export async function copyClone(): Promise<string> {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const { stdout } = (await runProgramWith({ cwd: PROJECT }, "git", ...list))!;
  const folder = `${await Deno.makeTempDir({ prefix: "weir-clone-" })}/`;
  for (const path of stdout.trim().split("\n")) {
    await Deno.mkdir(dirname(folder + path), { recursive: true });
    await Deno.copyFile(PROJECT + path, folder + path);
  }
  return folder;
}
