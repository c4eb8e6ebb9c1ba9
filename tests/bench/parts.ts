import type { Runtime } from "./figure.ts";

/** A part of the table. */
export interface Part {
  /** Its benches, each a process of its own. */
  benches: readonly string[];
  runtimes: readonly Runtime[];
  /** The programs that it runs, beside Deno. */
  programs: readonly string[];
  /** The packages that Weir is measured beside, as they are imported. */
  packages: readonly string[];
}

/** What can be measured, by the name that `deno task bench` takes. */
export const PARTS: Readonly<Record<string, Part>> = {
  endpoint: {
    benches: ["endpoint_bench.ts"],
    runtimes: ["Deno", "Node"],
    programs: ["node"],
    packages: ["@octokit/endpoint"],
  },
  csv: {
    benches: ["csv_bench.ts", "csv_memory_bench.ts"],
    runtimes: ["Deno", "Node"],
    programs: ["node"],
    packages: [
      "@std/csv/stringify",
      "csv-stringify/sync",
      "papaparse",
      "@json2csv/plainjs",
      "d3-dsv",
    ],
  },
  edge: { benches: ["edge_bench.ts"], runtimes: ["Deno"], programs: [], packages: [] },
  cli: {
    benches: ["cli_bench.ts"],
    runtimes: ["Deno"],
    programs: ["bash", "curl", "jq"],
    packages: [],
  },
};

/**
 * The parts to measure, by their names; without one, all.
 *
 * @throws {Error} If there is no part of a name
 */
export function readParts(names: readonly string[]): string[] {
  const all = Object.keys(PARTS);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new Error(`wanted parts out of ${all.join(", ")}, got "${unknown}": name one of these`);
  }
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}

/**
 * Asks for the programs that the parts run.
 *
 * @throws {Error} If one is not installed; it says how to do without
 */
export function checkPrograms(names: readonly string[], installed: ReadonlySet<string>): void {
  const lacking = (name: string) =>
    PARTS[name]!.programs.filter((program) => !installed.has(program));
  const stopped = names.filter((name) => lacking(name).length > 0);
  if (stopped.length === 0) return;
  const programs = [...new Set(stopped.flatMap(lacking))].join(", ");
  const others = names.filter((name) => !stopped.includes(name));
  const without = others.length === 0 ? "" : `, or measure the others: ${taskOf(others)}`;
  throw new Error(
    `not installed: ${programs}, which ${
      stopped.join(", ")
    } run: install what is missing${without}`,
  );
}

/** The command that measures the parts. */
export function taskOf(names: readonly string[]): string {
  const all = names.length === Object.keys(PARTS).length;
  return ["deno task bench", ...(all ? [] : names)].join(" ");
}
