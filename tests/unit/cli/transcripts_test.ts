// Exit code, stdout, stderr and requests of command lines that need no file, compared with records
// in tests/fixtures/transcripts.
import "../../helpers/reads_fixtures.ts";
import { assertEquals } from "@std/assert";
import { FORMAT_NAMES, FORMAT_SYNONYMS, formatsOf } from "../../helpers/formats.ts";
import { assertGolden } from "../../helpers/golden.ts";
import { COMMAND_NAMES } from "../../helpers/run_weir.ts";
import { record, type Scenario, tabulate, transcribe } from "../../helpers/transcript.ts";
import { VERSION } from "../../helpers/project.ts";

const SECRET = "a secret of a test, of thirty-two bytes";
const TARGET = "https://weir.example/Records.csv?$filter=DOI eq 'x'";
/** The environment without an API key. */
const NO_KEY = { DATASTREAM_API_KEY: "" };

/** Flags of a command that its help lists, with the placeholder of their value. */
async function flagsOf(command: string): Promise<{ name: string; value: string | undefined }[]> {
  const { output } = await record({ line: [command, "--help"] });
  return [...output.matchAll(/^ {2}(?:-\w, )?--([\w-]+)(?: (\S+))? {2,}/gm)]
    .map(([, name, value]) => ({ name: name!, value }));
}

/** Runs with a fixed `Date.now()`. */
async function atTime<T>(time: string, work: () => Promise<T>): Promise<T> {
  const { now } = Date;
  Date.now = () => Date.parse(time);
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}

Deno.test("weir prints the recorded help for the program and for each command", async () => {
  const lines = [["--help"], ...COMMAND_NAMES.map((command) => [command, "--help"])];
  await assertGolden(await transcribe(lines), "transcripts/help.txt");
});

Deno.test("weir prints the same help for every way to request it", async () => {
  const helpOf = async (...line: string[]) => {
    const { code, output, errors, requests } = await record({ line, environment: NO_KEY });
    assertEquals([code, errors, requests], [0, [], []], line.join(" "));
    return output;
  };
  const program = await helpOf("--help");
  for (const line of [[], ["-h"], ["help"]]) assertEquals(await helpOf(...line), program);
  for (const command of COMMAND_NAMES) {
    const help = await helpOf(command, "--help");
    for (const line of [["help", command], [command, "help"], [command, "-h"]]) {
      assertEquals(await helpOf(...line), help, line.join(" "));
    }
    assertEquals(await helpOf(command, "--help", "--help", "-h"), help);
  }
});

Deno.test("weir prints the version for every way to request it", async () => {
  const lines = [
    ["--version"],
    ["-V"],
    ...COMMAND_NAMES.flatMap((command) => [
      [command, "--version"],
      [command, "-V", "--help"],
      [command, "--version", "--version"],
    ]),
  ];
  for (const line of lines) {
    const { code, output, errors } = await record({ line });
    assertEquals([code, output, errors], [0, `${VERSION}\n`, []], line.join(" "));
  }
});

Deno.test("weir rejects every flag without its value, with a needless value, or given twice", async () => {
  const lines: string[][] = [];
  for (const command of COMMAND_NAMES) {
    const operands = ["fields", "url"].includes(command) ? ["records"] : [];
    if (command === "values") operands.push("media");
    if (command === "sign") operands.push(TARGET);
    for (const { name, value } of await flagsOf(command)) {
      const flag = `--${name}`;
      const line = [command, ...operands];
      if (value === undefined) lines.push([...line, `${flag}=yes`], [...line, `${flag}=`]);
      else {
        lines.push([...line, flag], [...line, `${flag}=`], [...line, flag, " "]);
        lines.push([...line, flag, "--quiet"]);
      }
      if (value !== undefined && !/^(doi|characteristic|region|location)$/.test(name)) {
        lines.push([...line, `${flag}=5`, `${flag}=5`]);
      }
    }
  }
  await assertGolden(await tabulate(lines), "transcripts/flag_syntax.txt");
});

