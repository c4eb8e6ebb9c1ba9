import { nearNames, suggestNames } from "../validation.ts";
// Values of DataStream's schema 3.0.0 (2026-07-14), and regions of DataStream Public API, "URL Parameters",
// `$filter`. The service can have more, so use the lists for suggestions and not for validation.
import CHARACTERISTICS from "./characteristics.json" with { type: "json" };
import REGIONS from "./regions.json" with { type: "json" };
import VALUES from "./values.json" with { type: "json" };
import { type Clause, formatClauses } from "./clause.ts";

const FIELD_NOUNS = new Map([
  ["DOI", "dataset"],
  ["RegionId", "region"],
  ["CharacteristicName", "characteristic"],
  ["ActivityStartYear", "year"],
]);
const OPERATOR_WORDS = new Map([["eq", ""], ["in", ""], ["gte", " from"], ["lte", " up to"]]);
const MAX_VALUES = 3;

/** Returns a text such as `characteristic "pH"` or `year from 2010 up to 2019`. */
export function describeClauses(clauses: readonly Clause[]): string {
  const noun = FIELD_NOUNS.get(clauses[0]!.field);
  if (noun === undefined || clauses.some(({ operator }) => !OPERATOR_WORDS.has(operator))) {
    return formatClauses(clauses);
  }
  return noun + clauses.map(({ operator, values }) => {
    const names = values.slice(0, MAX_VALUES).map(({ text, quoted }) => {
      const region = noun === "region" ? REGION_NAMES.get(text) : undefined;
      return (quoted ? `"${text}"` : text) + (region === undefined ? "" : ` (${region})`);
    });
    const others = values.length - names.length;
    if (others > 0) names.push(`${others} others`);
    return `${OPERATOR_WORDS.get(operator)} ${names.join(" or ")}`;
  }).join("");
}

export function hintValues(clauses: readonly Clause[]): string {
  const hintValue = VALUE_HINTS[clauses[0]!.field];
  if (hintValue === undefined) return "";
  const values = clauses.filter(({ operator }) => operator === "eq" || operator === "in")
    .flatMap(({ values }) => values.slice(0, MAX_VALUES));
  const hints = values.map(({ text }) => hintValue(text)).filter((hint) => hint !== "");
  return [...new Set(hints)].join("; ");
}

const VALUE_HINTS: Record<string, (value: string) => string> = {
  CharacteristicName: (value) => hintName(value, CHARACTERISTICS),
  ActivityMediaName: (value) => hintName(value, VALUES.ActivityMediaName),
  MonitoringLocationType: (value) => hintName(value, VALUES.MonitoringLocationType),
  RegionId(value) {
    if (REGION_NAMES.has(value)) return "";
    const names = nearNames(lastPart(value), [...REGIONS_BY_NAME.keys()]);
    // A region can be similar by its name and by its Id.
    const ids = new Set(names.map((name) => REGIONS_BY_NAME.get(name)!));
    return suggestNames([...ids]) ?? "it is not a documented region";
  },
};

function hintName(value: string, known: readonly string[]): string {
  if (known.includes(value)) return "";
  const near = nearNames(value, known);
  const [first] = near;
  if (first === undefined) return "no documented name is similar";
  const hint = suggestNames(near) ?? `${near.length} names begin with it, such as "${first}"`;
  const differsInCase = first.toLowerCase() === value.toLowerCase();
  return differsInCase ? `values are case-sensitive, ${hint}` : hint;
}

/** Lists of value and, for regions, name. */
export const KNOWN_VALUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  CharacteristicName: CHARACTERISTICS.map((name) => [name]),
  RegionId: Object.entries(REGIONS),
  ...Object.fromEntries(
    Object.entries(VALUES).map(([field, values]) => [field, values.map((value) => [value])]),
  ),
};

export const REGION_NAMES: ReadonlyMap<string, string> = new Map(Object.entries(REGIONS));
/** Keys are the last part of the Id and the name, both in lower case. */
const REGIONS_BY_NAME = new Map(
  Object.entries(REGIONS).flatMap(([id, name]): [string, string][] => [
    [lastPart(id), id],
    [name.toLowerCase(), id],
  ]),
);

/** `pe` for `admin.4.ca.pe`. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}
