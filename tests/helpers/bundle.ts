import { runProgram } from "./programs.ts";

const bundles = new Map<string, Promise<string>>();

/**
 * Bundles a module and all that it imports as one file, once for each test file.
 *
 * @param module The module's path in the project, which the tests run in
 * @param flags What `deno bundle` takes beside
 */
export function bundle(module: string, ...flags: string[]): Promise<string> {
  const key = JSON.stringify([module, ...flags]);
  const bundled = bundles.get(key) ?? runBundle(module, flags);
  bundles.set(key, bundled);
  return bundled;
}

async function runBundle(module: string, flags: string[]): Promise<string> {
  // The module comes first: --external takes all that follows.
  const result = await runProgram(Deno.execPath(), "bundle", "--quiet", module, ...flags);
  if (!result?.success) throw new Error(`Cannot bundle ${module}: ${result?.stderr}`);
  return result.stdout;
}
