import { ValidationError } from "./errors.ts";

/** `undefined` passes every check. */
export interface OptionRule {
  default?: unknown;
  type?: "boolean" | "function" | "string";
  values?: readonly string[];
  min?: number;
  /** Default: none; then `Infinity` is valid. */
  max?: number;
  // deno-lint-ignore no-explicit-any -- the type of the option
  check?: (option: string, value: any) => void;
}

export type WithDefaults<T, R extends Record<keyof T, OptionRule>> = {
  [Name in keyof T]-?:
    | Exclude<T[Name], undefined>
    | (R[Name] extends { default: infer Default } ? Default : undefined);
};

/** A misspelt option would otherwise be ignored. */
export function readOptions<T extends object, R extends Record<keyof T, OptionRule>>(
  owner: string,
  options: T,
  rules: R,
  path = "",
  option: string = path || "options",
): WithDefaults<T, R> {
  const known = Object.keys(rules);
  const given = readMembers(option, options, known);
  const nameOf = (name: string) => path ? `${path}.${name}` : name;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const problem = `is not an option of ${owner}`;
    throw invalidOption(nameOf(unknown), problem, undefined, suggestBySpelling(unknown, known));
  }
  for (const [name, rule] of Object.entries<OptionRule>(rules)) {
    if (given[name] === undefined) given[name] = rule.default;
    else requireRule(nameOf(name), given[name], rule);
  }
  return given as WithDefaults<T, R>;
}

export function requireRule(
  option: string,
  value: unknown,
  { type, values, min, max, check }: OptionRule,
): void {
  if (type !== undefined) requireType(option, value, type);
  if (values !== undefined) requireOneOf(option, value, values);
  if (min !== undefined) requireWholeNumber(option, value, min, max);
  check?.(option, value);
}

/** Ignores other members. */
export function readMembers(
  option: string,
  given: object,
  names: readonly string[],
): Record<string, unknown> {
  let cause: unknown;
  try {
    if (describe(given) === "Object") {
      const members = given as Record<string, unknown>;
      return Object.fromEntries(names.map((name) => [name, members[name]]));
    }
  } catch (error) {
    cause = error;
  }
  // A string is not shown: it may be an API key that was passed in place of the options.
  const got = typeof given === "string" ? "a string" : describe(given);
  throw new ValidationError(option, `must be an object such as { ${names[0]}: … }, got ${got}`, {
    cause,
  });
}

export function requireWholeNumber(
  option: string,
  value: unknown,
  min: number,
  max = Infinity,
): void {
  const isWhole = Number.isInteger(value) || max === Infinity && value === Infinity;
  if (isWhole && (value as number) >= min && (value as number) <= max) return;
  const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
  throw invalidValue(option, `a whole number ${range}`, value);
}

/** Every integer with at most these digits is a safe integer. */
export const MAX_SAFE_DIGITS = 15;

/** At most 15 digits; `undefined` for other texts, such as "1e3". */
export function parseWholeNumber(text: string): number | undefined {
  return text.length <= MAX_SAFE_DIGITS && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** RFC 8259, section 6. */
export const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A safe integer that is not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** May be `Infinity`. */
export function requirePositive(option: string, value: unknown): void {
  if (!(typeof value === "number" && value > 0)) {
    throw invalidValue(option, "a number above 0", value);
  }
}

export function requireType(
  option: string,
  value: unknown,
  type: "boolean" | "function" | "string",
): void {
  if (value !== undefined && typeof value !== type) throw invalidValue(option, `a ${type}`, value);
}

export function requireOneOf(
  option: string,
  value: unknown,
  known: readonly string[],
  condition = "",
): void {
  if (known.includes(value as string)) return;
  const hint = typeof value === "string" ? suggestBySpelling(value, known, "") : "";
  throw invalidValue(option, `one of ${known.join(", ")}${condition}`, value, hint);
}

export function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Not an array or `null`. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `<option> must be <expected>, got <value>`. Not for secrets. */
export function invalidValue(
  option: string,
  expected: string,
  received: unknown,
  hint?: string,
): ValidationError {
  return invalidOption(option, `must be ${expected}, got ${describe(received)}`, received, hint);
}

/** `<option> <problem>: <hint>`. */
export function invalidOption(
  option: string,
  problem: string,
  received: unknown,
  hint?: string,
): ValidationError {
  return new ValidationError(option, problem, { received, hint });
}

/** A string in quotes, an object or a function by its type. */
export function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Object(value) !== value) return String(value);
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Adding a word to a long name makes it another name. */
const MAX_EDITS = 5;
export const MAX_SUGGESTIONS = 3;

/** Near is an edit distance of at most a third of the unknown name's length, or a prefix. */
export function suggestBySpelling(
  unknown: string,
  known: readonly string[],
  otherwise = listNames(known),
): string {
  return suggestNames(nearNames(unknown, known)) ?? otherwise;
}

/** At most three names; `undefined` if there are none or more. */
export function suggestNames(names: readonly string[]): string | undefined {
  if (names.length === 0 || names.length > MAX_SUGGESTIONS) return undefined;
  return `did you mean "${names.join('" or "')}"?`;
}

export function listNames(known: readonly string[]): string {
  return `use one of ${known.join(", ")}`;
}

export function nearNames(unknown: string, known: readonly string[]): readonly string[] {
  const wanted = unknown.toLowerCase();
  const edits = known.map((name) => countEdits(wanted, name.toLowerCase()));
  const least = Math.min(...edits);
  if (least < Infinity) return [known[edits.indexOf(least)]!];
  return wanted.length < 2 ? [] : known.filter((name) => name.toLowerCase().startsWith(wanted));
}

/** Optimal string alignment, whose edits include swaps of neighbours. `Infinity` if `known` is not near. */
export function countEdits(unknown: string, known: string): number {
  const max = Math.min(unknown.length / 3, MAX_EDITS);
  if (Math.abs(unknown.length - known.length) > max) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: known.length + 1 }, (_, edits) => edits);
  for (let i = 1; i <= unknown.length; i++) {
    const next = [i];
    for (let j = 1; j <= known.length; j++) {
      const replaced = row[j - 1]! + Number(unknown[i - 1] !== known[j - 1]);
      const isSwap = unknown[i - 1] === known[j - 2] && unknown[i - 2] === known[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Infinity;
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped);
    }
    [before, row] = [row, next];
  }
  return row[known.length]! <= max ? row[known.length]! : Infinity;
}

/** `undefined` if all differ. */
export function firstRepeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
