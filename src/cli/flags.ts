// A new flag is declared in one of the objects ..._FLAGS, and read by one of the functions
// read...(); a flag of CSV is a row of CSV. It is in FLAG_NAMES if it sets an option of the client, and
// in QUERY_FLAGS or CSV if it changes the content of a file, so that another value is another file.
import type { AnyResourceQuery } from "../client/query.ts";
import type { CsvOptions } from "../formats/csv.ts";
import {
  type FileFormat,
  FORMAT_NAMES,
  formatOfExtension,
  FORMATS,
  formatsOf,
} from "../formats/formats.ts";
import { parseUnits } from "../formats/units.ts";
import {
  DataStreamError,
  messageFor,
  type NameOption,
  namesOf,
  oneLine,
  ValidationError,
} from "../errors.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../odata/bounding_box.ts";
import { and, eq, gte, isIn, lte } from "../odata/filter.ts";
import { isMeasured, MAXIMUM_TOP, RESOURCE_NAMES, type ResourceName } from "../odata/resources.ts";
import { isStandardOutput } from "../files/output.ts";
import { QA_URL } from "../service_constants.ts";
import { parseWholeNumber } from "../validation.ts";
import { type Arguments, type Flags, flagTable } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";

export type FlagValues = Arguments["flags"];

/** Joined by `and`. */
export const FILTER_FLAGS = flagTable({
  '--filter "…"': "OData filter: \"MonitoringLocationType eq 'Lake/Pond'\"",
  "--doi DOI...": "dataset, as a DOI or https://doi.org/ link",
  "--characteristic NAME...": 'measured characteristic, such as "pH"',
  "--region ID...": "region, such as admin.4.ca.pe or hub.atlantic",
  "--location ID...": "location, by the Id of weir locations",
  "--from DATE":
    "first sampling year, or day such as 2024-05-15; excludes rows without a start date",
  "--to DATE": "last sampling year, or day; excludes rows without a start date",
  "--bbox W,S,E,N": "bounding box of the locations, in degrees",
});

export const ONLINE_FLAGS = flagTable({
  "--base-url URL": "root address to use instead of DataStream's (or DATASTREAM_BASE_URL)",
  "--qa": "use the test system of DataStream",
});
export const SANDBOX_FLAG = flagTable({
  "--sandbox": "use built-in synthetic data: no key, no network",
  "--sandbox-firewall": "the same, behind a firewall like the service's: 403 to long queries",
});
export const SERVICE_FLAGS = { ...ONLINE_FLAGS, ...SANDBOX_FLAG };

export const QUALITY_FLAG = flagTable({
  "--exclude-quality-control": "leave out rows of quality control",
});
export const ROW_RULE_FLAGS = {
  ...flagTable({
    "--tidy": "add columns for analysis: value, unit, censoring, lower, upper, datetime_utc, …",
    "--unit NAME=UNIT...": 'with --tidy, convert a characteristic: "Nitrate=mg/L"',
  }),
  ...QUALITY_FLAG,
};

export const QUERY_FLAGS = {
  ...flagTable({ "--select A,B,C": "fields, in order (default: all; see weir fields)" }),
  ...FILTER_FLAGS,
  ...flagTable({
    "--top N": `rows per request (1 to ${MAXIMUM_TOP}); for the total use --limit`,
    "-n, --limit N": "maximum number of rows (default: all)",
    "--unchecked": "accept fields and filters that weir does not know",
  }),
};

type CsvFlag<T> = readonly [usage: string, help: string, read: (text: string) => T];
/** By option. `--select` sets the columns. */
const CSV = {
  separator: [
    "--separator MARK",
    'separator of CSV: one punctuation mark, or the word "tab" (default: ,)',
    (text) => /^(tab|\\t)$/.test(text) ? "\t" : text,
  ],
  header: ["--no-header", "CSV without the header row", () => false],
  eol: [
    "--eol MARK",
    "end of a line of CSV: lf or crlf (default: crlf in a file, lf on standard output)",
    (text) => text === "lf" ? "\n" : "\r\n",
  ],
  bom: ["--bom", "CSV with a byte order mark, so that Excel reads it as UTF-8", () => true],
  escapeFormulas: [
    "--escape-formulas",
    "CSV with a ' before text that a spreadsheet would run as a formula",
    () => true,
  ],
} satisfies { [O in Exclude<keyof CsvOptions, "columns">]: CsvFlag<CsvOptions[O]> };
export const CSV_FLAGS = flagTable(
  Object.fromEntries(Object.values(CSV).map(([usage, help]) => [usage, help])),
  { eol: ["lf", "crlf"] },
);
const nameOf = (usage: string) => usage.slice(2).split(" ")[0]!;