const UNKNOWN_FLAGS = [
  ...["box", "bounding-box", "within", "parameter", "analyte", "citations", "dataset", "where"],
  ...["overwrite", ...FORMAT_NAMES, "jsonl", "since", "start", "year", "max"],
  ...["rows", "delimiter", "file", "domain", "host", "url", "test", "silent", "province"],
  ...["continue", "demo", "columns", "fields", "end", "until", "page-size"],
  ...["api-key", "KEY", "Filter", "WHERE", "fliter", "charateristic", "se", "no", "re", "x"],
  ...["zzzzzz", "toString", "filter", "output", "expires", "count", "sandbox", "qa"],
];

Deno.test("weir suggests a flag or a command for each unknown flag", async () => {
  const lines = COMMAND_NAMES.flatMap((command) =>
    UNKNOWN_FLAGS.map((name) => [command, `--${name}`])
  );
  const unknown: string[][] = [];
  for (const line of lines) {
    const known = (await flagsOf(line[0]!)).map(({ name }) => `--${name}`);
    if (!known.includes(line[1]!)) unknown.push(line);
  }
  await assertGolden(await tabulate(unknown), "transcripts/unknown_flags.txt");
});

const UNKNOWN_COMMANDS = [
  ...["recrds", "record", "RECORDS", "citations", "citation", "columns", "schema", "sites"],
  ...["stations", "datasets", "measurements", "results", "download", "get", "key", "login"],
  ...["Datasets", "toString", "__proto__", "banana", "", "-", "--records", "-x", "o", "me", "ur"],
];

Deno.test("weir suggests a command or a resource for each unknown one", async () => {
  const lines = UNKNOWN_COMMANDS.flatMap((name) => [
    [name],
    ["help", name],
    ["fields", name],
    ["url", name],
  ]);
  lines.push(
    ...[["fields"], ["url"], ["sign"], ["help", "records", "more"], ["--help", "records"]],
    ...[["--version", "records"], ["-h", "-h"], ["records", "help", "more"]],
    ...COMMAND_NAMES.map((command) => [command, "one", "two words"]),
    ["fields", "help"],
    ["fields", "records", "help"],
    ["url", "--", "records"],
    ["records", "--", "--count"],
    ["records", "-"],
    ["records", "--filter", "DOI", "eq", "x"],
  );
  await assertGolden(await tabulate(lines), "transcripts/unknown_commands.txt");
});

const CLUSTERS = [
  ["-n2"],
  ["-n=2"],
  ["-n", "2"],
  ["-qn2"],
  ["-nq"],
  ["-qx"],
  ["-x"],
  ["-n"],
  ["-o-", "-n2"],
  ["-qo", "-", "-n2"],
  ["-o=-", "-n2"],
  ["-n2", "--select", "-Id"],
  ["--top", "-1"],
  ["--bbox", "-.5,45,0,50", "-n2"],
  ["--=5"],
  ["---limit=5"],
  ["--limit=5=5"],
  ["--filter=MonitoringLocationType eq 'a=b'"],
  ["-qé"],
];

Deno.test("weir reads letters of flags alone and in clusters", async () => {
  const lines = CLUSTERS.map((flags) => ["records", ...flags]);
  await assertGolden(await tabulate(lines), "transcripts/letters.txt");
});

