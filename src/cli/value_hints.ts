import { clausesOf } from "../odata/query_options.ts";
import { REGIONS } from "../odata/regions.ts";
import { nearNames, suggestNames } from "../validation.ts";
import { type Flag, formatFlag, formatFlags } from "./arguments.ts";
import { FILTER_FLAGS, type FlagValues, SERVICE_FLAGS } from "./flags.ts";

/** Repository with the values that the service accepts. */
const SCHEMA = "https://github.com/datastreamapp/schema";

/**
 * Returns lines that explain why a filter may match no row: several values in one flag, an unknown
 * `DOI`, a `CharacteristicName` in another case, or an unknown `RegionId`. They also say how to list
 * the values.
 *
 * @param filter The filter as text
 * @param flags The given flags; the suggested command repeats the flags of the service
 */
export function valueHints(filter: string | undefined, flags: FlagValues): string[] {
  const clauses = clausesOf(filter);
  const valuesOf = (name: string) =>
    clauses.filter(({ field, operator }) => field === name && operator !== "ne")
      .flatMap(({ values }) => values.map(({ text }) => text));
  const lines: string[] = [];
  for (const name of REPEATABLE_FLAGS) {
    // A value may contain a comma, as in "Ammonia, total", so that it is not an error.
    const list = flags.get(name)?.find((value) => value.includes(","));
    if (list === undefined) continue;
    const repeated = list.split(",").map((value) => formatFlag(name, value.trim())).join("");
    lines.push(`If "${list}" is a list, repeat the flag for each value:${repeated}`);
  }
  const dois = valuesOf("DOI");
  const service = formatFlags(flags, Object.keys(SERVICE_FLAGS));
  if (valuesOf("CharacteristicName").length > 0) {
    const [doi = "10.25976/xxxx-xx00"] = dois;
    lines.push(
      'Values of CharacteristicName are case-sensitive: "pH", not "ph"',
      "To list the names in one dataset (reads all of its rows): " +
        `weir observations${formatFlag("doi", doi)} --select CharacteristicName --no-header` +
        `${service} | sort -u`,
      `All names: see CharacteristicName at ${SCHEMA}`,
    );
  } else if (dois.length > 0) {
    lines.push(`To list the datasets: weir metadata --select DOI,DatasetName${service}`);
  }
  const unknownRegions = new Set(valuesOf("RegionId").filter((id) => !REGION_IDS.includes(id)));
  for (const id of unknownRegions) {
    const hint = regionHint(id);
    lines.push(`Unknown region "${id}"${hint && `: ${hint}`}`);
  }
  if (unknownRegions.size > 0) lines.push(`Documented regions: ${REGION_IDS.join(", ")}`);
  return lines;
}

/** Flags that can be repeated. */
const REPEATABLE_FLAGS = Object.entries<Flag>(FILTER_FLAGS).filter(([, { isList }]) => isList)
  .map(([name]) => name);

const REGION_IDS = REGIONS.flatMap(([, regions]) => Object.keys(regions));
/** Ids of the documented regions, by the last part of the Id and by the name, both in lower case. */
const REGIONS_BY_NAME = new Map(
  REGIONS.flatMap(([, regions]) =>
    Object.entries(regions).flatMap(([id, name]): [string, string][] => [
      [lastPart(id), id],
      [name.toLowerCase(), id],
    ])
  ),
);

/** Suggests a documented region for an unknown one; empty if none is similar. */
function regionHint(value: string): string {
  const names = nearNames(lastPart(value), [...REGIONS_BY_NAME.keys()]);
  // A region can be similar by its name and by its Id.
  const ids = new Set(names.map((name) => REGIONS_BY_NAME.get(name)!));
  return suggestNames([...ids]) ?? "";
}

/** Returns the part of an Id after its last dot: `pe` for `admin.4.ca.pe`. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}
