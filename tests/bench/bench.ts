/**
 * Measures Weir, and prints the figures as one table in Markdown, with the versions under it. Run it as
 * `deno task bench`; arguments, such as `csv edge`, are the parts to measure. What is being measured
 * is said on standard error.
 */
import type { Figure, Runtime } from "./figure.ts";
import { checkPrograms, PARTS, readParts, taskOf } from "./parts.ts";
import { type PartFigure, tableOf } from "./table.ts";
import { programVersion, versionsOf } from "./versions.ts";

const ROOT = new URL("../..", import.meta.url);
const CONFIG = ["--config", "tests/deno.json"];

/** Runs a program of the project's folder, and gives what it writes; undefined where it fails. */
async function outputOf(program: string, ...args: string[]): Promise<string | undefined> {
  const command = new Deno.Command(program, { args, cwd: ROOT, stderr: "inherit" });
  const { success, stdout } = await command.output();
  return success ? new TextDecoder().decode(stdout) : undefined;
}

/** Runs a bench in a process of its own. */
async function figuresOf(bench: string, runtime: Runtime, folder: string): Promise<Figure[]> {
  const file = `tests/bench/${bench}`;
  const deno = Deno.execPath();
  let written: string | undefined;
  if (runtime === "Deno") {
    written = await outputOf(deno, "run", "--quiet", "--allow-all", ...CONFIG, file);
  } else {
    const bundle = `${folder}/${bench}.mjs`;
    const made = ["--quiet", ...CONFIG, "--platform", "browser", "--output", bundle, file];
    const isMade = await outputOf(deno, "bundle", ...made) !== undefined;
    written = isMade ? await outputOf("node", bundle) : undefined;
  }
  if (written !== undefined) return written.trimEnd().split("\n").map((line) => JSON.parse(line));
  return [{
    what: bench,
    runtime,
    figure: "not measured: it failed",
    asked: "figures",
    met: false,
  }];
}

/** Measures the parts, and prints their table; says whether all of them could be measured. */
async function bench(names: readonly string[]): Promise<boolean> {
  const parts = names.map((name) => ({ name, ...PARTS[name]! }));
  const versions = new Map<string, string>();
  for (const program of new Set(parts.flatMap(({ programs }) => programs))) {
    const version = await programVersion(program);
    if (version !== undefined) versions.set(program, version);
  }
  checkPrograms(names, new Set(versions.keys()));
  const figures: PartFigure[] = [];
  const folder = await Deno.makeTempDir();
  try {
    for (const { name, benches, runtimes } of parts) {
      for (const bench of benches) {
        for (const runtime of runtimes) {
          console.error(`${name}: ${bench}`);
          const measured = await figuresOf(bench, runtime, folder);
          figures.push(...measured.map((figure) => ({ part: name, ...figure })));
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const packages = parts.flatMap(({ packages }) => packages);
  console.log(tableOf(figures));
  console.log(
    `\n\`${taskOf(names)}\` on ${navigator.hardwareConcurrency} cores: ` +
      `${await versionsOf(versions, packages)}.`,
  );
  return figures.every(({ asked }) => asked !== "figures");
}

try {
  if (!await bench(readParts(Deno.args))) Deno.exit(1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(2);
}
