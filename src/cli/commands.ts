import type { ResourceName } from "../odata/resources.ts";
import { KEY_SOURCE } from "../service_roots.ts";

/** A flag of a command. */
interface Flag {
  /** What stands for its value in the help; undefined of one that is there or not. */
  value?: string;
  /** Whether it may be given more than once. */
  isList?: boolean;
  /** Its one letter, after one minus sign. */
  letter?: string;
  /** What it does, for the help. */
  help: string;
}

/** Flags by their names, as they are typed after `--`. */
export type Flags = Readonly<Record<string, Flag>>;

/** What to filter by; joined by `and`. */
export const FILTER_FLAGS = {
  filter: { value: '"…"', help: "an OData filter: \"MonitoringLocationType eq 'Lake/Pond'\"" },
  doi: {
    value: "DOI",
    isList: true,
    help: "a dataset, or its https://doi.org/ link; again for more",
  },
  characteristic: {
    value: "NAME",
    isList: true,
    help: 'what was measured, as "pH"; again for more',
  },
  region: {
    value: "ID",
    isList: true,
    help: "a region, as admin.4.ca.pe or hub.atlantic; again for more",
  },
  from: {
    value: "YEAR",
    help: "the first year of the activity; excludes rows without a start date",
  },
  to: { value: "YEAR", help: "the last year of the activity; excludes rows without a start date" },
  bbox: { value: "W,S,E,N", help: "the box that locations lie in, in degrees" },
} as const satisfies Flags;

/** Whom to ask. */
export const SERVICE_FLAGS = {
  "base-url": {
    value: "URL",
    help: "another root address of the service (or DATASTREAM_BASE_URL)",
  },
  qa: { help: "the service's test system" },
  sandbox: { help: "synthetic data in process: no key, no network" },
} as const satisfies Flags;

/** What rows to ask for. */
const QUERY_FLAGS = {
  select: { value: "A,B,C", help: "fields, in order (default: all; see weir fields)" },
  ...FILTER_FLAGS,
  top: { value: "N", help: "rows on a page, 1 to 10000; not the number of rows, that is --limit" },
  limit: { value: "N", letter: "n", help: "the number of rows (default: all)" },
  unchecked: { help: "let fields and filters through that weir does not know" },
} as const satisfies Flags;

/** How they are split, for the large resources. */
const PARTITION_FLAGS = {
  partition: {
    value: "HOW",
    help: "auto, never, location or year: past a million rows (default: auto)",
  },
} as const satisfies Flags;

/** Where rows go, and how. */
const OUTPUT_FLAGS = {
  format: {
    value: "FORMAT",
    help: "csv, ndjson, json; geojson of locations (default: by the file's name, else csv)",
  },
  output: {
    value: "FILE",
    letter: "o",
    help: "write to FILE, as FILE.part until it is whole; - is standard output",
  },
  resume: { help: "go on with FILE.part, from its last whole page" },
  force: { help: "overwrite FILE, and a FILE.part that is there" },
  "allow-incomplete": {
    help: "accept fewer rows than the service counted, and say how many are missing",
  },
  count: { help: "print the number of rows, and nothing else" },
  cite: { value: "FILE", help: "write the citations of the datasets to FILE" },
  separator: { value: "MARK", help: 'between cells of CSV: one mark, or "tab" (default: ,)' },
  "no-header": { help: "CSV without a line of names" },
  bom: { help: "CSV with a byte order mark, by which Excel knows UTF-8" },
  "escape-formulas": { help: "CSV with a ' before what a spreadsheet would run" },
  quiet: { letter: "q", help: "no progress and no citations on standard error" },
} as const satisfies Flags;

/** Of every command. */
const COMMON_FLAGS = {
  help: { letter: "h", isList: true, help: "this text" },
  version: { letter: "V", isList: true, help: "the version of weir" },
} as const satisfies Flags;

/** The resources, by the names of the commands that download them. */
export const RESOURCE_COMMANDS = {
  metadata: "Metadata",
  locations: "Locations",
  observations: "Observations",
  records: "Records",
} as const satisfies Record<string, ResourceName>;

/** The name of a resource, as it is typed. */
type ResourceCommand = keyof typeof RESOURCE_COMMANDS;

/** A command: what it takes, and its help. */
export interface CommandText {
  /** One line on what it does. */
  summary: string;
  /** What stands after the command beside flags; undefined is nothing. */
  operand?: { name: string; help: string };
  flags: Flags;
  examples: readonly string[];
}

const resources = Object.keys(RESOURCE_COMMANDS).join("|");
const large = { ...QUERY_FLAGS, ...PARTITION_FLAGS, ...OUTPUT_FLAGS, ...SERVICE_FLAGS };
const small = { ...QUERY_FLAGS, ...OUTPUT_FLAGS, ...SERVICE_FLAGS };

