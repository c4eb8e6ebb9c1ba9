import { DataStreamError } from "../errors.ts";
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
 * @throws {DataStreamError} If the answer is no page of the service, or its next link leads elsewhere
 */
export function readPage<R>(answer: Answer): Page<R> {
  const { url, headers, bytes } = answer;
  const broken = (came: string, cause?: unknown) =>
    new DataStreamError(`Wanted a page of JSON from ${new URL(url).pathname}, got ${came}`, {
      kind: "page",
      url,
      hint: "check the base URL, then try again",
      cause,
    });
  const type = headers.get("content-type") ?? "no content type";
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(type)) throw broken(type);
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw broken("broken JSON", error);
  }
  if (!isRecord(body) || !Array.isArray(body.value) || !body.value.every(isRecord)) {
    throw broken('no list of rows under "value"');
  }
  const link = body["@odata.nextLink"] ?? body["odata.nextLink"] ?? nextOf(headers.get("link"));
  return {
    rows: body.value as R[],
    skipToken: link === undefined || link === null ? undefined : readSkipToken(String(link), url),
  };
}

function readSkipToken(link: string, asked: string): string {
  const wrong = (fault: string) =>
    new DataStreamError(`The link to the next page ${fault}`, {
      kind: "next-link",
      url: asked,
      hint: "the rows so far are not all; nothing was sent there, report this to the service",
    });
  const from = new URL(asked);
  if (!URL.canParse(link, asked)) throw wrong("is no URL");
  const to = new URL(link, asked);
  if (to.origin !== from.origin || to.pathname !== from.pathname) throw wrong("leads elsewhere");
  const token = to.searchParams.get("$skiptoken");
  if (!token) throw wrong("has no $skiptoken");
  if (token === from.searchParams.get("$skiptoken")) throw wrong("leads to the same page");
  return token;
}

/** The target of `rel="next"` in a `Link` header (RFC 8288). */
function nextOf(header: string | null): string | undefined {
  for (const [, target, parameters] of header?.matchAll(/<([^>]*)>([^<]*)/g) ?? []) {
    if (/;\s*rel="?(?:[^"]*\s)?next(?:\s[^"]*)?"?\s*(?:[;,]|$)/i.test(parameters ?? "")) {
      return target;
    }
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
