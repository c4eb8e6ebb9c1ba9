/** A comparison of a field with one literal. */
export type Comparison = "eq" | "ne" | "lt" | "lte" | "gt" | "gte";

/** A literal as it stands in a filter: `'pH'` is quoted, `2015` is not. */
export interface Literal {
  /** The text without its quotes, a quote inside it once. */
  text: string;
  /** Whether it stands in quotes. */
  quoted: boolean;
}

/**
 * One condition of a filter.
 *
 * @typeParam F The name that it compares
 */
export interface Clause<F extends string = string> {
  /** The name that is compared. */
  field: F;
  /** How it is compared. */
  operator: Comparison | "in" | "endswith";
  /** One literal, or the list of an `in`. */
  values: readonly Literal[];
}

/** The text of a filter that rows meet which meet every clause, as the service takes it. */
export function formatClauses(clauses: readonly Clause[]): string {
  return clauses.map(formatClause).join(" and ");
}

function formatClause({ field, operator, values }: Clause): string {
  const texts = values.map(({ text, quoted }) => quoted ? `'${text.replaceAll("'", "''")}'` : text);
  if (operator === "endswith") return `endswith(${field}, ${texts[0]})`;
  return `${field} ${operator} ${operator === "in" ? `(${texts.join(",")})` : texts[0]}`;
}
