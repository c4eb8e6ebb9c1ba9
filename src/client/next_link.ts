import { DataStreamError, oneLine } from "../errors.ts";
import { parseFilter } from "../odata/parse_filter.ts";
import { parseSelect, type SystemQueryOptions } from "../odata/query_options.ts";
import { parseWholeNumber } from "../validation.ts";
import type { ServiceResponse } from "./transport.ts";

/**
 * Reads the skip token of the next page. The link comes from `@odata.nextLink`, `odata.nextLink` or the
 * `Link` header. It may be raw or percent-encoded.
 *
 * The next request is the previous one from another position. Therefore the link must have the origin and the
 * path of the request and, if it has `$select` or `$filter`, their values. Its other options are ignored.
 *
 * Source: DataStream Public API, "Response Format".
 *
 * @param envelope Members of the page other than its rows
 * @param response The response
 * @param sent Options of the request
 * @param seenTokens Skip tokens of earlier requests that do not have the form `Id:<digits>`
 * @returns The decoded token; `undefined` if there is no link
 * @throws {DataStreamError} If the link has another origin, path, `$select` or `$filter` than the
 *   request, has no readable token, or repeats a token
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
      hint: "the result is incomplete. The link was not followed. Report it to DataStream",
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
  if (target.origin !== origin || target.pathname !== pathname) {
    throw linkError("has another address than the request");
  }
  for (const name of ["$select", "$filter"] as const) {
    const texts = [link, withoutFragment(link)]
      .flatMap((text) => optionTexts(text, name)).flatMap(decodings);
    if (texts.length > 0 && !texts.some((text) => isSameOption(name, text, sent[name]))) {
      throw linkError(`has another ${name} than the request`);
    }
  }
  const [, encoded] = /[?&](?:\$|%24)skiptoken=([^&#]*)/.exec(link) ?? [];
  if (!encoded) throw linkError("has no $skiptoken");
  let token: string;
  try {
    token = decodeURIComponent(encoded);
  } catch (error) {
    throw linkError("has a wrongly encoded $skiptoken", error);
  }
  if (seenTokens.has(token)) throw linkError("repeats an earlier page");
  return token;
}

/** Returns the Id in a skip token such as `Id:99999`; `undefined` for other tokens, such as Metadata's UUIDs. */
export function idOfToken(token: string | undefined): number | undefined {
  const [, digits] = /^Id:(\d+)$/.exec(token ?? "") ?? [];
  return digits === undefined ? undefined : parseWholeNumber(digits);
}

/** Returns a link up to its first `#`. A raw filter may contain this character too. */
function withoutFragment(link: string): string {
  return link.split("#", 1)[0]!;
}

/**
 * Returns two readings of a query option in a link, not decoded. One ends at the next `&name=`, the other only
 * at the next `&$`, because a raw filter may contain `&name=`.
 *
 * @returns The readings; an empty list if the link does not have the option
 */
function optionTexts(link: string, name: string): string[] {
  return ["(?:\\$|%24)?[\\w.~-]+=", "(?:\\$|%24)"].flatMap((next) => {
    const option = new RegExp(`[?&](?:\\$|%24)${name.slice(1)}=(.*?)(?=&${next}|&?$)`, "s");
    return option.exec(link)?.[1] ?? [];
  });
}

/** Returns the text as it is, decoded, and decoded with `+` as space. */
function decodings(text: string): string[] {
  const texts = [text];
  for (const encoded of [text, text.replaceAll("+", "%20")]) {
    try {
      texts.push(decodeURIComponent(encoded));
    } catch {
      // A percent sign without two hexadecimal digits: the text is not encoded.
    }
  }
  return texts;
}

/** Whether an option of a link means the same as the option that was sent. White space may differ. */
function isSameOption(
  name: "$select" | "$filter",
  text: string,
  sent: string | undefined,
): boolean {
  if (sent === undefined || text === sent) return text === sent;
  if (name === "$select") return parseSelect(text).join() === sent;
  try {
    const toClauses = (filter: string) =>
      JSON.stringify(parseFilter(filter).map(({ index: _, ...clause }) => clause));
    return toClauses(text) === toClauses(sent);
  } catch {
    return false; // one of the filters cannot be parsed
  }
}

/** One link of a `Link` header: its target and its parameters. */
const LINK_VALUE = /\s*<([^>]*)>([^",]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^",]*)*)(?:,|$)/y;
/** One parameter of a link: its name, and its value as a quoted string or a token. */
const PARAMETER =
  /;\s*([\w!#$&+.^`|~*-]+)\s*(?:=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"\s*|([^\s;"]+)\s*)?)?/y;

/**
 * Returns the target of the first link with the relation type `next` in a `Link` header.
 *
 * Source: RFC 8288, section 3 and appendix B.
 *
 * @param header Value of the header; `null` if the response has no such header
 * @returns The URL, absolute or relative; `undefined` if no link is of this type
 * @throws {SyntaxError} If a part of the header before the link cannot be read. An unreadable rest is an
 *   error, because the next link may be in it. `readSkipToken()` turns it into a `DataStreamError`
 */
export function nextLinkTarget(header: string | null): string | undefined {
  let offset = 0;
  const end = header?.trimEnd().length ?? 0;
  while (header !== null && offset < end) {
    LINK_VALUE.lastIndex = offset;
    const [whole, target, parameters] = LINK_VALUE.exec(header) ?? [];
    if (whole === undefined) {
      throw new SyntaxError(`a link at character ${offset + 1} cannot be read`);
    }
    if (relationTypes(parameters!).includes("next")) return target;
    offset += whole.length;
  }
  return undefined;
}

/** Returns the relation types of a link, in lower case. Only the first `rel` counts. */
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
