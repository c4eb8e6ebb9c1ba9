import type { RuntimeName } from "./measurement.ts";

/** A group of benchmarks. */
export interface Suite {
  /** Names of the benchmark files; each runs in a separate process. */
  files: readonly string[];
  runtimes: readonly RuntimeName[];
  /** Programs that the suite runs in addition to Deno. */
  programs: readonly string[];
  /** Import specifiers of the packages that Weir is compared with. */
  packages: readonly string[];
}

/** The suites by the names that `deno task bench` accepts. */
export const SUITES: Readonly<Record<string, Suite>> = {
  endpoint: {
    files: ["endpoint_bench.ts"],
    runtimes: ["Deno", "Node"],
    programs: ["node"],
    packages: ["@octokit/endpoint"],
  },
  csv: {
    files: ["csv_bench.ts", "csv_memory_bench.ts"],
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
  query: {
    files: ["query_bench.ts"],
    runtimes: ["Deno", "Node"],
    programs: ["node"],
    packages: [],
  },
  edge: { files: ["edge_bench.ts"], runtimes: ["Deno"], programs: [], packages: [] },
  cli: {
    files: ["cli_bench.ts"],
    runtimes: ["Deno"],
    programs: ["bash", "curl", "jq"],
    packages: [],
  },
  startup: {
    files: ["startup_bench.ts"],
    runtimes: ["Deno"],
    programs: ["node", "bash"],
    packages: ["@octokit/endpoint"],
  },
};

/**
 * Parses the arguments of `deno task bench`.
 *
 * @param names Names of suites; an empty list selects all suites
 * @returns The names in the order of `SUITES`
 * @throws {Error} If a name is unknown
 */
export function parseSuiteNames(names: readonly string[]): string[] {
  const all = Object.keys(SUITES);
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    throw new Error(`Unknown suite "${unknown}": use ${all.join(", ")}`);
  }
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}

/**
 * Checks that the programs of suites are installed.
 *
 * @throws {Error} If one is not installed; the message has the command that runs the other suites
 */
export function checkPrograms(names: readonly string[], installed: ReadonlySet<string>): void {
  const findMissing = (name: string) =>
    SUITES[name]!.programs.filter((program) => !installed.has(program));
  const blocked = names.filter((name) => findMissing(name).length > 0);
  if (blocked.length === 0) return;
  const programs = [...new Set(blocked.flatMap(findMissing))].join(", ");
  const others = names.filter((name) => !blocked.includes(name));
  const alternative = others.length === 0 ? "" : `, or run ${formatCommand(others)}`;
  throw new Error(
    `Programs of the suites ${blocked.join(", ")} are missing: install ${programs}${alternative}`,
  );
}

/** Formats the command that runs suites. */
export function formatCommand(names: readonly string[]): string {
  const all = names.length === Object.keys(SUITES).length;
  return ["deno task bench", ...(all ? [] : names)].join(" ");
}