export const TYPE_FLAGS = flagTable({
  "--allow-invalid":
    "write null for a value that does not fit its column of Parquet, cut a text that is too long for a cell of Excel, and " +
    "report the number",
});

const OUTPUT_FLAGS = flagTable({
  "-o, --output FILE":
    "write to FILE, which is named FILE.part until complete; repeat the command to continue; " +
    "- is standard output",
  "--update": "replace the FILE of --output if its datasets have new versions, or it was changed",
  "--remove-missing":
    "with --update, accept that DataStream does not have a dataset of FILE any more",
  "--force":
    "replace the FILE of --output, its FILE.part, and the FILE of --cite, whatever they are",
  "--strict": "exit with 1, and leave FILE as it is, if a value of a filter matches no row",
  "--allow-incomplete":
    "accept another number of rows than DataStream counted, and report the difference",
  "--count": "print only the number of rows",
  "--cite FILE": "write the citations of the datasets to FILE, as text, .bib, .ris or .csl.json; " +
    "- is standard output",
});

/** In the order of the help, without the flags of every command. */
export function downloadFlags(resource: ResourceName): Flags {
  const choices = formatsOf(resource);
  const help = `${choices.join(", ")}; json: {"value": […]} ` +
    `(default: extension of --output, else ${FORMAT_NAMES[0]})`;
  return {
    ...QUERY_FLAGS,
    ...isMeasured(resource) ? ROW_RULE_FLAGS : {},
    ...flagTable({ "--format FORMAT": help }, { format: choices }),
    ...OUTPUT_FLAGS,
    ...CSV_FLAGS,
    ...TYPE_FLAGS,
    ...flagTable({
      "-q, --quiet": "no progress, no citations, and nothing about a file that is unchanged",
    }),
    ...SERVICE_FLAGS,
  };
}

/** By the names of the operand of `weir values`. */
export const VALUE_FIELDS: Readonly<Record<string, string>> = {
  characteristic: "CharacteristicName",
  region: "RegionId",
  media: "ActivityMediaName",
  "location-type": "MonitoringLocationType",
  unit: "ResultUnit",
};

export const EXPIRES_FORM = "date, such as 2027-01-31, or time from now, such as 12h, 7d or 4w";
export const DEFAULT_EXPIRES = "7d";

/** Flags that are named as an option of the client. */
const OPTION_FLAGS: Flags = { ...QUERY_FLAGS, ...ROW_RULE_FLAGS, ...CSV_FLAGS };

/** By the option of the client, for messages. */
const FLAG_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...["format", "expires", ...Object.keys({ ...QUERY_FLAGS, ...ROW_RULE_FLAGS })]
        .map((flag) => [flag.replace(/-(.)/g, (_, letter) => letter.toUpperCase()), flag]),
      ...Object.entries(CSV).map(([option, [usage]]) => [option, nameOf(usage)]),
    ].map(([option, flag]) => [option, `--${flag}`]),
  ),
  within: "--bbox",
  ...Object.fromEntries(
    "west south east north".split(" ").map((side) => [`within.${side}`, `${side} of --bbox`]),
  ),
  incomplete: "--allow-incomplete",
  invalidValues: "--allow-invalid",
  ActivityStartYear: "a year",
  units: "--unit",
  force: "--force",
  baseUrl: "--base-url (or DATASTREAM_BASE_URL)",
  apiKey: "the API key",
  requestsPerSecond: "WEIR_REQUESTS_PER_SECOND",
  url: "The URL",
  secret: "WEIR_SIGNING_SECRET",
};

