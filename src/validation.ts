import { ValidationError } from "./errors.ts";

/** Default of each option of `T`; `undefined` if it has none. */
type Defaults<T> = Readonly<Record<keyof T, unknown>>;

/** Options of `T` with the defaults `D`. */
type WithDefaults<T, D extends Defaults<T>> = {
  [Name in keyof T]-?: Exclude<T[Name], undefined> | D[Name];
};

/**
 * Checks that a value is an object and that each of its keys is an option. A misspelt option would
 * otherwise be ignored.
 *
 * @param owner What has the options, such as `a query of Records`
 * @param options The value to check
 * @param defaults Default of each option; `undefined` if it has none
 * @param path Option that holds the object, such as `retry`. Default: none, for the outermost object
 * @param option Name of the object in the error for another type. Default: the path, or `options`
 * @returns The options with their defaults, not yet checked
 * @throws {ValidationError} If a key is not an option; `option` is that key after the path, such as
 *   `retry.attemps`
 */
export function requireOptions<T extends object, D extends Defaults<T>>(
  owner: string,
  options: T,
  defaults: D,
  path = "",
  option: string = path || "options",
): WithDefaults<T, D> {
  const members = readMembers(option, options, defaults);
  const known = Object.keys(defaults);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return members;
  throw new ValidationError(
    path ? `${path}.${unknown}` : unknown,
    `is not an option of ${owner}`,
    { hint: suggestBySpelling(unknown, known) },
  );
}

/**
 * Checks that an option is an object, and copies members of it. Other members are ignored.
 *
 * @param defaults Value of each member that is missing
 * @throws {ValidationError} If it is not an object, or a getter throws
 */
export function readMembers<T extends object, D extends Defaults<T>>(
  option: string,
  given: T,
  defaults: D,
): WithDefaults<T, D> {
  const names = Object.keys(defaults) as (keyof T & string)[];
  let cause: unknown;
  try {
    if (describe(given) === "Object") {
      return Object.fromEntries(names.map((name) => {
        const { [name]: value = defaults[name] } = given;
        return [name, value];
      })) as WithDefaults<T, D>;
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

/**
 * Checks that an option is a whole number in a range.
 *
 * @param option Name of the option
 * @param value The value to check
 * @param min Lowest valid number
 * @param max Highest valid number. Default `Infinity`; then the value `Infinity` is valid and means no limit
 * @throws {ValidationError} If the value is not a whole number in the range
 */
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

/** Maximum number of digits with which every integer is a safe integer. */
export const MAX_SAFE_DIGITS = 15;

/** Parses a text of at most 15 digits; returns `undefined` for other texts, such as "1e3". */
export function parseWholeNumber(text: string): number | undefined {
  return text.length <= MAX_SAFE_DIGITS && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Whether a value is a number of rows or bytes: a safe integer that is not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Checks that an option is a number above 0, which may be `Infinity`.
 *
 * @throws {ValidationError} If it is not
 */
export function requirePositive(option: string, value: unknown): void {
  if (!(typeof value === "number" && value > 0)) {
    throw invalidValue(option, "a number above 0", value);
  }
}

/**
 * Checks the type of an option. `undefined` is valid.
 *
 * @throws {ValidationError} If it has another type
 */
export function requireType(
  option: string,
  value: unknown,
  type: "boolean" | "function" | "string",
): void {
  if (value !== undefined && typeof value !== type) throw invalidValue(option, `a ${type}`, value);
}

/**
 * Checks that an option has one of the listed values.
 *
 * @param condition When these values are valid, such as ` for Records`. Default: always
 * @throws {ValidationError} If it has another value
 */
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

/** Whether a value is an array of strings. */
export function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Whether a value is an object, and not an array or `null`. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Creates the error for a value: `<option> must be <expected>, got <value>`. Not for secrets. */
export function invalidValue(
  option: string,
  expected: string,
  received: unknown,
  hint = "",
): ValidationError {
  return new ValidationError(option, `must be ${expected}, got ${describe(received)}`, {
    received,
    hint,
  });
}

/** Creates the error for an option whose value has no content, such as an empty array. */
export function emptyOption(option: string, received: unknown, hint: string): ValidationError {
  return new ValidationError(option, "must not be empty", { received, hint });
}

/** Describes a value for a message: a string in quotes, an object or a function by its type. */
export function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Object(value) !== value) return String(value);
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Maximum edit distance of a suggestion. Adding a word to a long name makes it another name. */
const MAX_EDITS = 5;
/** Maximum number of names in a suggestion. */
const MAX_SUGGESTIONS = 3;

/**
 * Returns a hint for an unknown name: the known name with the nearest spelling, or `otherwise`.
 *
 * A known name is near if its edit distance is at most a third of the unknown name's length. It is also near if
 * it begins with the unknown name. Case is ignored.
 *
 * @param otherwise Hint if no name is near. Default: the list of the known names
 */
export function suggestBySpelling(
  unknown: string,
  known: readonly string[],
  otherwise = listNames(known),
): string {
  return suggestNames(nearNames(unknown, known)) ?? otherwise;
}

/** Returns a hint that suggests up to three names; `undefined` if there are none or too many. */
export function suggestNames(names: readonly string[]): string | undefined {
  if (names.length === 0 || names.length > MAX_SUGGESTIONS) return undefined;
  return `did you mean "${names.join('" or "')}"?`;
}

/** Returns a hint that lists all known names. */
export function listNames(known: readonly string[]): string {
  return `use one of ${known.join(", ")}`;
}

/** Returns the known names with the nearest spelling; see {@linkcode suggestBySpelling}. */
export function nearNames(unknown: string, known: readonly string[]): readonly string[] {
  const wanted = unknown.toLowerCase();
  for (let edits = 0; edits <= Math.min(wanted.length / 3, MAX_EDITS); edits++) {
    const nearest = known.find((name) => isNear(wanted, name.toLowerCase(), edits));
    if (nearest !== undefined) return [nearest];
  }
  return wanted.length < 2 ? [] : known.filter((name) => name.toLowerCase().startsWith(wanted));
}

/**
 * Whether at most `edits` edits change one string to the other. An edit inserts, removes or replaces a
 * character, or swaps two neighbours. The recursion is bounded by the known name's length and
 * `edits`.
 */
function isNear(a: string, b: string, edits: number): boolean {
  if (Math.abs(a.length - b.length) > edits) return false;
  if (a === "" || b === "") return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, edits);
  return isNear(restA, restB, edits - 1) || isNear(restA, b, edits - 1) ||
    isNear(a, restB, edits - 1) ||
    a[0] === b[1] && a[1] === b[0] && isNear(a.slice(2), b.slice(2), edits - 1);
}

/** Returns the first name that equals an earlier one, or `undefined` if all differ. */
export function firstRepeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
