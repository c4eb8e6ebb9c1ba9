import { DataStreamError, oneLine } from "../errors.ts";
import { parseWholeNumber } from "../validation.ts";
import type { ServiceResponse } from "./transport.ts";

/**
 * Links are raw or percent-encoded. They must have the origin and path of the request and, if they
 * have `$select` or `$filter`, their values: the next request differs only in its position. Source:
 * DataStream Public API, "Response Format".
 */
export function readSkipToken(
  envelope: Record<string, unknown>,
  { url, headers }: Pick<ServiceResponse, "url" | "headers">,
): string | undefined {
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
  if (link === undefined) return undefined;
  if (typeof link !== "string" || !URL.canParse(link, url)) throw linkError("is not a URL");
  const target = new URL(link, url);
  const { origin, pathname, searchParams: sent } = new URL(url);
  if (target.origin !== origin || target.pathname !== pathname) {
    throw linkError("has another address than the request");
  }
  for (const name of ["$select", "$filter"] as const) {
    if (!repeatsOption(link, name, sent.get(name) ?? "")) {
      throw linkError(`has another ${name} than the request`);
    }
  }
  const [, encoded] = /[?&](?:\$|%24)skiptoken=([^&#]*)/.exec(link) ?? [];
  if (!encoded) throw linkError("has no $skiptoken");
  try {
    return decodeURIComponent(encoded);
  } catch (error) {
    throw linkError("has a wrongly encoded $skiptoken", error);
  }
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
