import { DataStreamError, oneLine } from "../errors.ts";
import { nextTarget } from "./link_header.ts";
import type { Answer } from "./transport.ts";

/** One page: its rows, and where the next one begins. */
export interface Page<R> {
  rows: R[];
  /** The `$skiptoken` of the next page; undefined on the last one. */
  skipToken: string | undefined;
}

/**
 * Reads an answer as a page, whole or not at all.
 *
 * The next link is taken from `@odata.nextLink`, `odata.nextLink` or the `Link` header, raw or
 * encoded; only its skip token is used.
 *
 * Source: water-quality-api, Paging.
 *
 * @param answer A whole answer
 * @param followed The skip tokens of the pages before this one
 * @throws {DataStreamError} If the answer is not a page of the service, or its next link leads elsewhere
 */
export function readPage<R>(answer: Answer, followed: ReadonlySet<string>): Page<R> {
  const { url, headers, bytes } = answer;
  const broken = (came: string) =>
    new DataStreamError(`Wanted a page of JSON from ${new URL(url).pathname}, got ${came}`, {
      kind: "page",
      url,
      hint: "check the base URL, then try again",
    });
  const type = headers.get("content-type") ?? "no content type";
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(type)) throw broken(type);
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // The parser's own message shows the text, whatever is in it.
    throw broken("broken JSON");
  }
  if (!isRecord(body) || !Array.isArray(body.value) || !body.value.every(isRecord)) {
    throw broken('no list of rows under "value"');
  }
  return { rows: body.value as R[], skipToken: readSkipToken(body, answer, followed) };
}

function readSkipToken(
  body: Record<string, unknown>,
  { url: asked, headers }: Answer,
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
  const from = new URL(asked);
  if (typeof link !== "string" || !URL.canParse(link, asked)) throw wrong("is not a URL");
  const to = new URL(link, asked);
  if (to.origin !== from.origin || to.pathname !== from.pathname) throw wrong("leads elsewhere");
  let token: string | undefined;
  try {
    token = skipTokenOf(to);
  } catch (error) {
    throw wrong("has a $skiptoken that is not encoded right", error);
  }
  if (!token) throw wrong("has no $skiptoken");
  const before = skipTokenOf(from);
  if (followed.has(token)) throw wrong("leads to a page that was there before");
  if (before !== undefined && numberOf(token) <= numberOf(before)) throw wrong("leads back");
  return token;
}

/** Percent-decoded and no more: to a form's reader, a plus sign would be a space. */
function skipTokenOf({ search }: URL): string | undefined {
  const [, token] = /[?&](?:\$|%24)skiptoken=([^&]*)/.exec(search) ?? [];
  return token === undefined ? undefined : decodeURIComponent(token);
}

/** The number in a token such as `Id:99999`; NaN for others, such as Metadata's UUIDs. */
function numberOf(token: string): number {
  return Number(/^Id:(\d+)$/.exec(token)?.[1] ?? NaN);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