const NUMBERS = ["0", "1", "-1", "1.5", "1e3", "many", "999999999999999", "1000000000000000"];
const YEARS = ["15", "999", "1000", "9999", "10000", "soon", "-2015"];
const INVALID: Record<string, string[]> = {
  top: [...NUMBERS, "10000", "10001"],
  limit: NUMBERS,
  from: YEARS,
  to: YEARS,
  format: [
    ...[...FORMAT_NAMES, "CSV", "xml", "jsonl", "JSONL", ...Object.keys(FORMAT_SYNONYMS)],
    ...["cvs", "txt"],
  ],
  output: ["a.xlsx", "a.csv.gz", "-", "/dev/stdout", "/dev/fd/1"],
  separator: [
    ...[";", "tab", "\t", "\\t", "|", "TAB", "xx", '"', "a", "5", ".", "-", "\n", "é"],
  ],
  select: ["Id", "Id,DOI", " Id , DOI ", "Id,Id", "Id,,DOI", "id", "Nmae", "LocationId", "*"],
  bbox: [
    ...["-64,46,-62,47", "1,2,3", "1,2,3,4,5", "a,b,c,d", "2,1,1,3", "1,3,2,1", "1,1,1,2"],
    ...["-181,0,0,1", "0,-91,1,1", "0,0,181,1", "0,0,1,91", " -64, 46, -62, 47 ", "1,2,3,"],
  ],
  "base-url": [
    ...["https://other.example/v1", "https://other.example/v1/", "banana", "ftp://other.example"],
    ...["http://other.example/v1", "http://127.0.0.1:4711/v1", "https://other.example/v1?a=b"],
    ...["https://user:word@other.example/v1", "https://other.example/v1#a", "/v1"],
  ],
  doi: [
    ...["10.25976/weir-aa00", "https://doi.org/10.25976/weir-aa00", "DOI:10.25976/weir-aa00"],
    ...["http://dx.doi.org/10.25976/weir-aa00", "doi.org/10.25976/weir-aa00", "it's"],
  ],
  region: ["admin.4.ca.ab", "it's"],
  characteristic: ["Ammonia, total", "it's"],
};

Deno.test("weir accepts or rejects each value of each flag of records", async () => {
  const lines = Object.entries(INVALID).flatMap(([name, values]) =>
    values.map((value) => ["records", "--quiet", `--${name}=${value}`])
  );
  lines.push(
    ["records", "--from=2020", "--to=2010"],
    ["records", "--quiet", "--from=2020", "--to=2020"],
    ["records", "--quiet", "--doi=10.25976/a", "--doi=10.25976/b", "--region=x", "--region=y"],
    ["locations", "--quiet", "--format=geojson", "--select=Id"],
    ["locations", "--quiet", "--format=geojson", "--select=Id,Longitude"],
    ["locations", "--quiet", "--format=geojson", "--select=Longitude,Latitude"],
    ["locations", "--quiet", "--bbox=-181,0,0,1"],
    ["metadata", "--quiet", "--bbox=-120,40,-60,70", "--filter=Name eq 'x'", "--unchecked"],
    ["locations", "--quiet", "--bbox=-120,40,-60,70", "--filter=A or B", "--unchecked"],
    ["locations", "--quiet", "--bbox=-120,40,-60,70", "--filter=Name eq 'x'"],
    ["cite", "--format=csv"],
    ["cite", "--format=json", "--doi=10.25976/weir-aa00"],
  );
  await assertGolden(await tabulate(lines), "transcripts/values.txt");
});

const FILTERS = [
  "DOI eq “10.25976/weir-aa00”",
  "DOI eq ‘10.25976/weir-aa00’",
  "DOI eq ”10.25976/weir-aa00”",
  "DOI eq ’10.25976/weir-aa00’",
  'DOI eq "10.25976/weir-aa00"',
  "DOI ge 'x'",
  "DOI le 'x'",
  "DOI = 'x'",
  "DOI == 'x'",
  "DOI != 'x'",
  "DOI <> 'x'",
  "LocationId < 5",
  "LocationId <= 5",
  "LocationId > 5",
  "LocationId >= 5",
  "DOI EQ 'x'",
  "DOI IN ('x')",
  "DOI eq 'x' AND DOI eq 'y'",
  "DOI eq 'x' or DOI eq 'y'",
  "not DOI eq 'x'",
  "(DOI eq 'x')",
  "DOI eq 'x",
  "DOI eq 'it's'",
  "DOI eq",
  "DOI",
  "DOI eq x",
  "DOI eq 5",
  "LocationId eq 'x'",
  "LocationId eq 5and DOI eq 'x'",
  "DOI in 'x'",
  "DOI in ()",
  "DOI in ('x' 'y')",
  "DOI in('x')",
  "DOI eq'x'",
  "endswith(DOI,'aa00')",
  "endswith(DOI 'aa00')",
  "contains(DOI,'x')",
  "ActivityStartYear eq 2015.5",
  "ActivityStartDate eq '2015-01-31'",
  "CreateTimestamp gt 'x'",
  "CharacteristicNam eq 'pH'",
  "characteristicname eq 'pH'",
  "Latitude gt '5'",
  "ResultValue gt 5",
  "Banana eq 'x'",
  "DOI like 'x'",
  "# eq 5",
];

