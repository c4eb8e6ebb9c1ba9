/**
 * Measures a download of all 44 columns with the command line from a service without a rate limit.
 *
 * Reports rows per second and peak memory, both compared with curl and jq on the same pages, and
 * how peak memory grows with the number of rows.
 */
import { readFileSync } from "node:fs";
import { MAIN } from "../helpers/command_line.ts";
import { formatNumber, logProgress, median, report, requireAtMost } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, type ServerProcess, startSandbox } from "./processes.ts";

const ROUNDS = 3;
const FEW = 100_000;
const MANY = 1_000_000;
const MOST = 5_000_000;
/** Maximum ratio of the peak memory for `MOST` records to that for `FEW`: about 8 bytes per row. */
const MAX_GROWTH = 1.25;

/** Equivalent shell script: jq writes the rows to standard output and the next link to standard error. */
const SHELL_SCRIPT = `
set -o pipefail
url=$1; : > "$2"
while [ -n "$url" ]; do
  url=$(curl --silent --fail --globoff "$url" |
    jq --raw-output '(."@odata.nextLink" // "" | stderr | empty), (.value[] | [.[]] | @csv)' \\
    2>&1 >> "$2" | tr -d '"') || exit 1
done`;

/** Speed and peak memory of a run. */
interface Usage {
  rowsPerSecond: number;
  megabytes: number;
}

/** Returns the largest peak memory (bytes) among a process and its descendants; 0 after its end. */
function largestPeak(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    const peaks = children.filter((child) => child !== "")
      .map((child) => largestPeak(Number(child)));
    return Math.max(peakMemory(pid), ...peaks);
  } catch {
    return 0;
  }
}

/** Measures a program that writes a number of rows. */
async function measure(
  rows: number,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Usage> {
  const started = performance.now();
  const command = new Deno.Command(program, { args, env, stdout: "null", stderr: "inherit" });
  const child = command.spawn();
  let peak = 0;
  const watching = setInterval(() => peak = Math.max(peak, largestPeak(child.pid)), 20);
  const { success } = await child.status;
  clearInterval(watching);
  if (!success) throw new Error(`${program} failed`);
  if (peak === 0) throw new Error("Cannot read peak memory from /proc: run this on Linux");
  const seconds = (performance.now() - started) / 1000;
  return { rowsPerSecond: rows / seconds, megabytes: peak / 1e6 };
}

async function weir(rows: number, service: ServerProcess, folder: string): Promise<Usage> {
  logProgress(`${formatNumber(rows)} records to a file`);
  const args = [
    ...["run", "--quiet", "--allow-all", MAIN, "records", "--partition=never", "--quiet"],
    ...[`--base-url=${baseUrlOf(service)}`, `--output=${folder}/weir.csv`, "--force"],
  ];
  const env = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  return await measure(rows, Deno.execPath(), args, env);
}

async function curlAndJq(service: ServerProcess, folder: string): Promise<Usage> {
  logProgress(`${formatNumber(FEW)} records with curl and jq`);
  const first = `${baseUrlOf(service)}/Records?%24top=10000`;
  return await measure(FEW, "bash", ["-c", SHELL_SCRIPT, "bash", first, `${folder}/curl.csv`]);
}

/** Results of one round. */
interface Round {
  /** Weir with `MANY` records. */
  weirMany: Usage;
  /** Weir with `FEW` records. */
  weirFew: Usage;
  /** curl and jq with `FEW` records; their time per page is constant. */
  curl: Usage;
}

async function compare(folder: string): Promise<void> {
  await using few = await startSandbox(FEW, Infinity);
  await using many = await startSandbox(MANY, Infinity);
  await using most = await startSandbox(MOST, Infinity);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      curl: await curlAndJq(few, folder),
      weirMany: await weir(MANY, many, folder),
      weirFew: await weir(FEW, few, folder),
    });
  }
  const { megabytes } = await weir(MOST, most, folder);
  const medianOf = (take: (round: Round) => number) => median(rounds.map(take));
  const formatBoth = (weir: number, curl: number, unit: string) =>
    `(${formatNumber(weir)} and ${formatNumber(curl)} ${unit})`;

  const ratio = medianOf(({ weirMany, curl }) => weirMany.rowsPerSecond / curl.rowsPerSecond);
  const rate = medianOf(({ weirMany }) => weirMany.rowsPerSecond);
  const curlRate = medianOf(({ curl }) => curl.rowsPerSecond);
  report({
    name: `${formatNumber(MANY)} records to a file, compared with curl and jq`,
    value: `${formatNumber(ratio)} times ${formatBoth(rate, curlRate, "rows/s")}`,
  });
  const peak = medianOf(({ weirMany }) => weirMany.megabytes);
  const curlPeak = medianOf(({ curl }) => curl.megabytes);
  report({
    name: `peak memory for ${formatNumber(MANY)} records, compared with jq`,
    value: `${formatNumber(peak / curlPeak)} times ${formatBoth(peak, curlPeak, "MB")}`,
  });
  const fewPeak = medianOf(({ weirFew }) => weirFew.megabytes);
  report({
    name: `peak memory for ${[FEW, MANY, MOST].map(formatNumber).join(", ")} records`,
    value: `${[fewPeak, peak, megabytes].map(formatNumber).join(", ")} MB (last/first: ${
      formatNumber(megabytes / fewPeak)
    } times)`,
    ...requireAtMost(MAX_GROWTH, [megabytes / fewPeak], " times"),
  });
}

const folder = await Deno.makeTempDir();
try {
  await compare(folder);
} finally {
  await Deno.remove(folder, { recursive: true });
}
