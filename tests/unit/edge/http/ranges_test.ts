// Conditions and ranges of bytes are evaluated as RFC 9110 says, also in the old forms of dates; malformed ones are ignored.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { type Representation, selectBytes } from "../../../../edge/http/ranges.ts";

const STRONG = {
  size: 10_000,
  etag: '"abc"',
  lastModified: Date.UTC(1994, 10, 6, 8, 49, 37, 500),
};
const SAME = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLIER = "Sun, 06 Nov 1994 08:49:36 GMT";

const select = (given: Record<string, string>, of: Partial<Representation> = {}, method = "GET") =>
  selectBytes({ method, headers: new Headers(given) }, { ...STRONG, ...of });

/** RFC 9110, sections 14.1.2 and 14.2. The result is the range of the response, or the status. */
const RANGES: [range: string, result: string | number, size?: number][] = [
  ["bytes=0-499", "0-499"],
  ["bytes=500-999", "500-999"],
  ["bytes=-500", "9500-9999"],
  ["bytes=9500-", "9500-9999"],
  ["bytes=0-0", "0-0"],
  ["bytes=9999-9999", "9999-9999"],
  ["bytes=0-9999", "0-9999"],
  ["Bytes=0-10000", "0-9999"],
  ["bytes=-10001", "0-9999"],
  ["bytes=0-99999999999999999999999999", "0-9999"],
  ["bytes=007-08", "7-8"],
  ["bytes= , 0-4 ,", "0-4"],
  // Not satisfiable.
  ["bytes=10000-", 416],
  ["bytes=99999999999999999999999999-", 416],
  ["bytes=-0", 416],
  ["bytes=0-", 416, 0],
  ["bytes=-1", 200, 0],
  // Several ranges, another unit, and malformed ranges.
  ["bytes=0-0,-1", 200],
  ["bytes=500-700,601-999", 200],
  ["items=0-5", 200],
  ["bytes=5-4", 200],
  ["bytes=-", 200],
  ["bytes=", 200],
  ["bytes", 200],
  ["bytes=a-b", 200],
  ["bytes=0x1-2", 200],
  ["bytes=1-2-3", 200],
  ["bytes=--1", 200],
  ["bytes=1.5-2", 200],
  ["bytes=0 - 5", 200],
  ["0-5", 200],
];
for (const [range, result, size = STRONG.size] of RANGES) {
  Deno.test(`selectBytes() answers "${range}" of ${size} bytes with ${result}`, () => {
    const { status, start, end, headers } = select({ range }, { size });
    const isPart = typeof result === "string";
    assertEquals(status, isPart ? 206 : result);
    assertEquals(
      headers["content-range"],
      isPart ? `bytes ${result}/${size}` : result === 416 ? `bytes */${size}` : undefined,
    );
    assertEquals(
      isPart ? `${start}-${end - 1}` : [start, end],
      isPart ? result : [0, result === 200 ? size : 0],
    );
    assertEquals(headers["content-length"], status === 416 ? undefined : String(end - start));
    assertEquals(headers["accept-ranges"], "bytes");
  });
}

const WEAK = { etag: 'W/"abc"' };
const UNDATED = { lastModified: undefined };
const UNKNOWN = { size: undefined, etag: undefined, lastModified: undefined };
const VERSIONED = { etag: '"v.abc"' };
const UNSETTLED = { settlingTime: 2_000 };
const PART = { range: "bytes=0-4" };

