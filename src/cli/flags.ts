// The flags of the commands: how they are declared, and how their values are read.
//
// A new flag is
// - declared in one of the objects ..._FLAGS, with the text of its help;
// - read by one of the functions read...();
// - named in FLAG_NAMES if it sets an option of the client, for the messages of its errors;
// - added to CONTENT_FLAGS in download.ts if it changes the content of the file, so that --resume
//   rejects a file that was written with another value;
// - added to the list `unused` in requireCompatibleFlags() in download.ts if --count has no use for it.
import type { DataStreamOptions } from "../client/options.ts";
import type { AnyResourceQuery } from "../client/query.ts";
import type { CsvOptions } from "../formats/csv.ts";
import {
  FORMAT_NAMES,
  type FormatName,
  formatOfExtension,
  FORMATS,
  formatsOf,
  unknownFormat,
} from "../formats/formats.ts";
import { DataStreamError, messageFor, oneLine, ValidationError } from "../errors.ts";
import { type BoundingBox, BOX_EXAMPLE, BOX_FORM, parseBox } from "../odata/bounding_box.ts";
import { commonFilter } from "../odata/filter.ts";
import { MAXIMUM_TOP, type ResourceName } from "../odata/resources.ts";
import { QA_URL } from "../service_constants.ts";
import { parseWholeNumber } from "../validation.ts";
import { readKey } from "./api_key.ts";
import { type Arguments, commandHint, type Flags } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";
import { isStandardOutput } from "./output.ts";

/** The flags of a command line. */
export type FlagValues = Arguments["flags"];

/** Flags that filter. Their conditions are joined by `and`. */
export const FILTER_FLAGS = {
  filter: { value: '"…"', help: "OData filter: \"MonitoringLocationType eq 'Lake/Pond'\"" },
  doi: {
    value: "DOI",
    isList: true,
    help: "dataset, as a DOI or https://doi.org/ link; can be repeated, or @FILE",
  },
  characteristic: {
    value: "NAME",
    isList: true,
    help: 'measured characteristic, such as "pH"; can be repeated, or @FILE',
  },
  region: {
    value: "ID",
    isList: true,
    help: "region, such as admin.4.ca.pe or hub.atlantic; can be repeated, or @FILE",
  },
  location: {
    value: "ID",
    isList: true,
    help: "location, by the Id of weir locations; can be repeated, or @FILE",
  },
  from: {
    value: "YEAR",
    help: "first sampling year; excludes rows without a start date",
  },
  to: { value: "YEAR", help: "last sampling year; excludes rows without a start date" },
  bbox: { value: "W,S,E,N", help: "bounding box of the locations, in degrees" },
} as const satisfies Flags;

/** Flags that select the service. */
export const SERVICE_FLAGS = {
  "base-url": {
    value: "URL",
    help: "root address to use instead of DataStream's (or DATASTREAM_BASE_URL)",
  },
  qa: { help: "use the test system of DataStream" },
  sandbox: { help: "use built-in synthetic data: no key, no network" },
} as const satisfies Flags;

/** Flags that describe a query. */
export const QUERY_FLAGS = {
  select: { value: "A,B,C", help: "fields, in order (default: all; see weir fields)" },
  ...FILTER_FLAGS,
  top: { value: "N", help: `rows per request (1 to ${MAXIMUM_TOP}); for the total use --limit` },
  limit: { value: "N", letter: "n", help: "maximum number of rows (default: all)" },
  unchecked: { help: "accept fields and filters that weir does not know" },
} as const satisfies Flags;