/** The commands in the order of the help. */
export const COMMANDS = {
  records: {
    summary: "records with all columns of dataset and location, meant for CSV",
    flags: large,
    examples: [
      "weir records --characteristic pH --from 2015 --output ph.csv",
      "weir records --doi 10.25976/xxxx-xx00 --output records.csv --resume",
      "weir records --filter \"MonitoringLocationType eq 'Lake/Pond'\" --select Id,ResultValue | head",
    ],
  },
  observations: {
    summary: "what was measured, by the Id of its location",
    flags: large,
    examples: [
      "weir observations --region admin.4.ca.pe --count",
      "weir observations --bbox=-64.5,45.9,-62,47.1 --format ndjson --output box.ndjson",
    ],
  },
  locations: {
    summary: "monitoring locations",
    flags: small,
    examples: [
      "weir locations --region hub.atlantic --output atlantic.geojson",
      "weir locations --doi 10.25976/xxxx-xx00 --select Id,Name,Latitude,Longitude",
    ],
  },
  metadata: {
    summary: "datasets: name, citation, licence, extent",
    flags: small,
    examples: ["weir metadata --select DOI,DatasetName", "weir metadata --characteristic Arsenic"],
  },
  cite: {
    summary: "how to cite the datasets that meet a filter; use of the data requires it",
    flags: {
      ...FILTER_FLAGS,
      format: { value: "FORMAT", help: "txt or json (default: txt)" },
      ...SERVICE_FLAGS,
    },
    examples: ["weir cite --characteristic pH --region hub.pacific", "weir cite --format json"],
  },
  fields: {
    summary: "what can be selected and filtered by",
    operand: { name: resources, help: "the resource" },
    flags: {},
    examples: ["weir fields records"],
  },
  url: {
    summary: "the first request's URL, encoded; nothing is sent",
    operand: { name: resources, help: "the resource" },
    flags: {
      ...QUERY_FLAGS,
      "base-url": SERVICE_FLAGS["base-url"],
      qa: SERVICE_FLAGS.qa,
    },
    examples: ["weir url records --doi 10.25976/xxxx-xx00 --select Id,ResultValue"],
  },
  sign: {
    summary: "a download URL of an edge function, signed with WEIR_SIGNING_SECRET",
    operand: { name: "URL", help: "the download URL, in single quotes" },
    flags: {
      expires: {
        value: "WHEN",
        help: "a date, as 2027-01-31, or a time from now, as 12h, 7d or 4w (default: 7d)",
      },
    },
    examples: [
      "weir sign 'https://weir.example/Records.csv?$filter=DOI eq '\\''10.25976/xxxx-xx00'\\''' --expires 30d",
    ],
  },
  setup: {
    summary: "keep an API key in a file that only you can read",
    flags: {},
    examples: ["weir setup", "weir setup < key.txt"],
  },
} as const satisfies Record<string, CommandText>;

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS;

/** The flags of a command, its own and those of all. */
export function flagsOf(command: CommandName): Flags {
  return { ...COMMANDS[command].flags, ...COMMON_FLAGS };
}

/** The help of the whole program. */
export function programHelp(): string {
  const names = Object.keys(COMMANDS) as CommandName[];
  return `weir: Canada's open water-quality data from the DataStream service

  weir COMMAND [flags]

${table(names.map((name) => [name, COMMANDS[name].summary]))}

  weir help COMMAND, or --help after it, lists its flags. --version prints the version.

The API key is read from the environment variable DATASTREAM_API_KEY, else from the file that
weir setup writes. Ask for one at ${KEY_SOURCE}.
To try without one: weir records --sandbox --limit 5

Deno, Bun, Node 24.14 or later, and with NODE_USE_ENV_PROXY=1 also Node 22.21 or later use the
proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Older versions of Node ignore it.

Exit codes: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted.
`;
}

/** The help of a command. */
export function commandHelp(name: CommandName): string {
  const { summary, operand, examples }: CommandText = COMMANDS[name];
  return `weir ${name}: ${summary}

  weir ${name}${operand ? ` ${operand.name}` : ""} [flags]

${
    table(
      Object.entries(flagsOf(name) as Flags).map(([flag, { value, help, letter }]) => [
        `${letter ? `-${letter}, ` : ""}--${flag}${value ? ` ${value}` : ""}`,
        help,
      ]),
    )
  }

${examples.map((example) => `  ${example}`).join("\n")}
`;
}

/** Two columns, the second in line. */
function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 3;
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`).join("\n");
}
