// Downloads are complete, with their headers, ranges and status 304, on each runtime.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FORMATS } from "../../../src/formats/formats.ts";
import { readWorkbook } from "../../helpers/xlsx.ts";
import { sendRaw } from "./server.ts";
import { BUN, startApp, testOnEach, testPrograms, WORKERD } from "./runtimes.ts";
import { Stall, stallAt } from "./stall.ts";
import { appOptionsFor, DOWNLOAD, isComplete, servePages } from "./upstream.ts";

/** Default time (ms) without data after which Bun closes a connection. */
const BUN_IDLE_TIMEOUT = 10_000;

testOnEach(
  "GET /Records.csv and /Records.csv.gz give the expected rows when they have 100,000",
  async (runtime) => {
    const shape = { rows: 10_000, width: 500, pages: 10 };
    await using upstream = servePages(shape);
    const options = appOptionsFor(upstream, { pageRows: shape.rows });
    await using server = await startApp(runtime, options);
    const csv = await fetch(server.root + DOWNLOAD);
    assertEquals(csv.headers.get("content-type"), "text/csv; charset=utf-8");
    const text = await csv.text();
    assert(isComplete(text, shape));
    const { headers, body } = await fetch(server.root + DOWNLOAD.replace(".csv", ".csv.gz"));
    assertEquals(
      [headers.get("content-type"), headers.get("content-encoding")],
      ["application/gzip", null],
    );
    // It refuses a second member.
    const unpacked = new Response(body!.pipeThrough(new DecompressionStream("gzip")));
    assert(await unpacked.text() === text);
    assertEquals(upstream.pages.length, 2 * shape.pages);
    assertEquals(server.log().includes("broke"), false);
  },
);

testPrograms(
  [BUN],
  "GET /Records.csv continues when a pause exceeds the default timeout",
  async (runtime) => {
    const shape = { rows: 20, width: 1_000, pages: 3 };
    const stall = new Stall("before the headers");
    await using upstream = stallAt(2, stall, shape);
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    // Real time: the test is about the server's own timeout.
    setTimeout(() => stall.end(), BUN_IDLE_TIMEOUT + 3_000);
    assertEquals(isComplete(await response.text(), shape), true);
  },
);

testOnEach(
  "GET and HEAD /Records.csv give status 304 without a body and its length when the ETag matches",
  async (runtime) => {
    const shape = { rows: 10, width: 10, pages: 1 };
    await using upstream = servePages(shape);
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const conditional = { headers: { "if-none-match": '"x"' } };
    const { headers, body } = await fetch(server.root + DOWNLOAD, conditional);
    await body!.cancel();
    const etag = headers.get("etag")!;
    assertEquals([headers.get("accept-ranges"), upstream.pages.length], ["none", 1]);
    for (const method of ["GET", "HEAD"]) {
      const text = await sendRaw(
        server,
        `${method} ${DOWNLOAD} HTTP/1.1\r\nhost: a\r\nif-none-match: "x", ${etag}\r\nconnection: close\r\n\r\n`,
      );
      assertMatch(text, /^HTTP\/1\.1 304 /);
      assertMatch(text, /\r\n\r\n$/);
      assertMatch(text.toLowerCase(), new RegExp(`\r\netag: ${etag.toLowerCase()}\r\n`));
      assertEquals(text.match(/^(content-length|content-type|transfer-encoding):.*/gim), null);
    }
    assertEquals(upstream.pages.length, 1);
  },
);

testOnEach(
  "HEAD gives the length of a Parquet file, of which GET gives the bytes of a range",
  async (runtime) => {
    await using upstream = servePages({ rows: 10, width: 10, pages: 1 });
    await using server = await startApp(runtime, appOptionsFor(upstream, { cacheTtl: 60_000 }));
    const url = server.root + DOWNLOAD.replace(".csv", ".parquet");
    // Bun leaves out the length of a stream and of HEAD, and workerd that of a stream.
    const lengthOf = (length: number, isHead = false) =>
      runtime === BUN || runtime === WORKERD && !isHead ? null : String(length);
    const { headers } = await fetch(url, { method: "HEAD" });
    const whole = await fetch(url);
    const bytes = await whole.bytes();
    const range = { range: "bytes=4-", "if-range": headers.get("etag")! };
    const part = await fetch(url, { headers: range });
    assertEquals(await part.bytes(), bytes.slice(4));
    const { length } = bytes;
    assertEquals(
      [part.status, part.headers.get("content-range")],
      [206, `bytes 4-${length - 1}/${length}`],
    );
    assertEquals(
      [headers, whole.headers, part.headers].map((given) => given.get("content-length")),
      [lengthOf(length, true), lengthOf(length), lengthOf(length - 4)],
    );
    // RFC 9112, 6.1: a proxy would leave out the length.
    for (const given of [headers, whole.headers, part.headers]) {
      assertEquals(given.has("content-length") && given.has("transfer-encoding"), false);
    }
    assertEquals([headers.get("accept-ranges"), upstream.pages.length], ["bytes", 1]);
  },
);

testOnEach(
  "GET /Records.xlsx gives a workbook with all rows when they have 3 pages",
  async (runtime) => {
    const shape = { rows: 1_000, width: 20, pages: 3 };
    await using upstream = servePages(shape);
    await using server = await startApp(runtime, appOptionsFor(upstream));
    const response = await fetch(server.root + DOWNLOAD.replace(".csv", ".xlsx"));
    assertEquals(response.headers.get("content-type"), FORMATS.xlsx.mediaType);
    const { Data: data = [] } = readWorkbook(await response.bytes()).sheets;
    const ids = data.slice(1).map(([id]) => id!.value);
    assertEquals([ids.length, new Set(ids).size], [shape.rows * shape.pages, ids.length]);
  },
);
