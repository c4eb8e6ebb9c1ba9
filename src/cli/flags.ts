/** A flag of a command. */
export interface Flag {
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
export const QUERY_FLAGS = {
  select: { value: "A,B,C", help: "fields, in order (default: all; see weir fields)" },
  ...FILTER_FLAGS,
  top: { value: "N", help: "rows on a page, 1 to 10000; not the number of rows, that is --limit" },
  limit: { value: "N", letter: "n", help: "the number of rows (default: all)" },
  unchecked: { help: "let fields and filters through that weir does not know" },
} as const satisfies Flags;

/** How they are split, for the large resources. */
export const PARTITION_FLAGS = {
  partition: {
    value: "HOW",
    help: "auto, never, location or year: past a million rows (default: auto)",
  },
} as const satisfies Flags;

/** Where rows go, and how. */
export const OUTPUT_FLAGS = {
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
export const COMMON_FLAGS = {
  help: { letter: "h", isList: true, help: "this text" },
  version: { letter: "V", isList: true, help: "the version of weir" },
} as const satisfies Flags;
