// Conditions and ranges of a request for bytes, as far as their size and validators are known (RFC 9110, sections 13 and 14).
import { HttpProblem } from "./problem.ts";

/** A representation at the time of the request. */
export interface Representation {
  /** Bytes. Without it, there are no ranges. */
  size?: number | undefined;
  /**
   * With its quotes. A weak one begins with `W/`, and matches no condition that needs equal bytes. A strong one ends with the
   * hash of the bytes, before which a version and a dot can be.
   */
  etag?: string | undefined;
  /** Milliseconds since 1970. */
  lastModified?: number | undefined;
  /**
   * Time (ms) after `lastModified` for which clients can still have received older bytes: the date alone does not identify
   * the bytes. Default 0.
   */
  settlingTime?: number | undefined;
}

/** How to respond: the status, and the bytes from `start` to before `end`. */
export interface Selection {
  status: 200 | 206 | 304 | 412 | 416;
  start: number;
  end: number;
  /** Validators, length and range. With 304, 412 and 416, without a length. */
  headers: Record<string, string>;
}

/**
 * Conditions in the order of section 13.2.2. Malformed values are ignored. Several ranges are answered with all bytes, which
 * section 14.2 allows.
 */
export function selectBytes(
  { method, headers: given }: Pick<Request, "method" | "headers">,
  { size, etag, lastModified, settlingTime = 0 }: Representation,
): Selection {
  const modified = lastModified === undefined ? undefined : toSeconds(lastModified);
  const headers: Record<string, string> = {
    ...(size !== undefined && { "accept-ranges": "bytes" }),
    ...(etag !== undefined && { etag }),
    ...(modified !== undefined && { "last-modified": new Date(modified).toUTCString() }),
  };
  const without = (status: 304 | 412): Selection => ({ status, start: 0, end: 0, headers });
  const [ifMatch, ifNoneMatch] = [given.get("if-match"), given.get("if-none-match")];
  const isModifiedAfter = (name: string): boolean | undefined => {
    const date = parseDate(given.get(name));
    if (date === undefined || modified === undefined) return undefined;
    return date < modified || date > modified && date < modified + settlingTime;
  };
  if (ifMatch !== null) {
    if (!listHas(ifMatch, etag, haveEqualBytes)) return without(412);
  } else if (isModifiedAfter("if-unmodified-since")) return without(412);
  if (method !== "GET" && method !== "HEAD") return whole();
  if (ifNoneMatch !== null) {
    // Without a tag, "*" only asks for one.
    if (etag !== undefined && listHas(ifNoneMatch, etag, isSameVersion)) return without(304);
  } else if (isModifiedAfter("if-modified-since") === false) return without(304);

  const range = method === "GET" && size !== undefined && isCurrent(given.get("if-range"))
    ? parseRange(given.get("range"), size)
    : undefined;
  if (range === undefined) return whole();
  const [start, end] = range;
  if (start < end) {
    headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
    headers["content-length"] = String(end - start);
    return { status: 206, start, end, headers };
  }
  headers["content-range"] = `bytes */${size}`;
  return { status: 416, start: 0, end: 0, headers };

  function whole(): Selection {
    if (size !== undefined) headers["content-length"] = String(size);
    return { status: 200, start: 0, end: size ?? Infinity, headers };
  }

  /** `If-Range`: equal bytes. A date says that only of a representation that also has a strong tag. */
  function isCurrent(condition: string | null): boolean {
    if (condition === null) return true;
    if (etag === undefined || isWeak(etag)) return false;
    const date = parseDate(condition);
    if (date !== undefined) return date === modified && settlingTime === 0;
    return haveEqualBytes(condition.trim(), etag);
  }
}

const REFUSED = {
  412: "Precondition failed",
  416: "Range not satisfiable",
} as const;

/** Returns the problem of a selection that a condition or the range excludes. `versionHint` is for a condition. */
export function refusalOf(
  { status, headers }: Selection,
  name: string,
  size: number | undefined,
  versionHint: string,
): HttpProblem | undefined {
  if (status !== 412 && status !== 416) return undefined;
  const [detail, hint] = status === 416
    ? [`${name} has ${size} bytes, and none in the range`, `begin the range before byte ${size}`]
    : [`${name} is not the version that the request names`, versionHint];
  return new HttpProblem({ status, title: REFUSED[status], detail, hint }, headers);
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}

function isWeak(tag: string): boolean {
  return tag.startsWith("W/");
}

/** Returns what is between the quotes: a version, the hash of the bytes, or both; `undefined` if it is no tag. */
function membersOf(tag: string): string[] | undefined {
  const [, members] = /^(?:W\/)?"([^"]*)"$/.exec(tag) ?? [];
  return members?.split(".");
}

/** Strong comparison (section 8.8.3.2), also of tags of which only one has a version. */
function haveEqualBytes(a: string, b: string): boolean {
  return !isWeak(a) && !isWeak(b) && isSameMember(membersOf(a)?.at(-1), membersOf(b)?.at(-1));
}

/** Weak comparison: equal bytes, or the same version if the bytes of one of them are unknown. */
function isSameVersion(a: string, b: string): boolean {
  const [first, second] = [membersOf(a), membersOf(b)];
  return isSameMember(first?.at(-1), second?.at(-1)) ||
    isSameMember(first?.[0], second?.[0]) && (first!.length === 1 || second!.length === 1);
}

function isSameMember(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && a === b;
}

/** A tag with a comma is cut into pieces, none of which has both quotes. */
function listHas(
  list: string,
  etag: string | undefined,
  isSame: (a: string, b: string) => boolean,
): boolean {
  const tags = list.split(",").map((tag) => tag.trim());
  return tags.some((tag) => tag === "*" || etag !== undefined && isSame(tag, etag));
}

/** Section 5.6.7: the preferred form, and two old ones, of which the last is in UTC without saying so. */
const DATE_FORMS: readonly [form: RegExp, suffix: string][] = [
  [/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/, ""],
  [/^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/, ""],
  [/^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/, " GMT"],
];

function parseDate(text: string | null): number | undefined {
  const trimmed = text?.trim() ?? "";
  const [, suffix] = DATE_FORMS.find(([form]) => form.test(trimmed)) ?? [];
  const time = suffix === undefined ? NaN : Date.parse(trimmed + suffix);
  return Number.isNaN(time) ? undefined : time;
}

/**
 * Returns the bytes from a position to before another one, which are none if no byte is in the range; `undefined` for all
 * bytes. The last bytes of an empty representation have no range that `Content-Range` could name.
 */
function parseRange(text: string | null, size: number): [start: number, end: number] | undefined {
  const [, list] = /^bytes=(.*)$/i.exec(text ?? "") ?? [];
  const ranges = list?.split(",").map((range) => range.trim()).filter((range) => range !== "");
  const [, first, last] = /^(\d*)-(\d*)$/.exec(ranges?.length === 1 ? ranges[0]! : "") ?? [];
  if (first === undefined || last === undefined || first + last === "") return undefined;
  if (first === "") {
    const length = Number(last);
    if (length > 0 && size === 0) return undefined;
    return [Math.max(0, size - length), size];
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  return [start, Math.max(start, Math.min(size, last === "" ? size : Number(last) + 1))];
}
