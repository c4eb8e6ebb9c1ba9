// Explains an empty result. The command line and the web page show the same text.
import { DataStreamError, oneLine } from "../errors.ts";
import { clausesOf } from "../odata/query_options.ts";
import type { ResourceName } from "../odata/resources.ts";
import { describeClauses, hintValues } from "../odata/value_hints.ts";
import { formatClauses } from "../odata/clause.ts";
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
}

/** Maximum number of conditions to count. */
const MAX_COUNTS = 10;

/**
 * Explains why a query has no rows: names the conditions that no row meets, with hints for their values.
 *
 * If there are several conditions, at most one count is requested for each. Those with unknown values are
 * counted first, and the others only if all of these have rows. If a count fails, the result is less
 * precise.
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
    return conditions.length === 0 ? [{ text, hasUnknownValue: false }] : conditions;
  }
  const empty: NoRowsReason[] = [];
  // The result is complete without its explanation, so few attempts are enough.
  const counter = client.with({ retry: { attempts: 2 } });
  try {
    for (const condition of conditions.slice(0, MAX_COUNTS)) {
      if (empty.length > 0 && !condition.hasUnknownValue) break;
      if (await condition.count(counter) === 0) empty.push(condition);
    }
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
  }
  if (empty.length > 0) return empty;
  const text = "No row matches all filters together: remove one of them";
  return [{ text, hasUnknownValue: false }];
}

/** Returns the conditions of a query, those with unknown values first. */
function conditionsOf(
  resource: ResourceName,
  { filter, within, unchecked, signal }: Parameters<typeof explainNoRows>[2],
): Condition[] {
  const clauses = clausesOf(filter);
  const fields = [...new Set(clauses.map(({ field }) => field))];
  const conditions = fields.map((field): Condition => {
    const ofField = clauses.filter((clause) => clause.field === field);
    const hint = hintValues(ofField);
    return {
      text: oneLine(`No row matches ${describeClauses(ofField)}${hint && `: ${hint}`}`),
      field,
      hasUnknownValue: hint !== "",
      count: (client) =>
        client.query(resource, { filter: formatClauses(ofField), unchecked, signal }).count(),
    };
  });
  if (within !== undefined) {
    const { west, south, east, north } = within;
    const box = `west ${west}, south ${south}, east ${east}, north ${north}`;
    conditions.push({
      text: `No row is inside the bounding box ${box}`,
      hasUnknownValue: false,
      // One request; the rows in a box can take many.
      count: (client) => client.locations({ within, signal }).count(),
    });
  }
  return conditions.sort((a, b) => Number(b.hasUnknownValue) - Number(a.hasUnknownValue));
}
