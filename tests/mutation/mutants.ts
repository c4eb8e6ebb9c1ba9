import ts from "typescript";

export interface Mutant {
  file: string;
  line: number;
  /** Offset of the replaced text in the file, in UTF-16 code units. */
  start: number;
  end: number;
  replacement: string;
  /** Kind of the change, such as `negated condition`. */
  kind: string;
}

const { SyntaxKind } = ts;

const OPERATORS: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [SyntaxKind.LessThanToken, "<="],
  [SyntaxKind.LessThanEqualsToken, "<"],
  [SyntaxKind.GreaterThanToken, ">="],
  [SyntaxKind.GreaterThanEqualsToken, ">"],
  [SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [SyntaxKind.ExclamationEqualsEqualsToken, "==="],
  [SyntaxKind.PlusToken, "-"],
  [SyntaxKind.MinusToken, "+"],
  [SyntaxKind.AsteriskToken, "/"],
  [SyntaxKind.SlashToken, "*"],
  [SyntaxKind.PercentToken, "*"],
  [SyntaxKind.AmpersandToken, "|"],
  [SyntaxKind.BarToken, "&"],
  [SyntaxKind.LessThanLessThanToken, ">>"],
  [SyntaxKind.GreaterThanGreaterThanToken, "<<"],
  [SyntaxKind.AmpersandAmpersandToken, "||"],
  [SyntaxKind.BarBarToken, "&&"],
  [SyntaxKind.PlusEqualsToken, "-="],
  [SyntaxKind.MinusEqualsToken, "+="],
  [SyntaxKind.BarBarEqualsToken, "&&="],
  [SyntaxKind.QuestionQuestionEqualsToken, "="],
]);

const METHODS: Readonly<Record<string, string>> = {
  every: "some",
  some: "every",
  startsWith: "endsWith",
  endsWith: "startsWith",
  toLowerCase: "toUpperCase",
  toUpperCase: "toLowerCase",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
};

/** Lists the mutants of a file. Types, imports, comments and property names stay unchanged. */
export function findMutants(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const replace = (start: number, end: number, replacement: string, kind: string) => {
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    mutants.push({ file, line, start, end, replacement, kind });
  };
  const replaceNode = (node: ts.Node, replacement: string, kind: string) =>
    replace(node.getStart(source), node.end, replacement, kind);

  const visit = (node: ts.Node): void => {
    if (isSkipped(node)) return;
    if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) {
      negate(node.expression);
    } else if (ts.isConditionalExpression(node)) {
      negate(node.condition);
    } else if (ts.isForStatement(node) && node.condition !== undefined) {
      negate(node.condition);
    } else if (ts.isBinaryExpression(node)) {
      mutateBinary(node);
    } else if (ts.isPrefixUnaryExpression(node)) {
      mutatePrefix(node);
    } else if (ts.isPostfixUnaryExpression(node)) {
      const operator = node.operator === SyntaxKind.PlusPlusToken ? "--" : "++";
      replace(node.operand.end, node.end, operator, "arithmetic operator");
    } else if (ts.isExpressionStatement(node) || ts.isThrowStatement(node)) {
      replaceNode(node, ";", "removed statement");
    } else if (ts.isBreakStatement(node) || ts.isContinueStatement(node)) {
      replaceNode(node, ";", "removed statement");
    } else if (ts.isReturnStatement(node) && node.expression !== undefined) {
      replaceNode(node.expression, "(undefined as never)", "return value");
    } else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) {
      replaceNode(node.body, "(undefined as never)", "return value");
    } else if (node.kind === SyntaxKind.QuestionDotToken) {
      // Without the `!`, the type check would reject each of these mutants.
      const isName = text[node.end] !== "[" && text[node.end] !== "(";
      replaceNode(node, isName ? "!." : "!", "optional chaining");
    } else if (ts.isPropertyAccessExpression(node) && Object.hasOwn(METHODS, node.name.text)) {
      replaceNode(node.name, METHODS[node.name.text]!, "other method");
    } else mutateLiteral(node);
    ts.forEachChild(node, visit);
  };

  const negate = (condition: ts.Expression) =>
    replaceNode(condition, `!(${condition.getText(source)})`, "negated condition");

  const mutateBinary = ({ left, operatorToken, right }: ts.BinaryExpression) => {
    const other = OPERATORS.get(operatorToken.kind);
    if (other !== undefined) replaceNode(operatorToken, other, "operator");
    if (operatorToken.kind === SyntaxKind.QuestionQuestionToken) {
      replace(left.end, right.end, "!", "removed default");
    }
  };

  const mutatePrefix = ({ operator, operand }: ts.PrefixUnaryExpression) => {
    const start = operand.getStart(source) - 1;
    if (operator === SyntaxKind.ExclamationToken) replace(start, start + 1, "", "operator");
    if (operator === SyntaxKind.MinusToken) replace(start, start + 1, "", "operator");
    if (operator === SyntaxKind.PlusPlusToken) replace(start - 1, start + 1, "--", "operator");
    if (operator === SyntaxKind.MinusMinusToken) replace(start - 1, start + 1, "++", "operator");
  };

  const mutateLiteral = (node: ts.Node) => {
    if (node.kind === SyntaxKind.TrueKeyword) replaceNode(node, "false", "boolean");
    else if (node.kind === SyntaxKind.FalseKeyword) replaceNode(node, "true", "boolean");
    else if (ts.isNumericLiteral(node)) {
      replaceNode(node, String(Number(node.text) + 1), "number");
    } else if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
      // A template tag must be followed by a template.
      const quote = ts.isStringLiteral(node) ? '"' : "`";
      replaceNode(node, quote + (node.text === "" ? "mutant" : "") + quote, "string");
    } else if (ts.isTemplateExpression(node)) {
      replaceNode(node, "``", "string");
    } else if (ts.isRegularExpressionLiteral(node)) {
      for (const { at, length, replacement } of regexMutations(node.text)) {
        const start = node.getStart(source) + at;
        replace(start, start + length, replacement, "regular expression");
      }
    } else if (ts.isArrayLiteralExpression(node) && node.elements.length > 0) {
      if (!isAssigned(node)) replaceNode(node, "[]", "emptied list");
    } else if (ts.isObjectLiteralExpression(node) && node.properties.length > 0) {
      if (!isAssigned(node)) replaceNode(node, "{}", "emptied object");
    }
  };

  visit(source);
  return mutants.sort((a, b) => a.start - b.start || a.end - b.end);
}

