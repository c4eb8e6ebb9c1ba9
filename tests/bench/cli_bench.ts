/**
 * The command line to a file, all 44 columns, from a service without a pace: rows a second and peak
 * memory, beside curl and jq on the same pages, and how its memory grows with the rows.
 */
import { readFileSync } from "node:fs";
import { MAIN } from "../helpers/command_line.ts";
import { atMost, median, report, rounded, say } from "./figure.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, type Served, startService } from "./processes.ts";

const ROUNDS = 3;
const FEW = 100_000;
const MANY = 1_000_000;
const MOST = 5_000_000;
/** How many times the memory of few records that of most may be, to be flat: some 8 bytes a row more. */
const FLAT = 1.25;

/** What people write by hand, its fastest form: jq makes the lines, and tells the next link apart. */
const BY_HAND = `
set -o pipefail
url=$1; : > "$2"
while [ -n "$url" ]; do
  url=$(curl --silent --fail --globoff "$url" |
    jq --raw-output '(."@odata.nextLink" // "" | stderr | empty), (.value[] | [.[]] | @csv)' \\
    2>&1 >> "$2" | tr -d '"') || exit 1
done`;

/** What a run took. */
interface Used {
  rowsPerSecond: number;
  megabytes: number;
}

/** The most memory that one of a process and its descendants has held so far; 0 where it has ended. */
function peakOfAny(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    const below = children.filter((child) => child !== "").map((child) => peakOfAny(Number(child)));
    return Math.max(peakMemory(pid), ...below);
  } catch {
    return 0;
  }
}

/** Runs a program that writes so many rows, and says what it took. */
async function measure(
  rows: number,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Used> {
  const started = performance.now();
  const command = new Deno.Command(program, { args, env, stdout: "null", stderr: "inherit" });
  const child = command.spawn();
  let peak = 0;
  const watching = setInterval(() => peak = Math.max(peak, peakOfAny(child.pid)), 20);
  const { success } = await child.status;
  clearInterval(watching);
  if (!success) throw new Error(`${program} failed`);
  if (peak === 0) throw new Error("no memory was read: it stands in /proc, which Linux alone has");
  const seconds = (performance.now() - started) / 1000;
  return { rowsPerSecond: rows / seconds, megabytes: peak / 1e6 };
}

async function weir(rows: number, service: Served, folder: string): Promise<Used> {
  say(`${rounded(rows)} records to a file`);
  const args = [
    ...["run", "--quiet", "--allow-all", MAIN, "records", "--partition=never", "--quiet"],
    ...[`--base-url=${baseUrlOf(service)}`, `--output=${folder}/weir.csv`, "--force"],
  ];
  const env = { DATASTREAM_API_KEY: "k", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  return await measure(rows, Deno.execPath(), args, env);
}

async function byHand(service: Served, folder: string): Promise<Used> {
  say(`${rounded(FEW)} records by curl and jq`);
  const first = `${baseUrlOf(service)}/Records?%24top=10000`;
  return await measure(FEW, "bash", ["-c", BY_HAND, "bash", first, `${folder}/hand.csv`]);
}

/** The runs of a round, in which all take turns. */
interface Round {
  /** Of many records. */
  ours: Used;
  /** By curl and jq, of few: they take as long for each page, however many there are. */
  theirs: Used;
  /** Of few records. */
  small: Used;
}

async function compare(folder: string): Promise<void> {
  await using few = await startService(FEW, Infinity);
  await using many = await startService(MANY, Infinity);
  await using most = await startService(MOST, Infinity);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const theirs = await byHand(few, folder);
    rounds.push({
      theirs,
      ours: await weir(MANY, many, folder),
      small: await weir(FEW, few, folder),
    });
  }
  const { megabytes } = await weir(MOST, most, folder);
  const middle = (take: (round: Round) => number) => median(rounds.map(take));
  const beside = (ours: number, theirs: number, unit: string) =>
    `(${rounded(ours)} and ${rounded(theirs)} ${unit})`;

  const ratio = middle(({ ours, theirs }) => ours.rowsPerSecond / theirs.rowsPerSecond);
  const rate = middle(({ ours }) => ours.rowsPerSecond);
  const theirRate = middle(({ theirs }) => theirs.rowsPerSecond);
  report({
    what: `${rounded(MANY)} records to a file, beside curl and jq`,
    figure: `${rounded(ratio)} times ${beside(rate, theirRate, "rows/s")}`,
  });
  const peak = middle(({ ours }) => ours.megabytes);
  const theirPeak = middle(({ theirs }) => theirs.megabytes);
  report({
    what: "peak memory of that, beside jq's",
    figure: `${rounded(peak / theirPeak)} times ${beside(peak, theirPeak, "MB")}`,
  });
  const small = middle(({ small }) => small.megabytes);
  report({
    what: `peak memory of ${[FEW, MANY, MOST].map(rounded).join(", ")} records`,
    figure: `${[small, peak, megabytes].map(rounded).join(", ")} MB: the last ${
      rounded(megabytes / small)
    } times the first`,
    ...atMost(FLAT, [megabytes / small], " times"),
  });
}

const folder = await Deno.makeTempDir();
try {
  await compare(folder);
} finally {
  await Deno.remove(folder, { recursive: true });
}