/** Names flags instead of options of the client. With a value: the flag that sets it. */
function nameFlag(option: string, value?: unknown): string | undefined {
  const name = namesOf(FLAG_NAMES)(option);
  const takesValue = OPTION_FLAGS[option]?.value !== undefined;
  if (value === undefined || !takesValue) return name;
  return `${name} ${value === "\t" ? "tab" : value}`;
}

/** Names flags instead of options: the given `flags` that filter, instead of `--filter`. */
export function messageOf(error: unknown, flags: FlagValues = new Map()): string {
  const hasNames = error instanceof ValidationError || error instanceof DataStreamError;
  const filters = SHORT_FILTERS.filter((name) => flags.has(name)).map((name) => `--${name}`);
  const isShort = filters.length > 0 && !flags.has("filter");
  const nameOption: NameOption = (option, value) =>
    option === "filter" && isShort ? filters.join(" with ") : nameFlag(option, value);
  return oneLine(hasNames ? messageFor(error, nameOption) : error);
}

export const RESOURCE_COMMANDS: Readonly<Record<string, ResourceName>> = Object.fromEntries(
  RESOURCE_NAMES.map((name) => [name.toLowerCase(), name]),
);

/** Options of a query that no flag sets. */
type CommandOption =
  | "skipToken"
  | "partition"
  | "maxRows"
  | "sameVersion" // a file compares versions by itself
  | "signal"
  | "onProgress";

export function readQuery(
  flags: FlagValues,
): AnyResourceQuery & { filter: string | undefined } {
  return {
    select: flags.get("select")?.[0],
    filter: readFilter(flags),
    within: readBox(flags),
    tidy: flags.has("tidy"),
    from: readDate(flags, "from").day,
    to: readDate(flags, "to").day,
    excludeQualityControl: flags.has("exclude-quality-control"),
    units: flags.has("unit") ? parseUnits(flags.get("unit")!) : undefined,
    top: readNumber(flags, "top"),
    limit: readNumber(flags, "limit"),
    unchecked: flags.has("unchecked"),
    incomplete: flags.has("allow-incomplete") ? "warn" : "error",
  } satisfies { [O in Exclude<keyof AnyResourceQuery, CommandOption>]: AnyResourceQuery[O] };
}

/** Can also be written as a condition of `--filter`. */
const SHORT_FILTERS = ["doi", "characteristic", "region", "location", "from", "to"];

/** `--bbox` is not part of the filter. */
function readFilter(flags: FlagValues): string | undefined {
  const [filter] = flags.get("filter") ?? [];
  if (!SHORT_FILTERS.some((name) => flags.has(name))) return filter;
  const [from, to] = [readDate(flags, "from").year, readDate(flags, "to").year];
  if (from !== undefined && to !== undefined && from > to) {
    throw new UsageError(`--from must not be after --to, got ${from} and ${to}`);
  }
  const locations = flags.get("location")?.map((text) => {
    const id = parseWholeNumber(text);
    if (id !== undefined) return id;
    throw new UsageError(
      `--location must be a whole number, got "${text}": ` +
        "weir locations lists the numbers in the column Id",
    );
  });
  const common = String(and(
    anyOf("DOI", flags.get("doi")),
    anyOf("RegionId", flags.get("region")),
    anyOf("CharacteristicName", flags.get("characteristic")),
    anyOf("LocationId", locations),
    from !== undefined && gte("ActivityStartYear", from),
    to !== undefined && lte("ActivityStartYear", to),
  ));
  if (filter === undefined || common === "") return filter ?? common;
  // An unchecked filter can contain `or`, which has a lower precedence than `and`.
  return `${flags.has("unchecked") ? `(${filter})` : filter} and ${common}`;
}

function anyOf(field: string, values: readonly (string | number)[] = []) {
  return values.length === 1 ? eq(field, values[0]!) : values.length > 1 && isIn(field, values);
}

