import { closestString } from "@std/text/closest-string";

/** A question that names the nearest of the right names, for the end of an error's message. */
export function didYouMean(name: string, names: readonly string[]): string {
  return `did you mean "${closestString(name, names)}"?`;
}

/**
 * Refuses a key that an object of options must not have: misspelt, it would be ignored.
 *
 * @param what The options, as an error names them
 * @throws {TypeError} If there is such a key; the message names the nearest right one
 */
export function requireKnownKeys(
  what: string,
  options: object,
  known: readonly string[],
): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} has no option "${unknown}": ${didYouMean(unknown, known)}`);
}
