import { DataStreamError, oneLine } from "../errors.ts";
import { parseWholeNumber } from "../validation.ts";
import type { ServiceResponse } from "./transport.ts";

interface NextLink {
  /** Skip token. `undefined` without a link. */
  token?: string;
  /** Address of the link if it is another one than that of the request. It is not used. */
  otherAddress?: string | undefined;
}

/**
 * Links are raw or percent-encoded. If they have `$select` or `$filter`, they must have the values of the request: the
 * next request differs only in its position. If the token is not an Id, they must also have the address of the request,
 * and otherwise its resource. Source: DataStream Public API, "Response Format".
 */
export function readNextLink(
  envelope: Record<string, unknown>,
  { url, headers }: Pick<ServiceResponse, "url" | "headers">,
): NextLink {
  const linkError = (problem: string, cause?: unknown) =>
    new DataStreamError(`The link to the next page ${problem}`, {
      kind: "next-link",
      isTemporary: false,
      url,
      hint: "the result is incomplete. The link was not followed. Report it to DataStream",
      cause,
    });
  let link: unknown;
  try {
    link = envelope["@odata.nextLink"] ?? envelope["odata.nextLink"] ??
      nextLinkTarget(headers.get("link") ?? "");
  } catch (error) {
    throw linkError(`cannot be read: ${oneLine(error)}`, error);
  }
  if (link === undefined) return {};
  if (typeof link !== "string" || !URL.canParse(link, url)) throw linkError("is not a URL");
  const target = new URL(link, url);
  const sent = new URL(url);
  for (const name of ["$select", "$filter"] as const) {
    if (!repeatsOption(link, name, sent.searchParams.get(name) ?? "")) {
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
  const otherAddress = addressOf(target);
  if (otherAddress === addressOf(sent)) return { token };
  if (idOfToken(token) === undefined || resourceOf(target) !== resourceOf(sent)) {
    throw linkError("has another address than the request");
  }
  return { token, otherAddress };
}

function addressOf({ origin, pathname }: URL): string {
  return origin + pathname;
}

function resourceOf({ pathname }: URL): string {
  return pathname.slice(pathname.lastIndexOf("/")).toLowerCase();
}

/** Reads tokens such as `Id:99999`; `undefined` for other tokens, such as Metadata's UUIDs. */
export function idOfToken(token: string | undefined): number | undefined {
  const [, digits] = /^Id:(\d+)$/.exec(token ?? "") ?? [];
  return digits === undefined ? undefined : parseWholeNumber(digits);
}

/** The sent value tells where a value ends, because a raw filter may contain `&` and `#`. */
function repeatsOption(link: string, name: string, sent: string): boolean {
  const starts = [`?${name}=`, `&${name}=`];
  const texts = decodings(link).map((text) => `${collapse(text)}&`);
  if (!texts.some((text) => starts.some((start) => text.includes(start)))) return true;
  const value = collapse(sent);
  return texts.some((text) =>
    starts.some((start) => ["&", "#"].some((end) => text.includes(start + value + end)))
  );
}

function decodings(text: string): string[] {
  try {
    return [text, decodeURIComponent(text), decodeURIComponent(text.replaceAll("+", "%20"))];
  } catch {
    return [text]; // a percent sign without two hexadecimal digits: the text is not encoded
  }
}

/** Removes white space that has no meaning in a filter or a selection. */
function collapse(text: string): string {
  return text.replace(/\s+/g, " ").replace(/ ?([,()]) ?/g, "$1");
}

const LINK =
  /\s*<([^>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+(?:\s*=(?:\s*"(?:[^"\\]|\\.)*"|\s*[^\s;,"]+)?)?)*)\s*(?:,|$)/y;
/** Name, and value as a quoted string or a token. */
const PARAMETER = /;\s*([^\s=;]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))?)?/g;

/**
 * RFC 8288, section 3 and appendix B. Throws a `SyntaxError` for an unreadable part, because the
 * next link may be in it.
 */
export function nextLinkTarget(header: string): string | undefined {
  const text = header.trim();
  for (let offset = 0; offset < text.length; offset = LINK.lastIndex) {
    LINK.lastIndex = offset;
    const [, target, parameters] = LINK.exec(text) ?? [];
    if (parameters === undefined) {
      throw new SyntaxError(`a link at character ${offset + 1} cannot be read`);
    }
    // Only the first `rel` counts.
    const [, , quoted, token = ""] = [...parameters.matchAll(PARAMETER)].find(([, name]) =>
      name!.toLowerCase() === "rel"
    ) ?? [];
    const types = quoted?.replace(/\\(.)/g, "$1") ?? token;
    if (types.toLowerCase().split(/\s+/).includes("next")) return target;
  }
  return undefined;
}
