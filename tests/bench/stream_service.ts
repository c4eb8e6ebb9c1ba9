/**
 * Serves prepared pages of records on loopback, in a process of its own. Prints its URL to standard error.
 *
 * The first three parts of a path are the kind of the values, the delivery and the number of records.
 * `GET /requests` returns the number of requests since the last time.
 */
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { ValueKind } from "./csv_pages.ts";
import { ID_BASE, RecordedRows } from "./recorded_rows.ts";

/** How pages are sent: as a whole, compressed, or the first one slowly in equal parts. */
export type Delivery = "plain" | "gzip" | "dripped";

/** Time (ms) in which a dripped page of 15 MB arrives. */
export const DRIP_TIME = 2_000;
/** Number of the parts of a dripped page. */
const DRIP_PARTS = 100;
const PAGE_ROWS = 10_000;

/** Returns the base URL of a part of the service. */
export function streamUrl(
  root: string,
  kind: ValueKind,
  delivery: Delivery,
  records: number,
): string {
  return `${root}/${kind.replace(" ", "-")}/${delivery}/${records}/v1/odata/v4`;
}

/** Returns the URLs of the pages below a base URL. */
export function pageUrls(baseUrl: string, records: number): string[] {
  const url = `${baseUrl}/Records?%24top=${PAGE_ROWS}`;
  return Array.from(
    { length: Math.ceil(records / PAGE_ROWS) },
    (_, page) => page === 0 ? url : `${url}&%24skiptoken=Id:${ID_BASE + page * PAGE_ROWS}`,
  );
}

/**
 * Creates the service.
 *
 * @param heldRows Number of different rows; they are repeated with other Ids
 */
export function createStreamService(heldRows = 20_000): (request: Request) => Promise<Response> {
  const rows = new Map<string, Promise<RecordedRows>>();
  const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  let requests = 0;

  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const [, kind = "", delivery, records] = pathname.split("/");
    if (kind === "requests") {
      const count = requests;
      requests = 0;
      return Response.json(count);
    }
    requests++;
    const recorded = rows.get(kind) ??
      RecordedRows.create(heldRows, kind.replace("-", " ") as ValueKind);
    rows.set(kind, recorded);
    const response = (await recorded).respond(request, Number(records));
    if (response === undefined) return new Response("unknown path", { status: 404 });
    const isFirstPage = !searchParams.has("$count") && !searchParams.has("$skiptoken");
    const headers = { "content-type": "application/json" };
    if (delivery === "gzip") {
      const body = compressed.get(request.url) ?? compress(response);
      compressed.set(request.url, body);
      return new Response(await body, { headers: { ...headers, "content-encoding": "gzip" } });
    }
    if (delivery === "dripped" && isFirstPage) {
      return new Response(drip(await response.bytes()), { headers });
    }
    return response;
  };
}

async function compress(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await response.bytes();
  return await promisify(gzip)(bytes, { level: constants.Z_BEST_SPEED }) as Uint8Array<ArrayBuffer>;
}

function drip(body: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const length = Math.ceil(body.length / DRIP_PARTS);
  const started = performance.now();
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      const due = started + DRIP_TIME * sent / DRIP_PARTS;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
      controller.enqueue(body.slice(sent * length, ++sent * length));
      if (sent === DRIP_PARTS) controller.close();
    },
  }, { highWaterMark: 0 });
}

if (import.meta.main) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    createStreamService(),
  );
  console.error(`http://127.0.0.1:${server.addr.port}`);
}
