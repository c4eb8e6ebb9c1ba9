import { DataStreamError, oneLine } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import { parseSelect, type SystemQueryOptions } from "../odata/query_options.ts";
import type { ServiceResponse } from "./transport.ts";

/**
 * Reads the skip token of the next page. The link comes from `@odata.nextLink`, `odata.nextLink` or the
 * `Link` header, raw or percent-encoded. Only its token is used; all else is compared with the request.
 *
 * Source: the service's public documentation, "Paging".
 *
 * @param envelope Members of the page other than its rows
 * @param response The response
 * @param sent Options of the request
 * @param seenTokens Skip tokens of earlier pages that are not integers
 * @returns The decoded token; `undefined` if there is no link
 * @throws {DataStreamError} If the link leads to another resource, has other options, or leads back
 */
export function readSkipToken(
  envelope: Record<string, unknown>,
  { url, headers }: ServiceResponse,
  sent: SystemQueryOptions,
  seenTokens: ReadonlySet<string>,
): string | undefined {
  const linkError = (problem: string, cause?: unknown) =>
    new DataStreamError(`The link to the next page ${problem}`, {
      kind: "next-link",
      url,
      hint: "the rows so far are not all; nothing was sent there, report this to the service",
      cause,
    });
  let link: unknown;
  try {
    link = envelope["@odata.nextLink"] ?? envelope["odata.nextLink"] ??
      nextLinkTarget(headers.get("link"));
  } catch (error) {
    throw linkError(`cannot be read: ${oneLine(error)}`, error);
  }
  if (link === undefined) return undefined;
  if (typeof link !== "string" || !URL.canParse(link, url)) throw linkError("is not a URL");
  const target = new URL(link, url);
  const { origin, pathname } = new URL(url);
  if (target.origin !== origin || target.pathname !== pathname) throw linkError("leads elsewhere");
  for (const name of ["$select", "$filter"] as const) {
    const texts = optionTexts(link, name).flatMap(decodings);
    if (texts.length > 0 && !texts.some((text) => isSameOption(name, text, sent[name]))) {
      throw linkError(`has another ${name} than the request`);
    }
  }
  const [encoded] = optionTexts(link, "$skiptoken");
  if (!encoded) throw linkError("has no $skiptoken");
  let token: string;
  try {
    token = decodeURIComponent(encoded);
  } catch (error) {
    throw linkError("has a $skiptoken that is not encoded right", error);
  }
  const position = sent.$skiptoken;
  if (token === position || seenTokens.has(token)) {
    throw linkError("leads to a page that was there before");
  }
  const [idNumber, positionNumber] = [toIdNumber(token), toIdNumber(position)];
  if (idNumber !== undefined && positionNumber !== undefined && idNumber <= positionNumber) {
    throw linkError("leads back");
  }
  return token;
}

/**
 * Returns the number in a skip token such as `Id:99999`; `undefined` for other tokens, such as
 * Metadata's UUIDs.
 */
export function toIdNumber(token: string | undefined): bigint | undefined {
  const [, digits] = /^Id:(\d+)$/.exec(token ?? "") ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/**
 * Returns the text of a query option in a link, not decoded: once up to the next option of any name, and
 * once up to the next system query option. In a raw link, the text of a filter may contain what looks
 * like an option of another name.
 */
function optionTexts(link: string, name: string): string[] {
  return ["(?:\\$|%24)?[\\w.~-]+=", "(?:\\$|%24)"].flatMap((next) => {
    const option = new RegExp(`[?&](?:\\$|%24)${name.slice(1)}=(.*?)(?=&${next}|$)`, "s");
    return option.exec(link)?.[1] ?? [];
  });
}

/** Returns the possible meanings of a text: the text itself, if it is raw, and its decodings. */
function decodings(text: string): string[] {
  const texts = [text];
  for (const encoded of [text, text.replaceAll("+", "%20")]) {
    try {
      texts.push(decodeURIComponent(encoded));
    } catch {
      // A percent sign that encodes nothing: the text is raw.
    }
  }
  return texts;
}

/** Whether an option of a link means the same as the option sent, with other white space perhaps. */
function isSameOption(
  name: "$select" | "$filter",
  text: string,
  sent: string | undefined,
): boolean {
  if (sent === undefined || text === sent) return text === sent;
  if (name === "$select") return parseSelect(text).join() === sent;
  try {
    const toClauses = (filter: string) =>
      JSON.stringify(parseFilter(filter).map(({ position: _, ...clause }) => clause));
    return toClauses(text) === toClauses(sent);
  } catch {
    return false;
  }
}

const LINK = /\s*<([^>]*)>([^",]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^",]*)*)(?:,|$)/y;
const PARAMETER =
  /;\s*([\w!#$&+.^`|~*-]+)\s*(?:=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"\s*|([^\s;"]+)\s*)?)?/y;

/**
 * Returns the target of the first link with the relation type `next`.
 *
 * Source: RFC 8288, section 3 and appendix B.
 *
 * @param header Value of a `Link` header; `null` if there is none
 * @returns The URL, absolute or relative; `undefined` if there is no such link
 * @throws {SyntaxError} If the header cannot be read to its end: the rest may contain a link
 */
export function nextLinkTarget(header: string | null): string | undefined {
  let offset = 0;
  const end = header?.trimEnd().length ?? 0;
  while (header !== null && offset < end) {
    LINK.lastIndex = offset;
    const [whole, target, parameters] = LINK.exec(header) ?? [];
    if (whole === undefined) {
      throw new SyntaxError(`a link at character ${offset + 1} cannot be read`);
    }
    if (relationTypes(parameters!).includes("next")) return target;
    offset += whole.length;
  }
  return undefined;
}

/** Returns the relation types of a link, in lower case; if it has several `rel`, of the first one. */
function relationTypes(parameters: string): string[] {
  let offset = 0;
  const text = parameters.trim();
  while (offset < text.length) {
    PARAMETER.lastIndex = offset;
    const [whole, name, quoted, token] = PARAMETER.exec(text) ?? [];
    if (whole === undefined) throw new SyntaxError(`the parameters "${text}" cannot be read`);
    if (name!.toLowerCase() === "rel") {
      const value = quoted?.replace(/\\(.)/g, "$1") ?? token ?? "";
      return value.toLowerCase().split(/\s+/);
    }
    offset += whole.length;
  }
  return [];
}
