import type { FakeClock } from "../../helpers/fake_clock.ts";

/** Time (ms) between a request and its page, which then arrives without delay. */
const LATENCY = 300;
/** Approximate length (bytes) of a chunk of a page. Fewer rows are enough for a part. */
export const CHUNK_LENGTH = 400_000;
const ROWS_PER_CHUNK = 10;

/** A service whose pages take time to begin, but none to arrive. */
export interface DelayedPages {
  readonly requests: number;
  fetch(request: Request): Promise<Response>;
  /** Reads a stream, and waits 300 ms for each page of it. Returns the time rounded to 100 ms. */
  readSteadily(stream: ReadableStream<Uint8Array>): Promise<number>;
}

/**
 * Creates a service of rows with an Id and a long text.
 *
 * @param pages Number of pages
 * @param chunks Number of chunks of each page. They are delivered in as many parts, and one for the last row. 0 for a
 *   page of one row, which is one part
 */
export function delayedPages(clock: FakeClock, pages: number, chunks: number): DelayedPages {
  const rows = Math.max(1, chunks * ROWS_PER_CHUNK);
  const text = "v".repeat(CHUNK_LENGTH / ROWS_PER_CHUNK);
  const encoder = new TextEncoder();
  function* pageAfter(id: number, link: string): Generator<Uint8Array<ArrayBuffer>> {
    let chunk = '{"value":[';
    for (let row = 1; row <= rows; row++) {
      chunk += `${row === 1 ? "" : ","}{"Id":${id + row},"DOI":"${text}"}`;
      if (row === rows) chunk += `]${id + rows < pages * rows ? link : ""}}`;
      else if (row % ROWS_PER_CHUNK > 0) continue;
      yield encoder.encode(chunk);
      chunk = "";
    }
  }
  let requests = 0;
  return {
    get requests() {
      return requests;
    },
    async fetch({ url }) {
      const { origin, pathname, searchParams } = new URL(url);
      if (searchParams.has("$count")) return Response.json({ value: pages * rows });
      requests++;
      const id = Number(/\d+/.exec(searchParams.get("$skiptoken") ?? "0")![0]);
      await clock.sleep(LATENCY);
      const link = `,"@odata.nextLink":"${origin}${pathname}?$skiptoken=Id:${id + rows}"`;
      const body = ReadableStream.from(pageAfter(id, link));
      return new Response(body, { headers: { "content-type": "application/json" } });
    },
    async readSteadily(stream) {
      const time = LATENCY / (rows * text.length);
      for await (const chunk of stream) await clock.sleep(chunk.length * time);
      return Math.round(clock.now() / 100) * 100;
    },
  };
}
