import { describe } from "./describe.ts";
import { didYouMean } from "./did_you_mean.ts";

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
