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
