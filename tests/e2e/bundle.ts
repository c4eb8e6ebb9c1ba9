import { PROJECT } from "../helpers/project.ts";
import { runProgramWith } from "../helpers/programs.ts";

const bundles = new Map<string, Promise<string>>();

/** Bundles a module with its imports into one file, once per test file. */
export function bundle(module: string, ...flags: string[]): Promise<string> {
  const key = JSON.stringify([module, ...flags]);
  const bundled = bundles.get(key) ?? runBundle(module, flags);
  bundles.set(key, bundled);
  return bundled;
}

/** Bundles a module anew; `folder` is that of the project. */
export async function runBundle(
  module: string,
  flags: readonly string[],
  folder: string = PROJECT,
): Promise<string> {
  // The module comes first because `--external` takes all following arguments.
  const args = ["bundle", "--quiet", module, ...flags];
  const result = await runProgramWith({ cwd: folder }, Deno.execPath(), ...args);
  if (!result?.success) throw new Error(`Cannot bundle ${module}: ${result?.stderr}`);
  return result.stdout;
}
