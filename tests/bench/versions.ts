import { VERSION } from "../../src/version.ts";
import deno from "../../deno.json" with { type: "json" };
import { runProgram } from "../helpers/programs.ts";

/** Returns the version that a program prints, or `undefined` if it is not installed. */
export async function programVersion(program: string): Promise<string | undefined> {
  const result = await runProgram(program, "--version");
  return result && (/\d+(\.\d+)+/.exec(result.stdout)?.[0] ?? "of unknown version");
}

/** Returns the name of an imported package and its version in `deno.lock`. */
function packageVersion(specifier: string, locked: Record<string, string>): string {
  const imports: Record<string, string> = { ...deno.imports, ...deno.scopes["./tests/"] };
  const [requirement, name] = /^npm:((?:@[^/]+\/)?[^@/]+)@[^/]+/.exec(imports[specifier] ?? "") ??
    [];
  const version = locked[requirement ?? ""];
  if (version === undefined) {
    throw new Error(`${specifier} is not in deno.lock`);
  }
  return specifier.startsWith(name!) ? `${name} ${version}` : `${specifier} (${name} ${version})`;
}

/** Lists the versions of Weir, Deno, programs and packages. */
export async function versionsOf(
  programs: ReadonlyMap<string, string>,
  packages: readonly string[],
): Promise<string> {
  const { specifiers } = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)),
  );
  return [
    `Weir ${VERSION}`,
    `Deno ${Deno.version.deno}`,
    ...[...programs].map(([program, version]) => `${program} ${version}`),
    ...packages.map((specifier) => packageVersion(specifier, specifiers)),
  ].join(", ");
}
