import type { DataStreamOptions } from "../client/options.ts";
import type { CsvOptions } from "../formats/csv_options.ts";
import { FORMAT_NAMES, type FormatName, formatOfExtension, formatsOf } from "../formats/formats.ts";
import { type BoundingBox, parseBox } from "../odata/bounding_box.ts";
import { commonFilter } from "../odata/filter.ts";
import { type Partition, placeBox, type UntypedQuery } from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import { createSandbox } from "../sandbox/service.ts";
import { QA_URL } from "../service_roots.ts";
import { readKey } from "./api_key.ts";
import type { Arguments } from "./arguments.ts";
import { RESOURCE_COMMANDS } from "./commands.ts";
import { commandHint, formatHint } from "./hints.ts";
import type { Io } from "./io.ts";
import { told, UsageError } from "./usage_error.ts";

type FlagValues = Arguments["flags"];

/** What the flags ask of a resource. */
export function readQuery(resource: ResourceName, flags: FlagValues): UntypedQuery {
  const [select] = flags.get("select") ?? [];
  const [partition] = flags.get("partition") ?? [];
  const unchecked = flags.has("unchecked");
  return {
    select,
    ...placeBox(resource, readFilter(flags), readBox(flags), unchecked),
    top: readNumber(flags, "top"),
    limit: readNumber(flags, "limit"),
    ...(partition && { partition: partition as Partition }),
    unchecked,
    incomplete: flags.has("allow-incomplete") ? "warn" : "error",
  };
}

/** The flags that filter, joined by `and`. */
export function readFilter(flags: FlagValues): string | undefined {
  const [filter] = flags.get("filter") ?? [];
  const [from, to] = [readYear(flags, "from"), readYear(flags, "to")];
  if (from !== undefined && to !== undefined && from > to) {
    throw new UsageError(`--from is after --to: there is nothing from ${from} to ${to}`);
  }
  const common = commonFilter({
    // As citations have it, too.
    dois: flags.get("doi")?.map((doi) =>
      doi.replace(/^(https?:\/\/(dx\.)?doi\.org\/|doi:)/i, "")
    ) ?? [],
    regions: flags.get("region") ?? [],
    characteristics: flags.get("characteristic") ?? [],
    from,
    to,
  });
  if (filter === undefined || common === undefined) return filter ?? common;
  // One of another grammar may hold an "or", which binds less.
  return `${flags.has("unchecked") ? `(${filter})` : filter} and ${common}`;
}

/** The box that the flags name. */
export function readBox(flags: FlagValues): BoundingBox | undefined {
  const [text] = flags.get("bbox") ?? [];
  if (text === undefined) return undefined;
  const box = parseBox(text);
  if (box !== undefined) return box;
  throw new UsageError(
    `--bbox is west,south,east,north in degrees, as --bbox=-64.5,45.9,-62,47.1, got "${text}"`,
  );
}

/** The options of CSV that the flags name; undefined where they name none. */
export function readCsvOptions(flags: FlagValues): CsvOptions | undefined {
  const names = ["separator", "no-header", "bom", "escape-formulas"].filter((name) =>
    flags.has(name)
  );
  if (names.length === 0) return undefined;
  const [separator] = flags.get("separator") ?? [];
  return {
    separator: separator === "tab" || separator === "\\t" ? "\t" : separator,
    header: !flags.has("no-header"),
    bom: flags.has("bom"),
    escapeFormulas: flags.has("escape-formulas"),
  };
}

function readYear(flags: FlagValues, name: string): number | undefined {
  const year = readNumber(flags, name);
  if (year === undefined || (year >= 1000 && year <= 9999)) return year;
  throw new UsageError(`--${name} wants a year of four digits, got "${year}"`);
}

function readNumber(flags: FlagValues, name: string): number | undefined {
  const [text] = flags.get(name) ?? [];
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} wants a whole number, got "${text}"`);
}

/**
 * The format to write: as it is said, else as the file's name ends, else CSV.
 *
 * @throws {UsageError} If there is no such format, or the resource has none, or the name says none
 */
export function readFormat(
  resource: ResourceName,
  said: string | undefined,
  file: string | undefined,
): FormatName {
  const extension = file && /\.([^./\\]+)$/.exec(file)?.[1];
  const format = said === undefined
    ? extension ? formatOfExtension(extension) : FORMAT_NAMES[0]
    : FORMAT_NAMES.find((name) => name === said);
  if (format === undefined) {
    throw new UsageError(
      said === undefined
        ? `The name "${file}" does not end in a format: pass --format with one of ${
          FORMAT_NAMES.join(", ")
        }`
        : `There is no format "${said}": ${formatHint(said, FORMAT_NAMES)}`,
    );
  }
  if (!formatsOf(resource).includes(format)) {
    throw new UsageError(
      `GeoJSON is of locations alone: ask for ${resource} as one of ${
        formatsOf(resource).join(", ")
      }`,
    );
  }
  return format;
}

/** The resource of a name as it is typed. */
export function readResource(name: string | undefined): ResourceName {
  const names: Record<string, ResourceName> = RESOURCE_COMMANDS;
  const resource = name === undefined || !Object.hasOwn(names, name) ? undefined : names[name];
  if (resource !== undefined) return resource;
  throw new UsageError(
    `There is no resource "${name}": ${commandHint(String(name), Object.keys(names))}`,
  );
}

/** The root address that the flags name, or the environment; undefined is production. */
export function baseUrlOf(flags: Arguments["flags"], io: Io): string | undefined {
  const named = ["base-url", "qa", "sandbox"].filter((name) => flags.has(name));
  if (named.length > 1) {
    throw new UsageError(`--${named[0]} and --${named[1]} are two services: pass one of them`);
  }
  if (flags.has("qa")) return QA_URL;
  return flags.get("base-url")?.[0] ??
    (io.environmentIfAllowed("DATASTREAM_BASE_URL") || undefined);
}

/** The options of a client of the service that the flags name. */
export async function serviceOf(flags: Arguments["flags"], io: Io): Promise<DataStreamOptions> {
  const baseUrl = baseUrlOf(flags, io);
  const rate = io.environmentIfAllowed("WEIR_REQUESTS_PER_SECOND");
  if (rate && !(Number(rate) > 0)) {
    throw new UsageError(`WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`);
  }
  const pace = rate ? { requestsPerSecond: Number(rate) } : {};
  if (flags.has("sandbox")) {
    const { apiKey, url, fetch } = told(() => createSandbox(pace));
    return { ...pace, apiKey, baseUrl: url, fetch };
  }
  return { ...pace, apiKey: await readKey(io), baseUrl };
}
