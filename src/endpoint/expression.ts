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

const CHARACTER = "(?:\\w|%[\\dA-Fa-f]{2})";
const VARIABLE = `${CHARACTER}(?:\\.?${CHARACTER})*(?:\\*|:[1-9]\\d{0,3})?`;
// Each alternative starts with its own characters and nothing follows the outer repetition, so that
// the time is linear for malformed text too.
const WELL_FORMED = new RegExp(`^(?:[^{}]+|{[+#./;?&]?${VARIABLE}(?:,${VARIABLE})*})*`);
/** Maximum length of an expression shown in an error message. */
const MAX_SHOWN = 60;

/**
 * Checks a template against the grammar of RFC 6570, section 2.
 *
 * @throws {SyntaxError} If it is malformed; the message names the position and the expression
 */
export function checkExpressions(template: string): void {
  const { length } = WELL_FORMED.exec(template)![0];
  if (length === template.length) return;
  const [wrong] = /^(?:{[^{}]*}?|})/.exec(template.slice(length))!;
  const shown = wrong.length > MAX_SHOWN ? `${wrong.slice(0, MAX_SHOWN)}…` : wrong;
  throw new SyntaxError(
    'Cannot parse the URI template: wanted expressions such as "{name}", "{?list*}" or "{+path:9}", ' +
      `got "${shown}" at character ${length + 1}${dollarHint(shown)}`,
  );
}

/** How to write an expression whose only fault is `$`, which no variable name can contain. */
function dollarHint(expression: string): string {
  const encoded = expression.replaceAll("$", "%24");
  if (encoded === expression || WELL_FORMED.exec(encoded)![0] !== encoded) return "";
  const names = encoded.match(/[\w.%]*%24[\w.%]*/g)!;
  return `: write "${encoded}" and pass the option "${names.join('", "')}"`;
}

/** What stands in the braces of a well-formed expression, in its parts. */
export function expressionOf(inner: string): Expression {
  const [, operator, list] = /^([+#./;?&]?)(.*)/.exec(inner)!;
  const variables = list!.split(",").map((variable): Variable => {
    const [name, length] = variable.split(/[*:]/);
    return {
      name: name!,
      modifier: length === undefined ? "" : length === "" ? "*" : Number(length),
    };
  });
  return { operator: operator as Expression["operator"], variables };
}
