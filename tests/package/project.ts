import { assert } from "@std/assert";
import { type ProgramResult, runProgramWith } from "../helpers/programs.ts";
import { PROJECT, VERSION } from "../helpers/project.ts";

export interface ConsumerProject {
  folder: string;
  installed: string;
  tarball: string;
}

/** Builds the npm package, unless it is newer than its sources. Returns the path of its tarball. */
export async function packPackage(): Promise<string> {
  const tarball = `${PROJECT}dist/weir-datastream-${VERSION}.tgz`;
  const packed = (await Deno.stat(tarball).catch(() => undefined))?.mtime ?? new Date(0);
  const sources = [".ci", "*.json", "*.md", "LICENSE", "deno.lock", "edge", "mod.ts", "src"];
  const files = (await output(PROJECT, "git", "ls-files", "--", ...sources)).trim().split("\n");
  const changes = await Promise.all(
    files.map(async (file) => (await Deno.stat(PROJECT + file)).mtime!),
  );
  if (changes.some((change) => change >= packed)) {
    await output(PROJECT, Deno.execPath(), "task", "pack");
  }
  return tarball;
}

/** Builds the npm package and installs it, with other packages, in a new project. */
export async function createProject(...packages: string[]): Promise<ConsumerProject> {
  const tarball = await packPackage();
  const folder = `${await Deno.makeTempDir({ prefix: "weir-package-" })}/`;
  await Deno.writeTextFile(`${folder}package.json`, `{ "private": true }`);
  await output(folder, "npm", "install", "--no-audit", "--no-fund", tarball, ...packages);
  return { folder, installed: `${folder}node_modules/@weir/datastream/`, tarball };
}

export async function output(folder: string, program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(folder, {}, program, ...args);
  assert(code === 0, `${program} ${args.join(" ")}: ${code}\n${stdout}${stderr}`);
  return stdout;
}

export async function run(
  folder: string,
  env: Record<string, string>,
  program: string,
  ...args: string[]
): Promise<ProgramResult> {
  const result = await runProgramWith({ cwd: folder, env }, program, ...args);
  assert(result, `${program} is not installed`);
  return result;
}