/** Flags of the output of a download, except `--format`. */
const OUTPUT_FLAGS = {
  output: {
    value: "FILE",
    letter: "o",
    help: "write to FILE, which is named FILE.part until complete; - is standard output",
  },
  resume: { help: "continue the FILE of --output after the last complete page of FILE.part" },
  update: { help: "replace the FILE of --output if its datasets have new versions" },
  force: { help: "overwrite the FILE of --output, its FILE.part, and the FILE of --cite" },
  strict: { help: "exit with 1 if a value of a filter matches no row" },
  "allow-incomplete": {
    help: "accept fewer rows than DataStream counted, and report how many are missing",
  },
  count: { help: "print only the number of rows" },
  cite: {
    value: "FILE",
    help: "write the citations of the datasets to FILE; - is standard output",
  },
  separator: {
    value: "MARK",
    help: 'separator of CSV: one punctuation mark, or the word "tab" (default: ,)',
  },
  "no-header": { help: "CSV without the header row" },
  eol: {
    value: "MARK",
    choices: ["lf", "crlf"],
    help: "end of a line of CSV: lf or crlf (default: crlf in a file, lf on standard output)",
  },
  bom: { help: "CSV with a byte order mark, so that Excel reads it as UTF-8" },
  "escape-formulas": { help: "CSV with a ' before text that a spreadsheet would run as a formula" },
  quiet: { letter: "q", help: "no progress and no citations on standard error" },
} as const satisfies Flags;

/**
 * Returns the flags of the command that downloads a resource, in the order of its help, except those
 * of every command.
 */
export function downloadFlags(resource: ResourceName): Flags {
  const choices = formatsOf(resource);
  const format = {
    value: "FORMAT",
    choices,
    help: `${choices.join(", ")}; json: {"value": […]} ` +
      `(default: extension of --output, else ${FORMAT_NAMES[0]})`,
  };
  return {
    ...QUERY_FLAGS,
    format,
    ...OUTPUT_FLAGS,
    ...SERVICE_FLAGS,
  };
}

/** Fields of the command `values`, by the names of its operand. */
export const VALUE_FIELDS: Readonly<Record<string, string>> = {
  characteristic: "CharacteristicName",
  region: "RegionId",
  media: "ActivityMediaName",
  "location-type": "MonitoringLocationType",
  unit: "ResultUnit",
};

/** Values of `--format` for citations, the default first. */
export const CITATION_FORMATS: readonly string[] = ["txt", "json"];
/** Forms of the value of `--expires`. */
export const EXPIRES_FORM = "date, such as 2027-01-31, or time from now, such as 12h, 7d or 4w";
/** Default of `--expires`. */
export const DEFAULT_EXPIRES = "7d";

/**
 * Names of flags and variables by the option of the client that they set, for messages of errors. An
 * option with a value has an entry if a hint suggests that value.
 */
export const FLAG_NAMES: Readonly<Record<string, string>> = {
  select: "--select",
  filter: "--filter",
  within: "--bbox",
  "within.west": "west of --bbox",
  "within.south": "south of --bbox",
  "within.east": "east of --bbox",
  "within.north": "north of --bbox",
  top: "--top",
  limit: "--limit",
  unchecked: "--unchecked",
  "unchecked: true": "--unchecked",
  incomplete: "--allow-incomplete",
  'incomplete: "warn"': "--allow-incomplete",
  format: "--format",
  separator: "--separator",
  'separator: "\\t"': "--separator tab",
  header: "--no-header",
  eol: "--eol",
  bom: "--bom",
  "bom: true": "--bom",
  escapeFormulas: "--escape-formulas",
  baseUrl: "--base-url (or DATASTREAM_BASE_URL)",
  apiKey: "the API key",
  requestsPerSecond: "WEIR_REQUESTS_PER_SECOND",
  url: "The URL",
  expires: "--expires",
  secret: "WEIR_SIGNING_SECRET",
};

/**
 * Returns the message of an error on one line. It names flags instead of options of the client.
 *
 * @param flags The given flags: those that filter are named instead of `--filter` if it is not one of them
 */
export function messageOf(error: unknown, flags: FlagValues = new Map()): string {
  const hasNames = error instanceof ValidationError || error instanceof DataStreamError;
  const filters = SHORT_FILTERS.filter((name) => flags.has(name)).map((name) => `--${name}`);
  const names = flags.has("filter") || filters.length === 0
    ? FLAG_NAMES
    : { ...FLAG_NAMES, filter: filters.join(" with ") };
  return oneLine(hasNames ? messageFor(error, names) : error);
}

/** Resources by the name of the command that downloads them. */
export const RESOURCE_COMMANDS = {
  metadata: "Metadata",
  locations: "Locations",
  observations: "Observations",
  records: "Records",
} as const satisfies Record<string, ResourceName>;

