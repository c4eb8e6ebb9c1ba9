// Conditions and ranges of a request for bytes whose size and validators are known (RFC 9110, sections 13 and 14).

/** A representation at the time of the request. */
export interface Representation {
  /** Bytes. */
  size: number;
  /** With its quotes. A weak one begins with `W/`, and matches no condition that needs equal bytes. */
  etag: string;
  /** Milliseconds since 1970; `undefined` if unknown. */
  lastModified?: number | undefined;
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
  { size, etag, lastModified }: Representation,
): Selection {
  const modified = lastModified === undefined ? undefined : toSeconds(lastModified);
  const headers: Record<string, string> = {
    "accept-ranges": "bytes",
    etag,
    ...(modified !== undefined && { "last-modified": new Date(modified).toUTCString() }),
  };
  const without = (status: 304 | 412): Selection => ({ status, start: 0, end: 0, headers });
  const [ifMatch, ifNoneMatch] = [given.get("if-match"), given.get("if-none-match")];
  const isWeak = etag.startsWith("W/");
  const isModifiedAfter = (name: string): boolean | undefined => {
    const date = parseDate(given.get(name));
    return date === undefined || modified === undefined ? undefined : modified > date;
  };
  if (ifMatch !== null) {
    if (!matches(ifMatch, isWeak ? undefined : etag, (tag) => tag)) return without(412);
  } else if (isModifiedAfter("if-unmodified-since")) return without(412);
  if (method !== "GET" && method !== "HEAD") return whole();
  if (ifNoneMatch !== null) {
    if (matches(ifNoneMatch, opaqueOf(etag), opaqueOf)) return without(304);
  } else if (isModifiedAfter("if-modified-since") === false) return without(304);

  const range = method === "GET" ? parseRange(given.get("range"), size) : undefined;
  if (range === undefined || !isCurrent(given.get("if-range"))) return whole();
  const [start, end] = range;
  if (start < end) {
    headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
    headers["content-length"] = String(end - start);
    return { status: 206, start, end, headers };
  }
  headers["content-range"] = `bytes */${size}`;
  return { status: 416, start: 0, end: 0, headers };

  function whole(): Selection {
    headers["content-length"] = String(size);
    return { status: 200, start: 0, end: size, headers };
  }

  /** `If-Range`: equal bytes. A date says that only of a representation that also has a strong tag. */
  function isCurrent(condition: string | null): boolean {
    if (condition === null) return true;
    if (isWeak) return false;
    const date = parseDate(condition);
    return date === undefined ? condition.trim() === etag : date === modified;
  }
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}

function opaqueOf(tag: string): string {
  return tag.replace(/^W\//, "");
}

/** A tag with a comma is cut into pieces, none of which has both quotes. */
function matches(list: string, etag: string | undefined, normalize: (tag: string) => string) {
  const tags = list.split(",").map((tag) => tag.trim());
  return tags.some((tag) => tag === "*" || normalize(tag) === etag);
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