export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Whether a node has no effect at run time or a change of it would not compile. */
function isSkipped(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
    return true;
  }
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return true;
  const { parent } = node;
  // Names of members and the specifier of `import()`.
  if (parent === undefined) return false;
  if (ts.isStringLiteral(node) || ts.isNumericLiteral(node)) {
    if ("name" in parent && parent.name === node) return true;
    if (ts.isCallExpression(parent) && parent.expression.kind === SyntaxKind.ImportKeyword) {
      return true;
    }
  }
  return false;
}

/** Whether an array or object literal is a destructuring pattern. */
function isAssigned(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent)) {
    return parent.left === node && parent.operatorToken.kind === SyntaxKind.EqualsToken;
  }
  return ts.isForOfStatement(parent) && parent.initializer === node;
}

interface RegexMutation {
  at: number;
  length: number;
  replacement: string;
}

/** Lists changes of a regular expression's quantifiers, anchors, character classes and lookarounds. */
function regexMutations(literal: string): RegexMutation[] {
  const found: RegexMutation[] = [];
  const end = literal.lastIndexOf("/");
  let inClass = false;
  for (let at = 1; at < end; at++) {
    const character = literal[at]!;
    const add = (replacement: string, length = 1) => found.push({ at, length, replacement });
    if (character === "\\") at++;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") {
      inClass = true;
      if (literal[at + 1] === "^") add("[", 2);
      else add("[^");
    } else if (literal.startsWith("(?", at)) {
      const [opening] = /^\(\?(?:<?[=!]|:|<[^>]*>)/.exec(literal.slice(at)) ?? ["(?"];
      if (/[=!]$/.test(opening)) {
        add(opening.slice(0, -1) + (opening.endsWith("=") ? "!" : "="), opening.length);
      }
      at += opening.length - 1;
    } else if (character === "*") add("+");
    else if (character === "+") add("*");
    else if (character === "?" || character === "^" || character === "$") add("");
  }
  return found;
}
