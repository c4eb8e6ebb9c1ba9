// The command line and the web page show the same explanation of an empty result.
import { DataStreamError, oneLine } from "../errors.ts";
import { clausesOf } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { describeClauses, hintValues } from "../odata/value_hints.ts";
import { type Clause, comparedValue, formatClauses, valueClause } from "../odata/clause.ts";
import type { RowNotes } from "../formats/tidy.ts";
import type { DataStream } from "./datastream.ts";
import type { AnyResourceQuery } from "./query.ts";

export interface NoRowsReason {
  /** One sentence without a period. */
  text: string;
  /** `undefined` if the reason is not a clause; `Longitude` for a bounding box. */
  field?: string | undefined;
  /** Compared values. */
  terms?: readonly string[];
  /** Whether the list of known values lacks a value. Default false */
  hasUnknownValue?: boolean;
}

interface Condition extends NoRowsReason {
  /** Counts rows that meet only this condition. */
  count(client: DataStream): Promise<number>;
  values: readonly Condition[];
}

const MAX_COUNTS = 20;

/** The result is complete without its explanation. */
const FEW_ATTEMPTS = { retry: { attempts: 2 } };

/** A failed request makes an explanation less precise. */
async function ignoreFailure<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return undefined;
  }
}

/**
 * Names the conditions that no row meets. Requests at most one count for each condition or value of
 * a list: first for those with unknown values, and for the others only if all of these have rows.
 * If a count fails, the result is less precise.
 */
export async function explainNoRows(
  client: DataStream,
  resource: ResourceName,
  query: Pick<
    AnyResourceQuery,
    "filter" | "within" | "unchecked" | "signal" | "from" | "to" | "excludeQualityControl"
  >,
): Promise<NoRowsReason[]> {
  const { filter, within, unchecked, signal, from, to, excludeQualityControl } = query;
  const counter = client.with(FEW_ATTEMPTS);
  if (from !== undefined || to !== undefined || excludeQualityControl) {
    // The service cannot select all days, and no quality control.
    const selection = { filter, within, unchecked, signal, from, to };
    const rows = await ignoreFailure(() => counter.query(resource, selection).count()) ?? 0;
    const text =
      "Rows match the filters, but all are left out: by their date, or as quality control";
    if (rows > 0) return [{ text }];
  }
  const conditions = conditionsOf(resource, query);
  if (conditions.length === 0) {
    return [{ text: filter === undefined ? "There are no rows" : "No row matches the filter" }];
  }
  if (conditions.length === 1) return [...reasonsOf(conditions[0]!)];
  const empty: NoRowsReason[] = [];
  let isExplained = false;
  let counts = 0;
  await ignoreFailure(async () => {
    for (const condition of conditions) {
      if (isExplained && !condition.hasUnknownValue) break;
      const { values } = condition;
      const parts = values.length > 0 && values.length <= MAX_COUNTS ? values : [condition];
      counts += parts.length;
      if (counts > MAX_COUNTS) break;
      const emptyParts: Condition[] = [];
      for (const part of parts) if (await part.count(counter) === 0) emptyParts.push(part);
      const isEmpty = emptyParts.length === parts.length;
      isExplained ||= isEmpty;
      empty.push(...isEmpty ? reasonsOf(condition) : emptyParts);
    }
  });
  if (isExplained) return empty;
  return [...empty, { text: "No row matches all filters together: remove one of them" }];
}

const MAX_NAMED = 3;

/** Returns one reason, or one for each value of a long list. */
function reasonsOf(condition: Condition): readonly NoRowsReason[] {
  return condition.values.length > MAX_NAMED ? condition.values : [condition];
}

function reasonOf(clauses: readonly Clause[]): NoRowsReason {
  const hint = hintValues(clauses);
  return {
    text: oneLine(`No row matches ${describeClauses(clauses)}${hint && `: ${hint}`}`),
    field: clauses[0]!.field,
    terms: clauses.flatMap(({ values }) => values.map(({ text }) => text)),
    hasUnknownValue: hint !== "",
  };
}

function clausesOfValues({ field, operator, values }: Clause): Clause[] {
  if (operator !== "in" || values.length < 2) return [];
  return values.map((value) => ({ field, operator: "eq", values: [value] }));
}

