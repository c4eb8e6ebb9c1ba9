// Descriptions of the clauses of a filter, and hints for values that no row has.
import { nearNames, suggestNames } from "../validation.ts";
// Values of CharacteristicName in DataStream's schema 3.0.0 (2026-07-14). The service can have more, so
// use the list for suggestions and not for validation.
import CHARACTERISTICS from "./characteristics.json" with { type: "json" };
import VALUES from "./values.json" with { type: "json" };
import { type Clause, formatClauses } from "./clause.ts";
import { regionName, REGIONS } from "./regions.ts";

/** Nouns for the fields that flags and the web page filter by. */
const FIELD_NOUNS = new Map([
  ["DOI", "dataset"],
  ["RegionId", "region"],
  ["CharacteristicName", "characteristic"],
  ["ActivityStartYear", "year"],
]);
/** Words before the values of the operators that flags and the web page use. */
const OPERATOR_WORDS = new Map([["eq", ""], ["in", ""], ["gte", " from"], ["lte", " up to"]]);
/** Maximum number of values to name in a description, and of values to search a hint for. */
const MAX_VALUES = 3;

/** Describes clauses of one field, such as `characteristic "pH"` or `year from 2010 up to 2019`. */
export function describeClauses(clauses: readonly Clause[]): string {
  const noun = FIELD_NOUNS.get(clauses[0]!.field);
  if (noun === undefined || clauses.some(({ operator }) => !OPERATOR_WORDS.has(operator))) {
    return formatClauses(clauses);
  }
  return noun + clauses.map(({ operator, values }) => {
    const names = values.slice(0, MAX_VALUES).map(({ text, quoted }) => {
      const region = noun === "region" ? regionName(text) : undefined;
      return (quoted ? `"${text}"` : text) + (region === undefined ? "" : ` (${region})`);
    });
    const others = values.length - names.length;
    if (others > 0) names.push(`${others} others`);
    return `${OPERATOR_WORDS.get(operator)} ${names.join(" or ")}`;
  }).join("");
}

/** Returns hints for the unknown values in clauses of one field; empty if there are none. */
export function hintValues(clauses: readonly Clause[]): string {
  const hintValue = VALUE_HINTS[clauses[0]!.field];
  if (hintValue === undefined) return "";
  const values = clauses.filter(({ operator }) => operator === "eq" || operator === "in")
    .flatMap(({ values }) => values.slice(0, MAX_VALUES));
  const hints = values.map(({ text }) => hintValue(text)).filter((hint) => hint !== "");
  return [...new Set(hints)].join("; ");
}

/** Functions that return a hint for a value; an empty string for a known one. */
const VALUE_HINTS: Record<string, (value: string) => string> = {
  CharacteristicName(value) {
    if (CHARACTERISTICS.includes(value)) return "";
    const near = nearNames(value, CHARACTERISTICS);
    const [first] = near;
    if (first === undefined) return "no documented name is similar";
    const hint = suggestNames(near) ?? `${near.length} names begin so, such as "${first}"`;
    const differsInCase = first.toLowerCase() === value.toLowerCase();
    return differsInCase ? `values are case-sensitive, ${hint}` : hint;
  },
  RegionId(value) {
    if (REGION_IDS.includes(value)) return "";
    const names = nearNames(lastPart(value), [...REGIONS_BY_NAME.keys()]);
    // A region can be similar by its name and by its Id.
    const ids = new Set(names.map((name) => REGIONS_BY_NAME.get(name)!));
    return suggestNames([...ids]) ?? "it is not a documented region";
  },
};

/** Known values by field, in lists of the columns value and, for regions, name. */
export const KNOWN_VALUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  CharacteristicName: CHARACTERISTICS.map((name) => [name]),
  RegionId: REGIONS.flatMap(([, regions]) => Object.entries(regions)),
  ...Object.fromEntries(
    Object.entries(VALUES).map(([field, values]) => [field, values.map((value) => [value])]),
  ),
};

/** Ids of the documented regions. */
export const REGION_IDS: readonly string[] = REGIONS.flatMap(([, regions]) => Object.keys(regions));
/** Ids of the documented regions, by the last part of the Id and by the name, both in lower case. */
const REGIONS_BY_NAME = new Map(
  REGIONS.flatMap(([, regions]) =>
    Object.entries(regions).flatMap(([id, name]): [string, string][] => [
      [lastPart(id), id],
      [name.toLowerCase(), id],
    ])
  ),
);

/** Returns the part of an Id after its last dot: `pe` for `admin.4.ca.pe`. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}
