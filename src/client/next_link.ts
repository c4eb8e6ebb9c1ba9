import { DataStreamError, oneLine } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { parseSelect } from "../odata/selection.ts";
import type { ServiceResponse } from "./transport.ts";

/**
 * The skip token of the next page. The link is taken from `@odata.nextLink`, `odata.nextLink` or the
 * `Link` header, raw or encoded; only its token is used, and it is held against what was asked.
 *
 * Source: water-quality-api, Paging.
 *
 * @param body The answer's JSON
 * @param answer The answer
 * @param sent What was asked
 * @param followed Skip tokens of the pages before, as far as they have no order of their own
 * @returns The token, decoded; undefined where no link leads on
 * @throws {DataStreamError} If the link leads elsewhere, asks for something else or does not move on
 */
export function readSkipToken(
  body: Record<string, unknown>,
  { url: asked, headers }: ServiceResponse,
  sent: SystemQueryOptions,
  followed: ReadonlySet<string>,
): string | undefined {
  const wrong = (fault: string, cause?: unknown) =>
    new DataStreamError(`The link to the next page ${fault}`, {
      kind: "next-link",
      url: asked,
      hint: "the rows so far are not all; nothing was sent there, report this to the service",
      cause,
    });
  let link: unknown;
  try {
    link = body["@odata.nextLink"] ?? body["odata.nextLink"] ?? nextTarget(headers.get("link"));
  } catch (error) {
    throw wrong(`cannot be read: ${oneLine(error)}`, error);
  }
  if (link === undefined) return undefined;
  if (typeof link !== "string" || !URL.canParse(link, asked)) throw wrong("is not a URL");
  const to = new URL(link, asked);
  const from = new URL(asked);
  if (to.origin !== from.origin || to.pathname !== from.pathname) throw wrong("leads elsewhere");
  for (const name of ["$select", "$filter"] as const) {
    const texts = optionsOf(link, name).flatMap(readings);
    if (texts.length > 0 && !texts.some((text) => isSame(name, text, sent[name]))) {
      throw wrong(`has another ${name} than was asked`);
    }
  }
  const [encoded] = optionsOf(link, "$skiptoken");
  if (!encoded) throw wrong("has no $skiptoken");
  let token: string;
  try {
    token = decodeURIComponent(encoded);
  } catch (error) {
    throw wrong("has a $skiptoken that is not encoded right", error);
  }
  const before = sent.$skiptoken;
  if (token === before || followed.has(token)) throw wrong("leads to a page that was there before");
  const [number, numberBefore] = [numberOf(token), numberOf(before)];
  if (number !== undefined && numberBefore !== undefined && number <= numberBefore) {
    throw wrong("leads back");
  }
  return token;
}

/** The number in a token such as `Id:99999`; undefined for others, such as Metadata's UUIDs. */
export function numberOf(token: string | undefined): bigint | undefined {
  const [, digits] = /^Id:(\d+)$/.exec(token ?? "") ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/**
 * The text of a query option in a link as it came, to the next option of any name, and to the next
 * system query option: in a raw link, a filter's text may look like an option of another name.
 */
function optionsOf(link: string, name: string): string[] {
  return ["(?:\\$|%24)?[\\w.~-]+=", "(?:\\$|%24)"].flatMap((next) => {
    const option = new RegExp(`[?&](?:\\$|%24)${name.slice(1)}=(.*?)(?=&${next}|$)`, "s");
    return option.exec(link)?.[1] ?? [];
  });
}

/** What a text may stand for: itself, where it is raw, or what is left without its encoding. */
function readings(text: string): string[] {
  const found = [text];
  for (const encoded of [text, text.replaceAll("+", "%20")]) {
    try {
      found.push(decodeURIComponent(encoded));
    } catch {
      // A raw percent sign: then it was not encoded.
    }
  }
  return found;
}

/** Whether an option says the same, however it is spaced. */
function isSame(name: "$select" | "$filter", text: string, ours: string | undefined): boolean {
  if (ours === undefined || text === ours) return text === ours;
  if (name === "$select") return parseSelect(text).join() === ours;
  try {
    const clauses = (filter: string) =>
      JSON.stringify(parseFilter(filter).map(({ position: _, ...clause }) => clause));
    return clauses(text) === clauses(ours);
  } catch {
    return false;
  }
}

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