/** RFC 9110, sections 13.1.1 to 13.2.2. */
const CONDITIONS: [
  given: Record<string, string>,
  status: number,
  of?: Partial<Representation>,
  method?: string,
][] = [
  [{ "if-none-match": '"abc"' }, 304],
  [{ "if-none-match": 'W/"abc"' }, 304],
  [{ "if-none-match": '"x", "a,b" ,W/"abc"' }, 304],
  [{ "if-none-match": "*" }, 304],
  [{ "if-none-match": '"abc"' }, 304, WEAK],
  [{ "if-none-match": '"abc"', ...PART }, 304],
  [{ "if-none-match": '"abc"' }, 304, {}, "HEAD"],
  [{ "if-none-match": "abc" }, 200],
  [{ "if-none-match": '"ABC"' }, 200],
  [{ "if-none-match": '"x"', "if-modified-since": SAME }, 200],
  [{ "if-modified-since": SAME }, 304],
  [{ "if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT" }, 304],
  [{ "if-modified-since": "Sun Nov  6 08:49:37 1994" }, 304],
  [{ "if-modified-since": EARLIER }, 200],
  [{ "if-modified-since": SAME }, 200, UNDATED],
  [{ "if-modified-since": "2026" }, 200],
  [{ "if-modified-since": "Sun, 99 Nov 1994 08:49:37 GMT" }, 200],
  [{ "if-match": '"x", "abc"' }, 200],
  [{ "if-match": "*" }, 200],
  [{ "if-match": '"x"' }, 412],
  [{ "if-match": 'W/"abc"' }, 412],
  [{ "if-match": 'W/"abc"' }, 412, WEAK],
  [{ "if-match": '"abc"', "if-unmodified-since": EARLIER }, 200],
  [{ "if-unmodified-since": EARLIER }, 412],
  [{ "if-unmodified-since": SAME }, 200],
  [{ "if-unmodified-since": "yesterday" }, 200],
  [{ "if-match": '"x"', "if-none-match": '"abc"' }, 412],
  [{ ...PART, "if-range": '"abc"' }, 206],
  [{ ...PART, "if-range": '"x"' }, 200],
  [{ ...PART, "if-range": 'W/"abc"' }, 200],
  [{ ...PART, "if-range": 'W/"abc"' }, 200, WEAK],
  [{ ...PART, "if-range": SAME }, 206],
  [{ ...PART, "if-range": SAME }, 200, WEAK],
  [{ ...PART, "if-range": EARLIER }, 200],
  [{ ...PART, "if-range": "abc" }, 200],
  [{ range: "bytes=10000-", "if-range": '"x"' }, 200],
  [PART, 206, WEAK],
  [PART, 200, {}, "HEAD"],
  // Bytes that are not known yet.
  [PART, 200, UNKNOWN],
  [{ ...PART, "if-match": '"abc"' }, 412, UNKNOWN],
  [{ "if-match": "*" }, 200, UNKNOWN],
  [{ "if-none-match": "*" }, 200, UNKNOWN],
  [{ "if-modified-since": SAME }, 304, { ...UNKNOWN, lastModified: STRONG.lastModified }],
  // A version and a hash.
  [{ "if-none-match": '"v.abc"' }, 304],
  [{ "if-none-match": '"v.x"' }, 304, { etag: 'W/"v"' }],
  [{ "if-none-match": 'W/"v"' }, 304, VERSIONED],
  [{ "if-none-match": '"v"' }, 304, VERSIONED],
  [{ "if-none-match": '"abc"' }, 304, VERSIONED],
  [{ "if-none-match": '"x.abc"' }, 304, VERSIONED],
  [{ "if-none-match": '"v.x"' }, 200, VERSIONED],
  [{ "if-match": '"abc"' }, 200, VERSIONED],
  [{ "if-match": '"v"' }, 412, VERSIONED],
  [{ "if-match": '"v.x"' }, 412, VERSIONED],
  [{ ...PART, "if-range": '"x.abc"' }, 206, VERSIONED],
  [{ ...PART, "if-range": 'W/"v.abc"' }, 200, VERSIONED],
  // Older bytes could have been sent for 2 s.
  [{ "if-modified-since": SAME }, 304, UNSETTLED],
  [{ "if-modified-since": "Sun, 06 Nov 1994 08:49:38 GMT" }, 200, UNSETTLED],
  [{ "if-modified-since": "Sun, 06 Nov 1994 08:49:39 GMT" }, 304, UNSETTLED],
  [{ ...PART, "if-range": SAME }, 200, UNSETTLED],
];
for (const [given, status, of = {}, method = "GET"] of CONDITIONS) {
  const request = `${method} with ${JSON.stringify(given)} of ${JSON.stringify(of)}`;
  Deno.test(`selectBytes() answers ${request} with ${status}`, () => {
    const selection = select(given, of, method);
    assertEquals(selection.status, status);
    const { etag, "last-modified": modified } = selection.headers;
    const { lastModified, ...wanted } = { ...STRONG, ...of };
    assertEquals([etag, modified], [wanted.etag, lastModified && SAME]);
    assertEquals(selection.headers["accept-ranges"], wanted.size && "bytes");
  });
}