function conditionsOf(
  resource: ResourceName,
  { filter, within, unchecked, signal }: Parameters<typeof explainNoRows>[2],
): Condition[] {
  const clauses = clausesOf(filter);
  const fields = [...new Set(clauses.map(({ field }) => field))];
  const toCondition = (ofField: readonly Clause[]): Condition => ({
    ...reasonOf(ofField),
    count: (client) =>
      client.query(resource, { filter: formatClauses(ofField), unchecked, signal }).count(),
    values: ofField.length > 1
      ? []
      : clausesOfValues(ofField[0]!).map((clause) => toCondition([clause])),
  });
  const conditions = fields.map((field) =>
    toCondition(clauses.filter((clause) => clause.field === field))
  );
  if (within !== undefined) {
    const { west, south, east, north } = within;
    const box = `west ${west}, south ${south}, east ${east}, north ${north}`;
    conditions.push({
      text: `No row is inside the bounding box ${box}`,
      field: "Longitude",
      // One request; the rows in a box can take many.
      count: (client) => client.locations({ within, signal }).count(),
      values: [],
    });
  }
  const rank = ({ hasUnknownValue }: Condition) => hasUnknownValue ? 0 : 1;
  return conditions.sort((a, b) => rank(a) - rank(b));
}

const ROW_FIELDS = [
  "DOI",
  "CharacteristicName",
  "ActivityMediaName",
  "MonitoringLocationType",
  "LocationId",
];

function rowFieldOf(resource: ResourceName, field: string): string | undefined {
  // The Id of a location is the LocationId of other resources.
  if (field === "LocationId" && resource === "Locations") return "Id";
  const fields: readonly string[] = fieldNames(resource);
  return ROW_FIELDS.includes(field) && fields.includes(field) ? field : undefined;
}

export function comparedFields(
  resource: ResourceName,
  filter: AnyResourceQuery["filter"],
): string[] {
  return clausesOf(filter).filter((clause) => clausesOfValues(clause).length > 0)
    .flatMap(({ field }) => rowFieldOf(resource, field) ?? []);
}

/** Datasets and locations only; `undefined` for another field. */
async function findExisting(client: DataStream, list: Clause): Promise<string[] | undefined> {
  const filter = formatClauses([list]);
  if (list.field === "DOI") {
    const datasets = client.metadata({ filter, select: ["DOI"] });
    return (await datasets.toArray()).map(({ DOI }) => DOI);
  }
  if (list.field !== "LocationId") return undefined;
  return (await client.locations({ filter, select: ["Id"] }).toArray()).map(({ Id }) => `${Id}`);
}

/**
 * Values of lists that no row matches, if other values matched. If the rows lack a field, its datasets or locations are
 * requested, and unknown values of other fields are counted. With `onCount`, the rows of each listed value are counted
 * instead, of at most 20 values. `onCount` gets the number of counts before them, and of the values of the list.
 */
export async function unmatchedValues(
  client: DataStream,
  resource: ResourceName,
  { filter, within, unchecked, signal }: Pick<
    AnyResourceQuery,
    "filter" | "within" | "unchecked" | "signal"
  >,
  found: Readonly<Record<string, readonly string[]>> | undefined,
  onCount?: (field: string, counts: number, values: number) => void,
): Promise<NoRowsReason[]> {
  const counter = client.with(FEW_ATTEMPTS);
  const all = clausesOf(filter);
  let counts = 0;
  const hasNoRows = async (clauses: readonly Clause[]) => {
    if (counts++ >= MAX_COUNTS) return false;
    const selection = { filter: formatClauses(clauses), within, unchecked, signal };
    return await counter.query(resource, selection).count() === 0;
  };
  const isAmong = ({ field, values: [value] }: Clause, values: readonly string[]) => {
    // DOIs are case-insensitive.
    const valueOf = (text: string) =>
      comparedValue(field, { text: field === "DOI" ? text.toLowerCase() : text, quoted: true });
    return values.some((other) => valueOf(other) === valueOf(value!.text));
  };
  const reasons: NoRowsReason[] = [];
  await ignoreFailure(async () => {
    for (const list of all) {
      const clauses = clausesOfValues(list);
      if (clauses.length === 0) continue;
      const isShort = onCount !== undefined && clauses.length <= MAX_COUNTS;
      // Rows that were only counted, or that lack the field, are not compared.
      const values = found?.[rowFieldOf(resource, list.field) ?? ""] ??
        (isShort ? undefined : await findExisting(counter, list));
      if (values === undefined) {
        onCount?.(list.field, Math.min(clauses.length, MAX_COUNTS - counts), clauses.length);
      }
      const others = all.filter((clause) => clause !== list);
      for (const clause of clauses) {
        const isUnmatched = values !== undefined
          ? !isAmong(clause, values)
          : onCount !== undefined || hintValues([clause]) !== ""
          ? await hasNoRows([...others, clause])
          : false;
        if (isUnmatched) reasons.push(reasonOf([clause]));
      }
    }
  });
  return reasons;
}

export function describeUnusedUnits(
  units: Readonly<Record<string, string>> = {},
  { forms = {} }: RowNotes = {},
): string[] {
  return Object.keys(units).filter((name) => !Object.hasOwn(forms, name)).map((name) => {
    const hint = hintValues([valueClause("CharacteristicName", "eq", name)]);
    return oneLine(`The unit of no row of "${name}" was converted${hint && `: ${hint}`}`);
  });
}
