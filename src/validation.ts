/**
 * Refuses what is no object of options, and a key that it must not have: misspelt, it would be
 * ignored.
 *
 * @param what The options, as an error names them
 * @throws {TypeError} If it is another thing, or there is such a key; the message names the nearest
 *   right one
 */
export function requireOptions(what: string, options: unknown, known: readonly string[]): void {
  if (Object.prototype.toString.call(options) !== "[object Object]") {
    throw new TypeError(
      `${what} must be an object such as { ${known[0]}: … }, got ${describe(options)}`,
    );
  }
  const unknown = Object.keys(options as object).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} has no option "${unknown}": ${didYouMean(unknown, known)}`);
}

/** A value as an error shows it: text in quotes, other things by their kind. */
export function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value)
    ? "a list"
    : `an ${Object.prototype.toString.call(value).slice(8, -1)}`;
}

/** Maximum edit distance of a suggestion: with a word more or less, a long name is another one. */
const MAX_EDITS = 5;
/** Maximum number of names that a hint suggests for the beginning of a name. */
const MAX_SUGGESTIONS = 3;

/**
 * Returns a hint for an unknown name: the known name that is near, or what to do instead.
 *
 * A known name is near if its edit distance is at most a third of the unknown name's length, or if
 * it begins with the unknown name. Case is ignored.
 *
 * @param otherwise Hint if no name is near. Default: the list of the known names
 */
export function didYouMean(
  unknown: string,
  known: readonly string[],
  otherwise = `use one of ${known.join(", ")}`,
): string {
  const near = nearNames(unknown, known);
  return near.length === 0 ? otherwise : `did you mean "${near.join('" or "')}"?`;
}

function nearNames(unknown: string, known: readonly string[]): readonly string[] {
  const wanted = unknown.toLowerCase();
  for (let edits = 0; edits <= Math.min(wanted.length / 3, MAX_EDITS); edits++) {
    const nearest = known.find((name) => isNear(wanted, name.toLowerCase(), edits));
    if (nearest !== undefined) return [nearest];
  }
  const longer = known.filter((name) => name.toLowerCase().startsWith(wanted));
  return wanted.length > 1 && longer.length <= MAX_SUGGESTIONS ? longer : [];
}

/**
 * Whether one text becomes the other by at most `edits` edits: a character added, removed or replaced,
 * or two neighbours swapped. Its recursion is bounded by the known name's length and `edits`.
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
