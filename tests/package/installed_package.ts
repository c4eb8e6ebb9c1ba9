import { createRequire } from "node:module";
import { PROJECT } from "../helpers/project.ts";

/**
 * Loads a package that `.ci/run` installs, from the folder in `NODE_PATH`. Packages that few tests need are not in
 * `deno.lock`, from which each clone downloads everything.
 *
 * @returns `undefined` if it is not installed
 */
export function loadInstalled<T>(name: string): T | undefined {
  try {
    return createRequire(`${Deno.env.get("NODE_PATH") ?? `${PROJECT}node_modules`}/../tests.cjs`)(
      name,
    );
  } catch (error) {
    if ((error as { code?: string }).code !== "MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}
