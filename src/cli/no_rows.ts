import { didYouMean } from "../validation.ts";
import type { Clause } from "../odata/clause.ts";
import { REGIONS } from "../odata/regions.ts";
import type { Arguments } from "./arguments.ts";
import { flagsText, flagText } from "./shell_command.ts";
import { SERVICE_FLAGS } from "./commands.ts";

/** The public list of allowed values, which the service's data follow. */
const SCHEMA = "https://github.com/datastreamapp/schema";

/**
 * Returns lines on why a filter may match nothing: values are case-sensitive. They say how to list
 * the values of the filter's names that have a list.
 *
 * @param clauses The filter's clauses
 * @param flags The flags, of which the listing command takes the service
 */
export function valueHints(clauses: readonly Clause[], flags: Arguments["flags"]): string[] {
  const valuesOf = (name: string) =>
    clauses.filter(({ field, operator }) => field === name && operator !== "ne")
      .flatMap(({ values }) => values.map(({ text }) => text));
  const lines: string[] = [];
  if (valuesOf("CharacteristicName").length > 0) {
    const [doi = "10.25976/xxxx-xx00"] = valuesOf("DOI");
    const service = flagsText(flags, Object.keys(SERVICE_FLAGS));
    lines.push(
      'Values of CharacteristicName are case-sensitive: "pH", not "ph"',
      "List those of one dataset (this reads all its rows): " +
        `weir observations${flagText("doi", doi)} --select CharacteristicName --no-header` +
        `${service} | sort -u`,
      `List all that are allowed: CharacteristicName in ${SCHEMA}`,
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

const REGION_IDS = REGIONS.flatMap(([, regions]) => Object.keys(regions));
/** Regions by what people may call them: `pe`, `prince edward island`. */
const REGIONS_BY_NAME = new Map(
  REGIONS.flatMap(([, regions]) =>
    Object.entries(regions).flatMap(([id, name]): [string, string][] => [
      [lastPart(id), id],
      [name.toLowerCase(), id],
    ])
  ),
);

/** Returns the region that a value probably means; only its last part differs between regions. */
function regionHint(value: string): string {
  if (REGION_IDS.includes(value)) return "";
  return didYouMean(lastPart(value), [...REGIONS_BY_NAME.keys()], "")
    .replace(/"([^"]+)"/g, (_, name) => `"${REGIONS_BY_NAME.get(name)}"`);
}

function lastPart(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}
