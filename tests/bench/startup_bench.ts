/**
 * Measures the CPU time of imports of the npm package, and of commands in Node and Deno. It builds the
 * package, and copies it and `@octokit/endpoint` to a temporary folder.
 */
import { MAIN } from "../helpers/command_line.ts";
import { PROJECT } from "../helpers/project.ts";
import { formatNumber, logProgress, median, report, type RuntimeName } from "./measurement.ts";
import { baseUrlOf, startSandbox } from "./processes.ts";

const ROUNDS = 21;
const OCTOKIT = "@octokit/endpoint";

/** Prints the CPU time (ms) of an import. */
const IMPORT_PROGRAM = `
const before = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);`;

/** Prints the CPU time (s) of a command as two numbers: in user mode and in the kernel. */
const TIME_SCRIPT = `TIMEFORMAT="%3U %3S"; time "$@" > /dev/null 2> /dev/null`;

/** Runs a program and returns what it prints. */
async function outputOf(program: string, args: string[], cwd: string): Promise<string> {
  const command = new Deno.Command(program, {
    args,
    cwd,
    env: {
      DATASTREAM_API_KEY: "sandbox",
      DENO_NO_UPDATE_CHECK: "1",
      WEIR_REQUESTS_PER_SECOND: "Infinity",
    },
    stdin: "null",
  });
  const { success, stdout, stderr } = await command.output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (!success) throw new Error(`Failed: ${program} ${args.join(" ")}: ${text}`);
  return text;
}

/** Builds the npm package and installs it in a folder, with the package that it is compared with. */
async function install(folder: string): Promise<void> {
  await outputOf(Deno.execPath(), ["task", "--quiet", "pack"], PROJECT);
  const importer = "tests/bench/endpoint_bench.ts";
  const info = await outputOf(Deno.execPath(), ["info", "--quiet", "--json", importer], PROJECT);
  const { npmPackages } = JSON.parse(info);
  const packages: { name: string; localPath: string }[] = [
    { name: "@weir/datastream", localPath: `${PROJECT}dist/package` },
    ...Object.values<{ name: string; localPath: string }>(npmPackages),
  ];
  for (const { name, localPath } of packages) {
    const target = `${folder}/node_modules/${name}`;
    await outputOf("mkdir", ["-p", target], folder);
    await outputOf("cp", ["-r", `${localPath}/.`, target], folder);
  }
}

/** Runs measurements in turn; returns the values of each, in the order of the rounds. */
async function alternate<Name extends string>(
  measurements: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number[]>> {
  const entries = Object.entries<() => Promise<number>>(measurements);
  const values = Object.fromEntries(entries.map(([name]) => [name, [] as number[]]));
  // The first round fills the caches of the operating system and of Deno.
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, measure] of entries) {
      const value = await measure();
      if (round >= 0) values[name]!.push(value);
    }
  }
  return values as Record<Name, number[]>;
}

/** Reports the median ratio of two measurements, and their medians. */
function reportRatio(
  name: string,
  runtime: RuntimeName,
  values: readonly number[],
  others: readonly number[],
): void {
  const ratio = median(values.map((value, round) => value / others[round]!));
  const both = `(${formatNumber(median(values))} and ${formatNumber(median(others))} ms)`;
  report({ name, runtime, value: `${formatNumber(ratio)} times ${both}` });
}

/** Measures the imports of entry points in Node. */
async function measureImports(folder: string): Promise<void> {
  logProgress("imports");
  const program = `${folder}/import.mjs`;
  await Deno.writeTextFile(program, IMPORT_PROGRAM);
  const timeOf = (specifier: string) => async () =>
    Number(await outputOf("node", [program, specifier], folder));
  const entries = ["", "/endpoint", "/edge", "/cli"].map((path) => `@weir/datastream${path}`);
  const values = await alternate(
    Object.fromEntries([OCTOKIT, ...entries].map((name) => [name, timeOf(name)])),
  );
  for (const entry of entries) {
    reportRatio(
      `import of ${entry}, compared with ${OCTOKIT}`,
      "Node",
      values[entry]!,
      values[OCTOKIT]!,
    );
  }
}

/** Measures commands in a runtime. */
async function measureCommands(
  runtime: RuntimeName,
  weir: string[],
  empty: string[],
  folder: string,
): Promise<void> {
  logProgress(`commands in ${runtime}`);
  await using service = await startSandbox(100, 1e6);
  const commands = {
    "weir --help": ["--help"],
    "weir --version": ["--version"],
    "weir records --sandbox --limit 1": ["records", "--sandbox", "--limit", "1"],
    "weir records, 100 rows from loopback": ["records", `--base-url=${baseUrlOf(service)}`],
  };
  const timeOf = (command: string[]) => async () => {
    const printed = await outputOf("bash", ["-c", TIME_SCRIPT, "bash", ...command], folder);
    const [user, system] = printed.trim().split(" ").map(Number);
    return 1000 * (user! + system!);
  };
  const entries = Object.entries(commands).map((
    [name, args],
  ) => [name, timeOf([...weir, ...args])]);
  const values = await alternate({ empty: timeOf(empty), ...Object.fromEntries(entries) });
  for (const name of Object.keys(commands)) {
    reportRatio(`${name}, compared with an empty program`, runtime, values[name]!, values.empty);
  }
}

const folder = await Deno.makeTempDir();
try {
  await install(folder);
  await measureImports(folder);
  const bin = `${folder}/node_modules/@weir/datastream/lib/bin.js`;
  await measureCommands("Node", ["node", bin], ["node", "-e", "0"], folder);
  const deno = [Deno.execPath(), "run", "--quiet", "--allow-all"];
  const empty = `${folder}/empty.mjs`;
  await Deno.writeTextFile(empty, "");
  await measureCommands("Deno", [...deno, MAIN], [...deno, empty], folder);
} finally {
  await Deno.remove(folder, { recursive: true });
}
