// Explains an empty result, and names the values that no row has. The command line and the web page show the same text.
import { DataStreamError, oneLine } from "../errors.ts";
import { clausesOf } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { describeClauses, hintValues, REGION_IDS } from "../odata/value_hints.ts";
import { type Clause, formatClauses } from "../odata/clause.ts";
import type { DataStream } from "./datastream.ts";
import type { AnyResourceQuery } from "./query.ts";

/** Why a query has no rows. */
export interface NoRowsReason {
  /** One sentence without a period. */
  text: string;
  /** Field of the clauses that no row matches; `undefined` for another reason. */
  field?: string | undefined;
  /** Whether one of the values in these clauses is not a documented one. */
  hasUnknownValue: boolean;
}

/** A condition that every row of a query must meet. */
interface Condition extends NoRowsReason {
  /** Counts what meets only this condition. */
  count(client: DataStream): Promise<number>;
  /** The conditions of the single values, if it is a list of which a row must have one. */
  values: readonly Condition[];
}

/** Maximum number of counts. */
const MAX_COUNTS = 20;

/**
 * Explains why a query has no rows: names the conditions that no row meets, with hints for their values.
 *
 * If there are several conditions, at most one count is requested for each, or for each value of a list.
 * Conditions with unknown values are counted first, and the others only if all of these have rows. If a count
 * fails, the result is less precise.
 *
 * @param query Options of the query that had no rows
 * @returns At least one reason
 */
export async function explainNoRows(
  client: DataStream,
  resource: ResourceName,
  query: Pick<AnyResourceQuery, "filter" | "within" | "unchecked" | "signal">,
): Promise<NoRowsReason[]> {
  const conditions = conditionsOf(resource, query);
  if (conditions.length < 2) {
    const text = query.filter === undefined ? "There are no rows" : "No row matches the filter";
    return conditions.length === 0
      ? [{ text, hasUnknownValue: false }]
      : conditions.flatMap(reasonsOf);
  }
  const empty: NoRowsReason[] = [];
  let isExplained = false;
  let counts = 0;
  // The result is complete without its explanation, so few attempts are enough.
  const counter = client.with({ retry: { attempts: 2 } });
  try {
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
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
  }
  if (isExplained) return empty;
  const text = "No row matches all filters together: remove one of them";
  return [...empty, { text, hasUnknownValue: false }];
}

/** Maximum number of values that one sentence names. */
const MAX_NAMED = 3;

/** Returns the reason that no row meets a condition; for a long list, one for each value. */
function reasonsOf(condition: Condition): readonly NoRowsReason[] {
  return condition.values.length > MAX_NAMED ? condition.values : [condition];
}

/** Returns the reason that no row has the values of some clauses of one field. */
function reasonOf(clauses: readonly Clause[]): NoRowsReason {
  const hint = hintValues(clauses);
  return {
    text: oneLine(`No row matches ${describeClauses(clauses)}${hint && `: ${hint}`}`),
    field: clauses[0]!.field,
    hasUnknownValue: hint !== "",
  };
}

/** Returns a clause for each value of a list of which a row must have one; none for other clauses. */
function clausesOfValues({ field, operator, values }: Clause): Clause[] {
  if (operator !== "in" || values.length < 2) return [];
  return values.map((value) => ({ field, operator: "eq", values: [value] }));
}

/** Returns the conditions of a query, those with unknown values first. */
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
      hasUnknownValue: false,
      // One request; the rows in a box can take many.
      count: (client) => client.locations({ within, signal }).count(),
      values: [],
    });
  }
  return conditions.sort((a, b) => Number(b.hasUnknownValue) - Number(a.hasUnknownValue));
}

/** Filter fields whose values rows can have. */
const ROW_FIELDS = [
  ...["DOI", "CharacteristicName", "ActivityMediaName", "MonitoringLocationType", "LocationId"],
];

/** Returns the field of the rows with the values of a filter field; `undefined` if they lack it. */
function rowFieldOf(resource: ResourceName, field: string): string | undefined {
  // The Id of a location is the LocationId of other resources.
  if (field === "LocationId" && resource === "Locations") return "Id";
  const fields: readonly string[] = fieldNames(resource);
  return ROW_FIELDS.includes(field) && fields.includes(field) ? field : undefined;
}

/** Returns the fields whose values in the rows are compared with the lists of a filter. */
export function comparedFields(
  resource: ResourceName,
  filter: AnyResourceQuery["filter"],
): string[] {
  return clausesOf(filter).filter((clause) => clausesOfValues(clause).length > 0)
    .flatMap(({ field }) => rowFieldOf(resource, field) ?? []);
}

/**
 * Returns the values of lists in the filter that no row matches, if other values matched.
 *
 * Unknown regions need no request. Unknown values of other fields are counted if there are no rows to compare with.
 *
 * @param found Distinct values of all rows by field; `undefined` if the rows were only counted
 */
export async function unmatchedValues(
  client: DataStream,
  resource: ResourceName,
  { filter, unchecked }: Pick<AnyResourceQuery, "filter" | "unchecked">,
  found: Readonly<Record<string, readonly string[]>> | undefined,
): Promise<NoRowsReason[]> {
  const counter = client.with({ retry: { attempts: 2 } });
  let counts = 0;
  const isUnmatched = async (clause: Clause) => {
    const { field, values: [value] } = clause;
    if (field === "RegionId") return !REGION_IDS.includes(value!.text);
    const rowField = rowFieldOf(resource, field);
    if (rowField === undefined) return false;
    const values = found?.[rowField];
    if (values !== undefined) {
      // DOIs are case-insensitive.
      const isSame = (text: string) =>
        text === value!.text || field === "DOI" && text.toLowerCase() === value!.text;
      return !values.some(isSame);
    }
    if (hintValues([clause]) === "" || counts++ === MAX_COUNTS) return false;
    return await counter.query(resource, { filter: formatClauses([clause]), unchecked }).count() ===
      0;
  };
  const reasons: NoRowsReason[] = [];
  try {
    for (const clause of clausesOf(filter).flatMap(clausesOfValues)) {
      if (await isUnmatched(clause)) reasons.push(reasonOf([clause]));
    }
  } catch (error) {
    // The rows are complete without this report.
    if (!(error instanceof DataStreamError)) throw error;
  }
  return reasons;
}
