/**
 * Parts of texts that the rules of firewalls against attacks on SQL and web pages refuse, although the service would
 * accept them. In OData, an apostrophe is two.
 */
const ATTACKS = /''|--|\/\*|<\S|\bor\b.*=/i;

/** Returns the first text of a filter that a firewall can take for an attack. */
export function valueLikeAttack(filter: string): string | undefined {
  const texts = filter.match(/'(?:[^']|'')*'/g) ?? [];
  return texts.map((text) => text.slice(1, -1)).find((text) => ATTACKS.test(text))
    ?.replaceAll("''", "'");
}
