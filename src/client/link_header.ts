const LINK = /\s*<([^>]*)>([^",]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^",]*)*)(?:,|$)/y;
const PARAMETER =
  /;\s*([\w!#$&+.^`|~*-]+)\s*(?:=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"\s*|([^\s;"]+)\s*)?)?/y;

/**
 * The target of the first link whose relation types hold `next`.
 *
 * Source: RFC 8288, section 3 and appendix B.
 *
 * @param header A `Link` header, or null where there is none
 * @returns The URL, absolute or relative as it came; undefined where no link leads on
 * @throws {SyntaxError} If the header cannot be read to its end: a link may stand in what is left
 */
export function nextTarget(header: string | null): string | undefined {
  let rest = 0;
  const end = header?.trimEnd().length ?? 0;
  while (header !== null && rest < end) {
    LINK.lastIndex = rest;
    const [whole, target, parameters] = LINK.exec(header) ?? [];
    if (whole === undefined) {
      throw new SyntaxError(`a link at character ${rest + 1} cannot be read`);
    }
    if (relationsOf(parameters!).includes("next")) return target;
    rest += whole.length;
  }
  return undefined;
}

/** The relation types of a link, in lower case; of several `rel` only the first counts. */
function relationsOf(parameters: string): string[] {
  let rest = 0;
  const text = parameters.trim();
  while (rest < text.length) {
    PARAMETER.lastIndex = rest;
    const [whole, name, quoted, token] = PARAMETER.exec(text) ?? [];
    if (whole === undefined) throw new SyntaxError(`the parameters "${text}" cannot be read`);
    if (name!.toLowerCase() === "rel") {
      const value = quoted?.replace(/\\(.)/g, "$1") ?? token ?? "";
      return value.toLowerCase().split(/\s+/);
    }
    rest += whole.length;
  }
  return [];
}
