/**
 * Measures Weir, and prints the figures as one table in Markdown, with the versions under it. Run it as
 * `deno task bench`; arguments, such as `csv edge`, are the parts to measure. What is being measured
 * is said on standard error.
 */
import { PROJECT } from "../helpers/project.ts";
import type { Figure, Runtime } from "./figure.ts";
import { checkPrograms, type Part, PARTS, readParts, taskOf } from "./parts.ts";
import { type PartFigure, tableOf } from "./table.ts";
import { programVersion, versionsOf } from "./versions.ts";

const CONFIG = ["--config", "tests/deno.json"];

/** Runs a program in the project's folder; what it says on standard error is passed on. */
async function run(
  program: string,
  ...args: string[]
): Promise<{ success: boolean; output: string }> {
  const command = new Deno.Command(program, { args, cwd: PROJECT, stderr: "inherit" });
  const { success, stdout } = await command.output();
  return { success, output: new TextDecoder().decode(stdout) };
}

/** Runs a bench in a process of its own; for Node it is made into one file first. */
async function runBench(
  bench: string,
  runtime: Runtime,
  folder: string,
): Promise<{ success: boolean; figures: Figure[] }> {
  const file = `tests/bench/${bench}`;
  const deno = Deno.execPath();
  let ran: Awaited<ReturnType<typeof run>>;
  if (runtime === "Deno") {
    ran = await run(deno, "run", "--quiet", "--allow-all", ...CONFIG, file);
  } else {
    const bundle = `${folder}/${bench}.mjs`;
    const made = ["--quiet", ...CONFIG, "--platform", "browser", "--output", bundle, file];
    ran = await run(deno, "bundle", ...made);
    if (ran.success) ran = await run("node", bundle);
  }
  const { success, output } = ran;
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  const figures: Figure[] = lines.map((line) => JSON.parse(line));
  const failed = { what: `the rest of ${bench}`, runtime, figure: "not measured: it failed" };
  return { success, figures: success ? figures : [...figures, failed] };
}

/** The versions of the programs that are installed out of those that the parts run. */
async function installedOf(parts: readonly Part[]): Promise<Map<string, string>> {
  const versions = new Map<string, string>();
  for (const program of new Set(parts.flatMap(({ programs }) => programs))) {
    const version = await programVersion(program);
    if (version !== undefined) versions.set(program, version);
  }
  return versions;
}

/** Measures the parts, and prints their table; says whether all of it could be measured. */
async function measure(names: readonly string[]): Promise<boolean> {
  const parts = names.map((name) => PARTS[name]!);
  const programs = await installedOf(parts);
  checkPrograms(names, new Set(programs.keys()));
  const figures: PartFigure[] = [];
  let isWhole = true;
  const folder = await Deno.makeTempDir();
  try {
    for (const part of names) {
      const { benches, runtimes } = PARTS[part]!;
      for (const bench of benches) {
        for (const runtime of runtimes) {
          console.error(`${part}: ${bench} in ${runtime}`);
          const ran = await runBench(bench, runtime, folder);
          isWhole &&= ran.success;
          figures.push(...ran.figures.map((figure) => ({ part, ...figure })));
        }
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const versions = await versionsOf(programs, parts.flatMap(({ packages }) => packages));
  const cores = navigator.hardwareConcurrency;
  console.log(`${tableOf(figures)}\n\n\`${taskOf(names)}\` on ${cores} cores: ${versions}.`);
  return isWhole;
}

try {
  if (!await measure(readParts(Deno.args))) Deno.exit(1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(2);
}
