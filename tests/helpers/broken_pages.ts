import { DataStream, type Query, type ResourceName } from "../../mod.ts";
import type { FormatName } from "../../src/formats/formats.ts";
import { FakeClock } from "./fake_clock.ts";
import { sandboxRequests } from "./sandbox.ts";

/** Ways in which a page breaks after some of its bytes. */
export const BREAKS = [
  "reset",
  "end",
  "stall",
  "stray byte",
  "other text",
  "error member",
] as const;
type Break = typeof BREAKS[number];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Time (ms) for which a body pauses, so that the client delivers the rows that have arrived. */
export const PAUSE = 50;

/**
 * Returns a body that sends its parts with pauses between them.
 *
 * @param end Event after a further pause. Default: the body is closed without a further pause
 */
export function pausingBody(
  parts: readonly Uint8Array<ArrayBuffer>[],
  clock: FakeClock,
  end?: "close" | "reset" | "hang",
): ReadableStream<Uint8Array<ArrayBuffer>> {
  async function* send() {
    for (const [index, part] of parts.entries()) {
      if (index > 0) await clock.sleep(PAUSE);
      if (part.length > 0) yield part;
    }
    if (end !== undefined) await clock.sleep(PAUSE);
    if (end === "hang") await new Promise(() => {});
    if (end === "reset") throw new TypeError("connection reset");
  }
  const chunks = send();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  }, { highWaterMark: 0 });
}

/** Returns the body of a page that breaks at an offset. */
function brokenBody(
  page: Uint8Array<ArrayBuffer>,
  at: number,
  way: Break,
  clock: FakeClock,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const [start, rest] = [page.slice(0, at), page.slice(at)];
  const insert = (text: string) =>
    pausingBody([start, Uint8Array.from([...encoder.encode(text), ...rest])], clock);
  switch (way) {
    case "reset":
      return pausingBody([start], clock, "reset");
    case "end":
      return pausingBody([start], clock, "close");
    case "stall":
      return pausingBody([start], clock, "hang");
    case "stray byte":
      return insert("\0");
    case "other text":
      return pausingBody([start, encoder.encode("<html>Bad gateway</html>")], clock);
    case "error member": {
      const end = page.lastIndexOf("}".charCodeAt(0));
      const member = encoder.encode(',"error":{"message":"lost"}}');
      return pausingBody([start, Uint8Array.from([...page.slice(at, end), ...member])], clock);
    }
  }
}

/** A query of a service whose first page breaks, and the requests that it sends. */
export interface BrokenPage {
  query: Query<object>;
  /** Skip tokens and page sizes of the requests for rows. */
  requests: string[];
}

/** A result of several pages, and queries for it with and without a broken page. */
export interface BreakableResult {
  /** Creates a query of a service whose first page breaks at an offset. */
  break: (at: number, way: Break) => BrokenPage;
  /** Creates a query of the service without faults. */
  intact: () => Query<object>;
  /** The first page, in JSON. */
  page: Uint8Array<ArrayBuffer>;
}

/** Fields to request: few, so that pages are short. */
const SELECT: Record<ResourceName, readonly string[]> = {
  Records: ["Id", "DOI", "ResultValue"],
  Observations: ["Id", "DOI", "ResultValue"],
  Locations: ["Id", "Name", "Latitude", "Longitude"],
  Metadata: ["DOI", "DatasetName"],
};

/** Prepares a result of three pages, of which the first one breaks. */
export async function breakableResult(resource: ResourceName): Promise<BreakableResult> {
  const { sandbox } = sandboxRequests({ records: 10, locations: 10 });
  const top = resource === "Metadata" ? 2 : 4;
  const createQuery = (fetch: (request: Request) => Promise<Response>, clock: FakeClock) =>
    new DataStream({
      apiKey: sandbox.apiKey,
      baseUrl: sandbox.url,
      requestsPerSecond: Infinity,
      fetch,
      clock,
    }).query(resource, { select: SELECT[resource] as never, top });
  const intact = () => createQuery(sandbox.fetch, new FakeClock());
  const first = await sandbox.fetch(intact().url, { headers: { "x-api-key": sandbox.apiKey } });
  const page = await first.bytes();
  return {
    page,
    intact,
    break(at, way) {
      const clock = new FakeClock();
      const requests: string[] = [];
      const query = createQuery(async (request) => {
        const options = new URL(request.url).searchParams;
        const isCount = options.has("$count");
        const isFirst = !isCount && requests.length === 0;
        if (!isCount) requests.push(`${options.get("$skiptoken")} ${options.get("$top")}`);
        const response = await sandbox.fetch(request);
        if (!isFirst) return response;
        return new Response(brokenBody(page, at, way, clock), {
          headers: { "content-type": "application/json" },
        });
      }, clock);
      return { query, requests };
    },
  };
}

/** Reads a query in a format, chunk by chunk. */
export async function readChunks(query: Query<object>, format: FormatName): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of query.bytes(format)) chunks.push(decoder.decode(chunk));
  return chunks;
}
