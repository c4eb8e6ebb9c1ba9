import { closestMatch } from "leven";

/** A question that names the nearest of the right names, for an error's message. */
export function didYouMean(name: string, names: readonly string[]): string {
  const lowerCased = names.map((known) => known.toLowerCase());
  const nearest = names[lowerCased.indexOf(closestMatch(name.toLowerCase(), lowerCased)!)];
  return `did you mean "${nearest}"?`;
}
