import { assert } from "@std/assert";
import { type Ran, runIn } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";

/** A project of a user of the package, in a folder of its own. */
export interface Project {
  /** Its folder, with a slash at the end. */
  folder: string;
  /** Where the package is installed in it, with a slash at the end. */
  installed: string;
}

/** Makes the npm package, and installs it and others into a project that has nothing else. */
export async function createProject(...packages: string[]): Promise<Project> {
  const made = await output(PROJECT, Deno.execPath(), "task", "pack");
  const tarball = /^dist\/.*\.tgz$/m.exec(made)?.[0];
  assert(tarball, made);
  const folder = `${await Deno.makeTempDir({ prefix: "weir-package-" })}/`;
  await Deno.writeTextFile(`${folder}package.json`, `{ "private": true }`);
  await output(folder, "npm", "install", "--no-audit", "--no-fund", PROJECT + tarball, ...packages);
  return { folder, installed: `${folder}node_modules/@weir/datastream/` };
}

/** Runs a program in a folder that must end well; gives its output. */
export async function output(folder: string, program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(folder, {}, program, ...args);
  assert(code === 0, `${program} ${args.join(" ")}: ${code}\n${stdout}${stderr}`);
  return stdout;
}

/** Runs a program in a folder, with more in its environment. */
export async function run(
  folder: string,
  env: Record<string, string>,
  program: string,
  ...args: string[]
): Promise<Ran> {
  const ran = await runIn({ cwd: folder, env }, program, ...args);
  assert(ran, `${program} is not installed`);
  return ran;
}