Deno.test("weir explains each filter that the service would reject", async () => {
  const lines = FILTERS.map((filter) => ["records", "--quiet", "--filter", filter]);
  lines.push(
    ...FILTERS.slice(-9).flatMap((filter) => [
      ["locations", "--quiet", "--filter", filter],
      ["metadata", "--quiet", "--filter", filter],
      ["cite", "--filter", filter],
      ["url", "records", "--unchecked", "--filter", filter],
    ]),
  );
  await assertGolden(await tabulate(lines), "transcripts/filters.txt");
});

Deno.test("weir url prints the URL of each pair of query flags without a request", async () => {
  const flags = [
    ...["--select=Id,DOI", "--filter=LocationId gt 1001", "--doi=10.25976/weir-aa00"],
    ...["--characteristic=pH", "--region=hub.atlantic", "--from=2015", "--to=2020"],
    ...["--bbox=-120,40,-60,70", "--top=7", "--limit=3", "--unchecked"],
    ...["--base-url=https://other.example/v1", "--qa"],
  ];
  const lines = flags.flatMap((flag, index) => [
    ["url", "records", flag],
    ...flags.slice(index + 1).map((other) => ["url", "records", flag, other]),
  ]);
  const rows: string[] = [];
  for (const line of lines) {
    const { code, output, errors, requests } = await record({ line, environment: NO_KEY });
    assertEquals(requests, []);
    const text = code === 0 ? decodeURIComponent(output.trim()) : errors[0];
    rows.push(`${line.slice(2).join(" ")} → ${code} | ${text}\n`);
  }
  await assertGolden(rows.join(""), "transcripts/url_pairs.txt");
});

Deno.test("weir cite requests the filter of each pair of filter flags", async () => {
  const flags = [
    ...["--filter=MonitoringLocationType ne 'Lake/Pond'", "--doi=10.25976/weir-aa00"],
    ...["--characteristic=pH", "--region=hub.atlantic", "--from=2015", "--to=2020"],
    ...["--bbox=-120,40,-60,70", "--format=json", "--base-url=https://other.example/v1"],
  ];
  const lines = [
    ["cite"],
    ...flags.flatMap((flag, index) => [
      ["cite", flag],
      ...flags.slice(index + 1).map((other) => ["cite", flag, other]),
    ]),
  ];
  await assertGolden(await tabulate(lines), "transcripts/cite_pairs.txt");
});

Deno.test("weir fields, url, sign and setup print what was recorded", async () => {
  const signing = { WEIR_SIGNING_SECRET: SECRET };
  const sign = (...more: string[]): Scenario => ({
    line: ["sign", TARGET, ...more],
    environment: signing,
  });
  const text = await atTime("2026-07-15T10:00:00Z", () =>
    transcribe([
      ...["metadata", "locations", "observations", "records"].map((name) => ["fields", name]),
      ["url", "records"],
      ["url", "observations", "--limit=5"],
      ["url", "locations", "--qa"],
      { line: ["url", "metadata"], environment: { DATASTREAM_BASE_URL: "" } },
      { line: ["url", "metadata"], environment: { DATASTREAM_BASE_URL: "banana" } },
      { line: ["url", "metadata", "--qa"], environment: { DATASTREAM_BASE_URL: "banana" } },
      sign(),
      ...["2h", "30d", "4w", "2027-01-31", "2027-01-31T12:30:00Z", "2027-01-31T12:30:00+02:00"]
        .map((when) => sign("--expires", when)),
      "Times that are not accepted",
      ...["soon", "0h", "12", "12H", "9999999h", "2026-07-15", "2026-07-15T10:00:00Z"]
        .map((when) => sign("--expires", when)),
      ...["2027-13-45", "2027-02-30", "2027-1-31", "2027-01-31 10:00", "3001-01-01"]
        .map((when) => sign("--expires", when)),
      "Secrets and URLs that are not accepted",
      ["sign", TARGET],
      { line: ["sign", TARGET], environment: { WEIR_SIGNING_SECRET: "  " } },
      { line: ["sign", TARGET], environment: { WEIR_SIGNING_SECRET: "short" } },
      { line: ["sign", TARGET], environment: { WEIR_SIGNING_SECRET: ` ${SECRET}\n` } },
      { line: ["sign", "/Records.csv"], environment: signing },
      { line: ["sign", `${TARGET}&expires=5`], environment: signing },
      { line: ["sign", `${TARGET}&signature=5`], environment: signing },
      "Keys that are not accepted",
      { line: ["setup"], secret: "" },
      { line: ["setup"], secret: "two words" },
      { line: ["setup"], secret: "clé" },
      { line: ["setup"], secret: " key-of-a-test " },
    ]));
  await assertGolden(text, "transcripts/commands.txt");
});

