import { ValidationError } from "../errors.ts";
import { type Clause, comparedValue, formatClauses } from "./clause.ts";
import type { FilterField, ResourceName } from "./resources.ts";

/** Fields with one value per measurement. A measurement without a start date has no year. */
const MEASUREMENT_FIELDS: readonly FilterField[] = [
  "DOI",
  "LocationId",
  "ActivityMediaName",
  "CharacteristicName",
  "MonitoringLocationType",
  "ActivityStartYear",
  "ActivityStartDateYear",
];

/** Fields whose lists can be split without returning a row twice: a row has one value. */
const SINGLE_VALUED_FIELDS: Record<ResourceName, readonly FilterField[]> = {
  Metadata: ["Id", "DOI", "DatasetName"],
  Locations: ["DOI", "LocationId", "MonitoringLocationType", "Name"],
  Observations: MEASUREMENT_FIELDS,
  Records: MEASUREMENT_FIELDS,
};

/**
 * Gives each field with one value per row at most one list. Two lists of another field stay: one row can match each of
 * them by another value, such as a location that is in two regions.
 */
export function intersectLists(resource: ResourceName, clauses: readonly Clause[]): Clause[] {
  const fields: readonly string[] = SINGLE_VALUED_FIELDS[resource];
  const isList = ({ field, operator }: Clause) => operator === "in" && fields.includes(field);
  const lists = new Map<string, Clause>();
  for (const { field, values, ...clause } of clauses.filter(isList)) {
    const found = new Set(values.map((value) => comparedValue(field, value)));
    const earlier = lists.get(field)?.values ?? values;
    const common = earlier.filter((value) => found.has(comparedValue(field, value)));
    lists.set(field, { ...clause, field, values: common });
  }
  return [...clauses.filter((clause) => !isList(clause)), ...lists.values()];
}

export interface SplitFilter {
  shared: readonly Clause[];
  /** One `in` clause per long list. One group without clauses, if the filter is short. */
  groups: readonly (readonly Clause[])[];
}

/**
 * Each row matches one group. Splits as few lists as possible, or more if that makes fewer groups. Returns `undefined` if
 * no list can be split, or its pieces would still be too long.
 */
export function splitLongLists(
  resource: ResourceName,
  clauses: readonly Clause[],
  room: number,
): SplitFilter | undefined {
  const length = encodedLength(formatClauses(clauses));
  if (length <= room) return { shared: clauses, groups: [[]] };
  const lists = clauses.filter((clause) => isSplittable(resource, clause))
    .map((clause) => ({ clause, lengths: clause.values.map((value) => lengthIn(clause, value)) }))
    .map((list) => ({ ...list, length: list.lengths.reduce((sum, one) => sum + one, 0) }))
    .sort((a, b) => b.length - a.length);
  let best: Map<Clause, Clause[]> | undefined;
  let fewest = Infinity;
  for (let count = 1; count <= lists.length; count++) {
    const split = lists.slice(0, count);
    const rest = length - split.reduce((sum, list) => sum + list.length, 0);
    const share = Math.floor((room - rest) / count);
    if (split.some(({ lengths }) => lengths.some((one) => one > share))) continue;
    const pieces = new Map(
      split.map(({ clause, lengths }) => [clause, piecesOf(clause, lengths, share)]),
    );
    const groups = [...pieces.values()].reduce((product, { length }) => product * length, 1);
    if (groups < fewest) [fewest, best] = [groups, pieces];
  }
  if (best === undefined) return undefined;
  let groups: Clause[][] = [[]];
  for (const clause of clauses) {
    const pieces = best.get(clause);
    if (pieces) groups = groups.flatMap((group) => pieces.map((piece) => [...group, piece]));
  }
  return { shared: clauses.filter((clause) => !best.has(clause)), groups };
}

function isSplittable(resource: ResourceName, { field, operator, values }: Clause): boolean {
  const fields: readonly string[] = SINGLE_VALUED_FIELDS[resource];
  return operator === "in" && values.length > 1 && fields.includes(field);
}

function lengthIn(clause: Clause, value: Clause["values"][number]): number {
  const lengthOf = (values: Clause["values"]) =>
    encodedLength(formatClauses([{ ...clause, values }]));
  return lengthOf([value, value]) - lengthOf([value]);
}

function piecesOf(clause: Clause, lengths: readonly number[], room: number): Clause[] {
  const pieces: Clause["values"][number][][] = [];
  let free = 0;
  for (const [index, value] of clause.values.entries()) {
    if (lengths[index]! > free) {
      pieces.push([]);
      free = room;
    }
    pieces.at(-1)!.push(value);
    free -= lengths[index]!;
  }
  return pieces.map((values) => ({ ...clause, values }));
}

/** Length in bytes (RFC 3986, section 2.3). */
function encodedLength(text: string): number {
  return encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, "%27").length;
}

/** Error for clauses that {@linkcode splitLongLists} cannot split. */
export function tooLongError(
  resource: ResourceName,
  clauses: readonly Clause[],
  room: number,
): ValidationError {
  const length = encodedLength(formatClauses(clauses));
  const problem = `has ${length} bytes in the URL, more than ${room}`;
  const fields: readonly string[] = SINGLE_VALUED_FIELDS[resource];
  const [list] = clauses
    .filter(({ field, operator }) => operator === "in" && !fields.includes(field))
    .sort((a, b) => b.values.length - a.values.length);
  const hint = list === undefined
    ? "use shorter values, or several queries"
    : `the list of ${list.field} cannot be split, because one row of ${resource} can match several of its ` +
      `values: send several queries and keep each Id once, or use a list of ${fields.join(", ")}`;
  return new ValidationError("filter", problem, { hint });
}
