import { type Clause, formatClauses } from "./clause.ts";

/** What people filter by most; empty lists and what is undefined are left out. */
export interface CommonConditions {
  dois?: readonly string[];
  regions?: readonly string[];
  characteristics?: readonly string[];
  /** The first year of `ActivityStartYear`. */
  from?: number | undefined;
  /** The last year of `ActivityStartYear`. */
  to?: number | undefined;
}

/** The filter that rows meet which meet all conditions; undefined where there are none. */
export function commonFilter(
  { dois = [], regions = [], characteristics = [], from, to }: CommonConditions,
): string | undefined {
  const clauses = [
    ...oneOf("DOI", dois),
    ...oneOf("RegionId", regions),
    ...oneOf("CharacteristicName", characteristics),
    ...year("gte", from),
    ...year("lte", to),
  ];
  return clauses.length === 0 ? undefined : formatClauses(clauses);
}

function oneOf(field: string, texts: readonly string[]): Clause[] {
  if (texts.length === 0) return [];
  const operator = texts.length === 1 ? "eq" : "in";
  return [{ field, operator, values: texts.map((text) => ({ text, quoted: true })) }];
}

function year(operator: "gte" | "lte", bound: number | undefined): Clause[] {
  if (bound === undefined) return [];
  const values = [{ text: String(bound), quoted: false }];
  return [{ field: "ActivityStartYear", operator, values }];
}