/** Returns the resource of a command. */
export function readResource(command: string | undefined): ResourceName {
  const resources: Record<string, ResourceName> = RESOURCE_COMMANDS;
  if (command !== undefined && Object.hasOwn(resources, command)) return resources[command]!;
  throw new UsageError(
    `Unknown resource "${command}": ${commandHint(String(command), Object.keys(resources))}`,
  );
}

/** Reads the flags of a query. */
export function readQuery(
  flags: FlagValues,
): AnyResourceQuery & { filter: string | undefined } {
  return {
    select: flags.get("select")?.[0],
    filter: readFilter(flags),
    within: readBox(flags),
    top: readNumber(flags, "top", "from 1 to 10000"),
    limit: readNumber(flags, "limit", "of at least 0"),
    unchecked: flags.has("unchecked"),
    incomplete: flags.has("allow-incomplete") ? "warn" : "error",
  };
}

/** Flags that can also be written as a condition of `--filter`. */
const SHORT_FILTERS = ["doi", "characteristic", "region", "location", "from", "to"];

/** Joins the flags that filter, except `--bbox`, to an OData filter. */
export function readFilter(flags: FlagValues): string | undefined {
  const [filter] = flags.get("filter") ?? [];
  if (!SHORT_FILTERS.some((name) => flags.has(name))) return filter;
  const [from, to] = [readYear(flags, "from"), readYear(flags, "to")];
  if (from !== undefined && to !== undefined && from > to) {
    throw new UsageError(`--from must not be after --to, got ${from} and ${to}`);
  }
  const common = commonFilter({
    dois: flags.get("doi") ?? [],
    regions: flags.get("region") ?? [],
    locations: flags.get("location")?.map(readLocation) ?? [],
    characteristics: flags.get("characteristic") ?? [],
    from,
    to,
  });
  if (filter === undefined || common === undefined) return filter ?? common;
  // An unchecked filter can contain `or`, which has a lower precedence than `and`.
  return `${flags.has("unchecked") ? `(${filter})` : filter} and ${common}`;
}

/** Reads a value of `--location`. */
function readLocation(text: string): number {
  const id = parseWholeNumber(text);
  if (id !== undefined) return id;
  throw new UsageError(
    `--location must be a whole number, got "${text}": weir locations lists the numbers in the column Id`,
  );
}

/** Reads `--bbox`. */
export function readBox(flags: FlagValues): BoundingBox | undefined {
  const [text] = flags.get("bbox") ?? [];
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (box !== undefined) return box;
  throw new UsageError(
    `--bbox must be ${BOX_FORM}, such as --bbox=${BOX_EXAMPLE}, got "${text}"`,
  );
}

/** Where a download writes, and what it prints. */
export interface OutputOptions {
  /** File for the rows; `undefined` for standard output. */
  file: string | undefined;
  /** File for the citations, which can be `-`; `undefined` for standard error. */
  citationFile: string | undefined;
  /** Whether to continue FILE.part. */
  resume: boolean;
  /** Whether to replace the file only if its datasets have new versions. */
  update: boolean;
  /** Whether to overwrite files. */
  force: boolean;
  /** Whether to print only the number of rows. */
  isCountOnly: boolean;
  /** Whether to print no progress and no citations on standard error. */
  isQuiet: boolean;
}

/** Reads the flags of the output, except those of its format. */
export function readOutputOptions(flags: FlagValues): OutputOptions {
  const [output = "-"] = flags.get("output") ?? [];
  return {
    file: isStandardOutput(output) ? undefined : output,
    citationFile: flags.get("cite")?.[0],
    resume: flags.has("resume"),
    update: flags.has("update"),
    force: flags.has("force"),
    isCountOnly: flags.has("count"),
    isQuiet: flags.has("quiet"),
  };
}

/** Values of `--separator` for a tab. */
const TAB_NAMES = ["tab", "\\t"];

/** Values of `--eol`. */
const LINE_ENDS: Readonly<Record<string, CsvOptions["eol"]>> = { lf: "\n", crlf: "\r\n" };

/**
 * Reads the options of CSV; `undefined` if none is set.
 *
 * @param defaults Options that no flag sets
 */
