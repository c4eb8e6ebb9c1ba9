import { ValidationError } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import { REGIONS } from "../odata/regions.ts";
import { didYouMean } from "../validation.ts";
import { formatFlag, formatFlags } from "./arguments.ts";
import { type FlagValues, SERVICE_FLAGS } from "./query_flags.ts";

/** The public list of the values that the service accepts. */
const SCHEMA = "https://github.com/datastreamapp/schema";

/**
 * Returns lines on why a filter may match nothing: values are case-sensitive. They say how to list
 * the values of `CharacteristicName` and `RegionId`.
 *
 * @param filter The filter as text
 * @param flags The flags; those of the service are part of the command that lists values
 */
export function valueHints(filter: string | undefined, flags: FlagValues): string[] {
  const clauses = clausesOf(filter);
  const valuesOf = (name: string) =>
    clauses.filter(({ field, operator }) => field === name && operator !== "ne")
      .flatMap(({ values }) => values.map(({ text }) => text));
  const lines: string[] = [];
  if (valuesOf("CharacteristicName").length > 0) {
    const [doi = "10.25976/xxxx-xx00"] = valuesOf("DOI");
    const service = formatFlags(flags, Object.keys(SERVICE_FLAGS));
    lines.push(
      'Values of CharacteristicName are case-sensitive: "pH", not "ph"',
      "To list those of one dataset (reads all of its rows): " +
        `weir observations${formatFlag("doi", doi)} --select CharacteristicName --no-header` +
        `${service} | sort -u`,
      `All accepted values: CharacteristicName in ${SCHEMA}`,
    );
  }
  const regions = valuesOf("RegionId");
  if (regions.length > 0) {
    const hints = [...new Set(regions.map(regionHint))].filter((hint) => hint !== "");
    lines.push(
      ["Values of RegionId are case-sensitive", ...hints].join(": "),
      `Documented regions: ${REGION_IDS.join(", ")}`,
    );
  }
  return lines;
}

function clausesOf(filter: string | undefined): ReturnType<typeof parseFilter> {
  try {
    return filter === undefined ? [] : parseFilter(filter);
  } catch (error) {
    // An unchecked filter can have another grammar.
    if (error instanceof ValidationError) return [];
    throw error;
  }
}

const REGION_IDS = REGIONS.flatMap(([, regions]) => Object.keys(regions));
/** Ids of regions by the last part of the Id and by the name, in lower case. */
const REGIONS_BY_NAME = new Map(
  REGIONS.flatMap(([, regions]) =>
    Object.entries(regions).flatMap(([id, name]): [string, string][] => [
      [lastPart(id), id],
      [name.toLowerCase(), id],
    ])
  ),
);

/** Suggests the region for an unknown value; empty if none is similar. */
function regionHint(value: string): string {
  if (REGION_IDS.includes(value)) return "";
  return didYouMean(lastPart(value), [...REGIONS_BY_NAME.keys()], "")
    .replace(/"([^"]+)"/g, (_, name) => `"${REGIONS_BY_NAME.get(name)}"`);
}

function lastPart(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}
