import type { GivenOptions, Partition } from "../odata/query_options.ts";
import { commonFilter } from "../odata/common_filter.ts";
import { type BoundingBox, parseBox } from "../odata/bounding_box.ts";
import { placeBox } from "../odata/place_box.ts";
import type { ResourceName } from "../odata/resources.ts";
import type { CsvOptions } from "../output/csv_options.ts";
import type { Arguments } from "./arguments.ts";
import { UsageError } from "./usage_error.ts";

type FlagValues = Arguments["flags"];

/** What the flags ask of a resource. */
export function readQuery(resource: ResourceName, flags: FlagValues): GivenOptions {
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
