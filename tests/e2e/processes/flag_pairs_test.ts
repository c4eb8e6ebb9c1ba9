// The result of every pair of flags of the commands that download rows, compared with records in
// tests/fixtures/transcripts. They write files, so they need more permissions than the unit tests.
import { FORMAT_NAMES } from "../../helpers/formats.ts";
import { assertGolden } from "../../helpers/golden.ts";
import { summaryOf, tabulate } from "../../helpers/transcript.ts";

/** Each flag of `weir records` that concerns the query or the output, with a valid value. */
const QUERY = [
  ...["--select=Id,DOI", "--filter=LocationId gt 1001", "--doi=10.25976/weir-aa00"],
  ...["--characteristic=pH", "--region=hub.pacific", "--from=2015", "--to=2020"],
  ...["--bbox=-120,40,-60,70", "--top=7", "--limit=3", "--unchecked"],
];
const OUTPUT = [
  ...["--format=ndjson", "--output=a.csv", "--resume", "--force", "--allow-incomplete"],
  ...["--count", "--cite=c.txt", "--separator=;", "--no-header", "--bom", "--escape-formulas"],
  "--quiet",
];
const SERVICE = ["--base-url=https://other.example/v1/odata/v4", "--qa", "--sandbox"];

function pairsOf(flags: readonly string[]): string[][] {
  return flags.flatMap((flag, index) => [
    [flag],
    ...flags.slice(index + 1).map((other) => [flag, other]),
  ]);
}

/**
 * Runs each command line in a new folder, and describes its result and the files in the folder.
 *
 * @param before Texts of the files to create before each run, by name
 */
async function tabulateFiles(
  lines: readonly (readonly string[])[],
  before: Record<string, string> = {},
): Promise<string> {
  let table = "";
  for (const line of lines) {
    await Deno.mkdir("tests/tmp", { recursive: true });
    const folder = await Deno.makeTempDir({ dir: "tests/tmp" });
    try {
      for (const [name, text] of Object.entries(before)) {
        await Deno.writeTextFile(`${folder}/${name}`, text);
      }
      const inFolder = line.map((text) =>
        text.replace(/^--(output|cite)=(?![-/])/, `$&${folder}/`)
      );
      table += await tabulate([{ line: inFolder, folder }], () => describeFiles(folder));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  return table;
}

function describeFiles(folder: string): string {
  // The records of finished files have the version of weir.
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => !name.endsWith(".datapackage.json")).sort();
  return names.map((name) => summaryOf(name, Deno.readTextFileSync(`${folder}/${name}`)))
    .join(" | ");
}

Deno.test("weir records accepts or rejects each pair of flags", async () => {
  const lines = [...pairsOf([...QUERY, ...OUTPUT]), ...pairsOf(SERVICE.slice(0, 2))];
  lines.push(
    ["--base-url=https://other.example/v1", "--sandbox"],
    ["--qa", "--sandbox"],
    ["--sandbox", "--count"],
  );
  const table = await tabulateFiles([[], ...lines].map((flags) => ["records", ...flags]));
  await assertGolden(table, "transcripts/records_pairs.txt");
});

const FILES = [
  ...["--resume", "--force", "--count", "--quiet", "--limit=3", "--format=ndjson"],
  ...["--cite=c.txt", "--cite=a.csv", "--cite=a.csv.part", "--cite=a.csv.part.json", "--cite=-"],
  "--cite=a.csv.datapackage.json",
];

for (
  const [state, before] of Object.entries<Record<string, string>>({
    missing: {},
    present: { "a.csv": "old rows", "c.txt": "old citations" },
  })
) {
  Deno.test(`weir records --output accepts or rejects each pair of flags when the file is ${state}`, async () => {
    const lines = [[], ...pairsOf(FILES)].map((flags) => ["records", "--output=a.csv", ...flags]);
    await assertGolden(await tabulateFiles(lines, before), `transcripts/files_${state}.txt`);
  });
}

Deno.test("weir accepts or rejects each output when the rows are on standard output", async () => {
  const streams = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
  const lines = streams.flatMap((stream) => [
    ["records", "--limit=1", `--output=${stream}`, "--cite=c.txt"],
    ["records", "--limit=1", `--output=${stream}`, "--cite=-"],
    ["records", "--limit=1", "--output=a.csv", `--cite=${stream}`],
    ["records", "--limit=1", `--cite=${stream}`],
    ["records", "--limit=1", `--output=${stream}`, "--resume"],
    ["records", "--limit=1", `--output=${stream}`, "--force"],
  ]);
  lines.push(
    ["records", "--limit=1", "--output=none/a.csv"],
    ["records", "--limit=1", "--output=a.csv", "--cite=none/c.txt"],
    ["records", "--doi=10.25976/none", "--output=a.csv", "--cite=c.txt"],
    ["records", "--limit=0", "--output=a.csv", "--cite=c.txt"],
    ["records", "--limit=1", "--output=a.csv", "--cite=a.csv", "--count"],
  );
  await assertGolden(await tabulateFiles(lines), "transcripts/outputs.txt");
});

Deno.test("weir observations, locations and metadata accept or reject each flag and format", async () => {
  const flags = [...QUERY, ...OUTPUT];
  const lines = [
    ...["observations", "locations", "metadata"].flatMap((command) => [
      [command],
      ...flags.map((flag) => [command, flag]),
      ...FORMAT_NAMES.map((format) => [command, `--output=a.${format}`]),
      ...FORMAT_NAMES.map((format) => [command, `--output=a.csv`, `--format=${format}`]),
    ]),
    ...flags.filter((flag) => !flag.startsWith("--format"))
      .map((flag) => ["locations", "--format=geojson", flag.replace("Id,DOI", "Id,Latitude")]),
    ...FORMAT_NAMES.map((format) => ["records", `--output=a.${format.toUpperCase()}`]),
    ["records", "--output=a.jsonl"],
    ["records", "--output=a"],
    ["records", "--output=a.csv.txt"],
    ["records", "--output=a.txt", "--format=csv"],
  ];
  await assertGolden(await tabulateFiles(lines), "transcripts/resource_flags.txt");
});
