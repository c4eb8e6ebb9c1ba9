import type { NoRowsReason } from "../client/no_rows.ts";
import { clausesOf } from "../odata/query_options.ts";
import { REGION_IDS } from "../odata/value_hints.ts";
import { type Flag, formatFlag, formatFlags } from "./arguments.ts";
import { FILTER_FLAGS, type FlagValues, SERVICE_FLAGS } from "./flags.ts";

/** Repository with the values that the service accepts. */
const SCHEMA = "https://github.com/datastreamapp/schema";

/**
 * Returns lines that say why a result is empty, and how to list the values of the fields that no row
 * matches.
 *
 * @param filter The filter as text
 * @param flags The given flags; the suggested command repeats the flags of the service
 */
export function noRowsLines(
  reasons: readonly NoRowsReason[],
  filter: string | undefined,
  flags: FlagValues,
): string[] {
  const lines = reasons.slice(0, MAX_REASONS).map(({ text }) => text);
  const others = reasons.length - lines.length;
  if (others > 0) lines.push(`${others} more values match no row`);
  const hasField = (name: string) => reasons.some(({ field }) => field === name);
  for (const name of REPEATABLE_FLAGS) {
    // A value may contain a comma, as in "Ammonia, total", so that it is not an error.
    const list = flags.get(name)?.find((value) => value.includes(","));
    if (list === undefined) continue;
    const repeated = list.split(",").map((value) => formatFlag(name, value.trim())).join("");
    lines.push(`If "${list}" is a list, repeat the flag for each value:${repeated}`);
  }
  const service = formatFlags(flags, Object.keys(SERVICE_FLAGS));
  if (hasField("CharacteristicName")) {
    const doi = clausesOf(filter).find(({ field, operator }) =>
      field === "DOI" && operator !== "ne"
    )
      ?.values[0]?.text ?? "10.25976/xxxx-xx00";
    lines.push(
      "To list the names in one dataset (reads all of its rows): " +
        `weir observations${formatFlag("doi", doi)} --select CharacteristicName --no-header` +
        `${service} | sort -u`,
      `All names: see CharacteristicName at ${SCHEMA}`,
    );
  }
  if (hasField("DOI")) {
    lines.push(`To list the datasets: weir metadata --select DOI,DatasetName${service}`);
  }
  if (reasons.some(({ field, hasUnknownValue }) => field === "RegionId" && hasUnknownValue)) {
    lines.push(`Documented regions: ${REGION_IDS.join(", ")}`);
  }
  return lines;
}

/** Maximum number of reasons to print. A list from a file can have thousands of values. */
const MAX_REASONS = 20;
/** Flags that can be repeated. */
const REPEATABLE_FLAGS = Object.entries<Flag>(FILTER_FLAGS).filter(([, { isList }]) => isList)
  .map(([name]) => name);