export function readCsvOptions(
  flags: FlagValues,
  defaults: CsvOptions = {},
): CsvOptions | undefined {
  const [separator] = flags.get("separator") ?? [];
  const [eol] = flags.get("eol") ?? [];
  if (eol !== undefined && !Object.hasOwn(LINE_ENDS, eol)) {
    throw new UsageError(`--eol must be ${Object.keys(LINE_ENDS).join(" or ")}, got "${eol}"`);
  }
  const options = {
    ...defaults,
    ...(eol !== undefined && { eol: LINE_ENDS[eol] }),
    ...(separator !== undefined && { separator: TAB_NAMES.includes(separator) ? "\t" : separator }),
    ...(flags.has("no-header") && { header: false }),
    ...(flags.has("bom") && { bom: true }),
    ...(flags.has("escape-formulas") && { escapeFormulas: true }),
  };
  return Object.keys(options).length === 0 ? undefined : options;
}

function readYear(flags: FlagValues, name: string): number | undefined {
  const [text] = flags.get(name) ?? [];
  if (text === undefined) return undefined;
  if (/^[1-9]\d{3}$/.test(text)) return Number(text);
  const [year] = /^[1-9]\d{3}(?=-)/.exec(text) ?? [];
  const hint = year === undefined
    ? ""
    : `: pass --${name} ${year}, then keep the rows you need by their ActivityStartDate, ` +
      "because DataStream filters by year only";
  throw new UsageError(`--${name} must be a year with four digits, got "${text}"${hint}`);
}

function readNumber(flags: FlagValues, name: string, range: string): number | undefined {
  const [text] = flags.get(name) ?? [];
  if (text === undefined) return undefined;
  const number = parseWholeNumber(text);
  if (number !== undefined) return number;
  throw new UsageError(`--${name} must be a whole number ${range}, got "${text}"`);
}

/**
 * Reads the format: `--format`, else the extension of the file, else the default.
 *
 * @param given Value of `--format`
 * @param file Value of `--output`, unless it is standard output
 * @throws {ValidationError} If the resource does not have the format of `--format`
 * @throws {UsageError} If the resource does not have the format of the extension
 */
export function readFormat(
  resource: ResourceName,
  given: string | undefined,
  file: string | undefined,
): FormatName {
  const names = formatsOf(resource);
  if (given !== undefined) {
    const format = names.find((name) => name === given);
    if (format === undefined) throw unknownFormat(resource, given);
    return format;
  }
  const extension = file && /\.([^./\\]+)$/.exec(file)?.[1];
  const format = extension ? formatOfExtension(extension) : FORMAT_NAMES[0];
  if (format === undefined) {
    throw new UsageError(
      `The extension of "${file}" does not name a format: pass --format with one of ${
        names.join(", ")
      }`,
    );
  }
  if (names.includes(format)) return format;
  throw new UsageError(
    `${FORMATS[format].label} is only for ${FORMATS[format].resources.join(", ")}: ` +
      `use one of ${names.join(", ")} for ${resource}`,
  );
}

/**
 * Reads the root address of the service from flags or environment; `undefined` for the production
 * service.
 */
export function readBaseUrl(flags: FlagValues, context: Context): string | undefined {
  const [first, second] = Object.keys(SERVICE_FLAGS).filter((name) => flags.has(name));
  if (second !== undefined) {
    throw new UsageError(`--${first} and --${second} select two services: pass one of them`);
  }
  if (flags.has("qa")) return QA_URL;
  return flags.get("base-url")?.[0] ??
    (context.environmentIfAllowed("DATASTREAM_BASE_URL") || undefined);
}

/** Reads the options of a client from the flags, the environment and the saved key. */
export async function readClientOptions(
  flags: FlagValues,
  context: Context,
): Promise<DataStreamOptions> {
  const baseUrl = readBaseUrl(flags, context);
  const rate = context.environmentIfAllowed("WEIR_REQUESTS_PER_SECOND");
  if (rate && !(Number(rate) > 0)) {
    throw new UsageError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const limits = rate ? { requestsPerSecond: Number(rate) } : {};
  if (flags.has("sandbox")) {
    const { createSandbox } = await import("../sandbox/service.ts");
    const { apiKey, url, fetch } = createSandbox(limits);
    return { ...limits, apiKey, baseUrl: url, fetch };
  }
  return { ...limits, apiKey: await readKey(context), baseUrl };
}