Deno.test("weir writes the recorded rows in each format, and counts", async () => {
  const text = await transcribe([
    ...formatsOf("Records").map((format) => [
      ...["records", "--quiet", "--limit=3", `--format=${format}`],
      "--select=Id,DOI,CharacteristicName,ResultValue,ResultUnit,ActivityStartDate",
    ]),
    ["locations", "--quiet", "--limit=2", "--format=geojson"],
    ["locations", "--limit=2"],
    ["metadata", "--select=DOI,DatasetName", "--limit=4"],
    ["metadata", "--select=DOI,DatasetName", "--limit=4", "--escape-formulas", "--separator=;"],
    [
      "metadata",
      "--select=DOI,DatasetName",
      "--limit=1",
      "--bom",
      "--no-header",
      "--separator=tab",
    ],
    "Counts",
    ...["records", "observations", "locations", "metadata"].map((name) => [name, "--count"]),
    ["records", "--count", "--quiet", "--doi=10.25976/weir-aa00"],
    ["records", "--count", "--bbox=-120,40,-60,70"],
    ["records", "--count", "--escape-formulas"],
    ["records", "--count", "--doi=10.25976/none"],
    "Results of no rows",
    ["records", "--limit=0"],
    ["records", "--limit=0", "--format=json"],
    ["locations", "--limit=0", "--format=geojson"],
    ["records", "--doi=10.25976/none", "--select=Id"],
    ["records", "--bbox=1,1,2,2", "--select=Id"],
    ["records", "--quiet", "--characteristic=ph", "--select=Id"],
    ["records", "--quiet", "--characteristic=ph", "--doi=10.25976/weir-aa00", "--format=ndjson"],
    ["observations", "--count", "--characteristic=ph", "--qa"],
    {
      line: ["observations", "--count", "--characteristic=ph", "--qa"],
      environment: { WEIR_REQUESTS_PER_SECOND: "2" },
    },
    ["observations", "--count", "--region=Alberta", "--region=AB", "--region=admin.4.ca.ab"],
    {
      line: ["records", "--quiet", "--select=Id"],
      answer: () => Response.json({ value: [] }),
    },
  ]);
  await assertGolden(text, "transcripts/results.txt");
});