/** Returns another text than a whole number unchanged, so that the client names it. */
function readNumber(flags: FlagValues, name: string): number | undefined {
  const [text] = flags.get(name) ?? [];
  return text === undefined ? undefined : parseWholeNumber(text) ?? text as unknown as number;
}

function readBox(flags: FlagValues): BoundingBox | undefined {
  const [text] = flags.get("bbox") ?? [];
  const box = text === undefined ? undefined : parseBox(text);
  if (text === undefined || box !== undefined) return box;
  throw new UsageError(
    `--bbox must be ${BOX_FORM}, such as --bbox=${BOX_EXAMPLE}, got "${text}"`,
  );
}

/** `undefined` if no flag is given and there are no defaults. */
export function readCsvOptions(flags: FlagValues, defaults?: CsvOptions): CsvOptions | undefined {
  const given = Object.entries(CSV).flatMap(([option, [usage, , read]]) =>
    flags.get(nameOf(usage))?.map((text) => [option, read(text)]) ?? []
  );
  return given.length > 0 ? { ...defaults, ...Object.fromEntries(given) } : defaults;
}

const HOUR = 3_600_000;
const UNITS: Readonly<Record<string, number>> = { h: HOUR, d: 24 * HOUR, w: 168 * HOUR };

/** Returns ms; `undefined` if the text is not a number of hours, days or weeks, such as 12h, 7d or 4w. */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit!]!;
}

/** A day also has its year. The client checks that the day exists. */
function readDate(flags: FlagValues, name: string): { year?: number; day?: string | undefined } {
  const [text] = flags.get(name) ?? [];
  if (text === undefined) return {};
  const [, year, day] = /^([1-9]\d{3})(-\d\d-\d\d)?$/.exec(text) ?? [];
  if (year !== undefined) return { year: Number(year), day: day && text };
  throw new UsageError(
    `--${name} must be a year with four digits, or a day such as 2024-05-15, got "${text}"`,
  );
}

/** Only Weir compares days with the rows. */
export function hasDays(flags: FlagValues): boolean {
  return ["from", "to"].some((name) => readDate(flags, name).day !== undefined);
}

/** Returns where to write, `undefined` for standard output, and `--format`, else the extension, else the default. */
export function readOutput<F extends FileFormat>(
  content: string,
  names: readonly F[],
  flags: FlagValues,
  context: Context,
): { file: string | undefined; format: F } {
  const [output = "-"] = flags.get("output") ?? [];
  const file = isStandardOutput(output) ? undefined : output;
  const format = readFormat(content, names, flags.get("format")?.[0], file);
  const { label, isBinary } = FORMATS[format];
  if (isBinary && file === undefined && context.isStdoutTerminal && !flags.has("count")) {
    throw new UsageError(`${label} is not text: pass --output FILE, or redirect standard output`);
  }
  return { file, format };
}

function readFormat<F extends FileFormat>(
  content: string,
  names: readonly F[],
  given: string | undefined,
  file: string | undefined,
): F {
  const extension = file && /\.((?:[^./\\]+\.gz)|[^./\\]+)$/i.exec(file)?.[1];
  const format = given as FileFormat | undefined ??
    (extension ? formatOfExtension(extension) : FORMAT_NAMES[0]);
  if (format === undefined) {
    throw new UsageError(
      `The extension of "${file}" does not name a format: ` +
        `pass --format with one of ${names.join(", ")}`,
    );
  }
  const found = names.find((name) => name === format);
  if (found !== undefined) return found;
  throw new UsageError(
    `${FORMATS[format].label} is not a format of ${content}: use one of ${names.join(", ")}`,
  );
}

/** `undefined` for the production service. */
export function readBaseUrl(flags: FlagValues, context: Context): string | undefined {
  const [first, second] = Object.keys(SERVICE_FLAGS).filter((name) => flags.has(name));
  if (second !== undefined) {
    throw new UsageError(`--${first} and --${second} select two services: pass one of them`);
  }
  if (flags.has("qa")) return QA_URL;
  return flags.get("base-url")?.[0] ??
    (context.environmentIfAllowed("DATASTREAM_BASE_URL") || undefined);
}
