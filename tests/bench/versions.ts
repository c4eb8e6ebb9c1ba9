import { VERSION } from "../../src/version.ts";
import tests from "../deno.json" with { type: "json" };
import { runProgram } from "../helpers/programs.ts";

/** The version that a program tells; undefined where it is not installed. */
export async function programVersion(program: string): Promise<string | undefined> {
  const told = await runProgram(program, "--version");
  return told && (/\d+(\.\d+)+/.exec(told.stdout)?.[0] ?? "of no version");
}

/** The name and the version of a package that the tests import, as their lock holds it. */
function packageVersion(specifier: string, locked: Record<string, string>): string {
  const imports: Record<string, string> = tests.imports;
  const [asked, name] = /^npm:((?:@[^/]+\/)?[^@/]+)@[^/]+/.exec(imports[specifier] ?? "") ?? [];
  const version = locked[asked ?? ""];
  if (version === undefined) throw new Error(`${specifier} is not in tests/deno.lock: add it`);
  return specifier.startsWith(name!) ? `${name} ${version}` : `${specifier} (${name} ${version})`;
}

/** Weir, the runtimes, the programs and the packages, each with its version. */
export async function versionsOf(
  programs: ReadonlyMap<string, string>,
  packages: readonly string[],
): Promise<string> {
  const { specifiers } = JSON.parse(
    await Deno.readTextFile(new URL("../deno.lock", import.meta.url)),
  );
  return [
    `Weir ${VERSION}`,
    `Deno ${Deno.version.deno}`,
    ...[...programs].map(([program, version]) => `${program} ${version}`),
    ...packages.map((specifier) => packageVersion(specifier, specifiers)),
  ].join(", ");
}
