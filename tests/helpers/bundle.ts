import { runProgram } from "./programs.ts";

const bundles = new Map<string, Promise<string>>();

/**
 * Bundles a module with its imports into one file. Each test file bundles a module only once.
 *
 * @param module Path of the module in the project
 * @param flags Additional flags for `deno bundle`
 */
export function bundle(module: string, ...flags: string[]): Promise<string> {
  const key = JSON.stringify([module, ...flags]);
  const bundled = bundles.get(key) ?? runBundle(module, flags);
  bundles.set(key, bundled);
  return bundled;
}

async function runBundle(module: string, flags: string[]): Promise<string> {
  // The module comes first because `--external` takes all following arguments.
  const result = await runProgram(Deno.execPath(), "bundle", "--quiet", module, ...flags);
  if (!result?.success) throw new Error(`Cannot bundle ${module}: ${result?.stderr}`);
  return result.stdout;
}
