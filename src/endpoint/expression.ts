/** One variable of an expression. */
export interface Variable {
  name: string;
  /** `*` explodes a list or an object; a number takes so many characters of a text. */
  modifier: "" | "*" | number;
}

/** One expression of a template. */
export interface Expression {
  operator: "" | "+" | "#" | "." | "/" | ";" | "?" | "&";
  variables: readonly Variable[];
}

const VARIABLE = /^((?:[\w.]|%[\dA-Fa-f]{2})+)(\*|:[1-9]\d{0,3})?$/;
/** A dot stands between two characters of a name. */
const WRONG_DOT = /^\.|\.\.|\.$/;

/**
 * The expression that stands at a mark of a template.
 *
 * @param inner What stands in the braces; undefined for a brace without its other half
 * @param mark The mark as it stands in the template
 * @param index Where, counted from 0
 * @param template The whole template
 * @throws {SyntaxError} If it is none of RFC 6570
 */
export function expressionOf(
  inner: string | undefined,
  mark: string,
  index: number,
  template: string,
): Expression {
  const fail = (wanted: string, expression: string): never => {
    const shown = expression.length > 60 ? `${expression.slice(0, 60)}…` : expression;
    throw new SyntaxError(
      `Cannot parse the URI template: wanted ${wanted}, got "${shown}" at character ${index + 1}`,
    );
  };
  if (inner === undefined) {
    return mark === "{"
      ? fail('an expression that ends with "}"', template.slice(index))
      : fail('"{" before this', template.slice(index));
  }
  const operator = /^[+#./;?&]/.exec(inner)?.[0] ?? "";
  const variables = inner.slice(operator.length).split(",").map((text): Variable => {
    const [, name, modifier] = VARIABLE.exec(text) ?? [];
    if (name === undefined || WRONG_DOT.test(name)) {
      return fail("names of letters, digits, _ and %XX, with * or :length after them", mark);
    }
    return {
      name,
      modifier: modifier === undefined ? "" : modifier === "*" ? "*" : Number(modifier.slice(1)),
    };
  });
  return { operator: operator as Expression["operator"], variables };
}