Deno.test("weir requests the citations of a download with the recorded filters", async () => {
  const box = "--bbox=-120,40,-60,70";
  const text = await transcribe([
    "By the DOIs of the rows",
    ["records", "--limit=1", "--select=DOI"],
    ["records", "--limit=30", "--select=DOI"],
    ["observations", "--limit=1", "--select=Id,DOI", "--doi=10.25976/weir-bb00"],
    ["records", "--select=DOI", box],
    "By the filter, where DOI is not a column",
    ["records", "--limit=1", "--select=Id"],
    ["records", "--limit=1", "--select=Id", "--doi=10.25976/weir-aa00"],
    ["records", "--limit=1", "--select=Id", box],
    ["observations", "--limit=1", "--select=Id", box, "--doi=10.25976/weir-aa00"],
    ["records", "--limit=1", "--select=Id", "--filter=MonitoringLocationType ne 'Lake/Pond'"],
    ["records", "--limit=1", "--select=Id", "--from=1990", "--filter=DOI ne '10.25976/weir-aa00'"],
    "Without citations",
    ["locations", "--limit=1", "--select=Id"],
    ["metadata", "--limit=1", "--select=DOI"],
    ["records", "--limit=1", "--select=Id", "--quiet"],
    ["records", "--limit=0", "--select=Id"],
    "weir cite",
    ["cite"],
    ["cite", "--format=json", "--doi=10.25976/weir-aa00"],
    ["cite", "--doi=10.25976/none"],
    ["cite", "--characteristic=ph", "--region=Atlantic"],
    ["cite", box],
    ["cite", box, "--filter=ActivityStartYear ne 2015 and DOI ne '10.25976/weir-aa00'"],
    "Citations that fail, after two attempts if the error may pass",
    ...[404, 413].map((status): Scenario => ({
      line: ["records", "--limit=1", "--select=DOI"],
      answer: ({ url }) =>
        url.includes("/Metadata")
          ? Response.json({ message: "no" }, { status })
          : Response.json({ value: [{ DOI: "10.25976/weir-aa00" }] }),
    })),
    ...[3, 4, 5].map((count): Scenario => ({
      line: ["records", `--limit=${count}`, "--select=DOI"],
      answer: ({ url }) =>
        Response.json({
          value: url.includes("/Metadata")
            ? []
            : Array.from({ length: count }, (_, index) => ({ DOI: `10.25976/none-${index}` })),
        }),
    })),
    {
      line: ["records", "--cite=-", "--limit=1", "--select=DOI", "--output=-"],
    },
  ]);
  await assertGolden(text, "transcripts/citations.txt");
});

Deno.test("weir explains each status of the service, and a missing key", async () => {
  const line = ["locations", "--select=Id"];
  const answering = (status: number): Scenario => ({
    line,
    answer: () => Response.json({ message: "no" }, { status }),
  });
  const text = await transcribe([
    ...[400, 401, 403, 404, 405].map(answering),
    { line, environment: NO_KEY },
    { line: ["cite"], environment: NO_KEY },
    { line, environment: { DATASTREAM_API_KEY: "two words" } },
    { line, environment: { DATASTREAM_API_KEY: "wrong" } },
    { line: [...line, "--sandbox", "--limit=1"], environment: NO_KEY },
    { line: [...line, "--sandbox", "--qa"] },
    { line: [...line, "--base-url=https://other.example/v1", "--sandbox"] },
    ...["0", "-1", "fast"].map((rate) => ({
      line,
      environment: { WEIR_REQUESTS_PER_SECOND: rate },
    })),
    { ...answering(403), networkHint: () => "use another runtime" },
    { line, signal: AbortSignal.abort(new Error("interrupted")) },
    { line: ["cite"], signal: AbortSignal.abort(new Error("interrupted")) },
    { line: ["records", "--count"], signal: AbortSignal.abort(new Error("interrupted")) },
  ]);
  await assertGolden(text, "transcripts/faults.txt");
});

const REGION_NAMES = [
  ...["Atlantic", "Great Lakes", "Lake Winnipeg", "Mackenzie", "Pacific", "Alberta"],
  ...["British Columbia", "Manitoba", "New Brunswick", "Newfoundland and Labrador"],
  ...["Nova Scotia", "Northwest Territories", "Nunavut", "Ontario", "Prince Edward Island"],
  ...["Quebec", "Saskatchewan", "Yukon", "AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON"],
  ...["PE", "QC", "SK", "YT", "Québec", "admin.4.ca.AB", "hub.Pacific", "admin.2.ca", "xx"],
];

Deno.test("weir suggests a region for each name of one, and finds rows of each region", async () => {
  const rows: string[] = [];
  for (const name of REGION_NAMES) {
    const { code, errors } = await record({ line: ["locations", "--count", `--region=${name}`] });
    rows.push([name, code, ...errors.slice(0, 1)].join(" | "));
  }
  const { errors } = await record({ line: ["locations", "--count", "--region=xx"] });
  rows.push(errors.at(-1)!);
  const documented = errors.at(-1)!.split(": ")[1]!.split(", ");
  for (const id of documented) {
    // The service of the other scenarios has too few locations.
    const line = ["locations", "--sandbox", "--count", `--region=${id}`];
    const { output } = await record({ line });
    rows.push(`${id} | ${output.trim()} locations`);
  }
  await assertGolden(rows.join("\n") + "\n", "transcripts/regions.txt");
});
