// A page that is cut at any byte: the document is the same as without the cut.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream, type ResourceName } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { formatsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { arrivingPage } from "./paged_service.ts";
import { ROOT } from "../../helpers/upstream.ts";

const TOP = 2;
const encoder = new TextEncoder();

/** What arrives instead of the rest of the page. */
const ENDS = ["nothing", "a reset", "other text"] as const;
type End = typeof ENDS[number];

/** Rows of two pages and one row. Ids of Metadata are UUIDs, in another order than the rows. */
function rowsOf(resource: ResourceName): Record<string, unknown>[] {
  return [11, 12, 20, 21, 30].map((id, index) => ({
    Id: resource === "Metadata" ? `${90 - id}000000-5eed-4000-8000-000000000000` : id,
    Name: `é"${index}`,
    Latitude: 46.5,
    Longitude: -index,
  }));
}

/**
 * Creates a query of a service whose first page is cut, and records the skip tokens of its requests.
 *
 * @param cut Place (bytes) and kind of the cut. Default: none
 */
function queryOf(resource: ResourceName, cut?: { at: number; end: End }) {
  const all = rowsOf(resource);
  const clock = new FakeClock();
  const tokens: (string | null)[] = [];
  const pageAfter = (token: string | null) => {
    const start = all.findIndex(({ Id }) => `Id:${Id}` === token) + 1;
    const value = all.slice(start, start + TOP);
    const link = `${ROOT}/${resource}?$skiptoken=Id:${value.at(-1)?.Id}`;
    const hasMore = start + TOP < all.length;
    return JSON.stringify({ value, ...(hasMore && { "@odata.nextLink": link }) });
  };
  const fetch = (request: Request) => {
    const { searchParams } = new URL(request.url);
    if (searchParams.has("$count")) return Promise.resolve(Response.json({ value: all.length }));
    const token = searchParams.get("$skiptoken");
    tokens.push(token);
    const page = encoder.encode(pageAfter(token));
    if (cut === undefined || tokens.length > 1) return Promise.resolve(arrivingPage(clock, [page]));
    const { at, end } = cut;
    const parts = [page.slice(0, at >> 1), 150, page.slice(at >> 1, at), 150];
    const rest = encoder.encode(end === "other text" ? "<html>" : "");
    return Promise.resolve(
      arrivingPage(clock, [...parts, rest], end === "a reset" ? "reset" : "close"),
    );
  };
  const client = new DataStream({ baseUrl: ROOT, requestsPerSecond: Infinity, clock, fetch });
  const select = ["Id", "Name", "Latitude", "Longitude"];
  const query = client.query(resource, { unchecked: true, select, top: TOP });
  return { query, tokens, length: encoder.encode(pageAfter(null)).length };
}

async function read(query: ReturnType<typeof queryOf>["query"], format: string): Promise<string> {
  if (format === "rows") return JSON.stringify(await query.toArray());
  return await new Response(query.bytes(format as "csv")).text();
}

for (const resource of RESOURCE_NAMES) {
  for (const format of ["rows", ...formatsOf(resource)]) {
    Deno.test(`${format} of ${resource} are the same when the first page is cut at any byte`, async () => {
      const { query, length } = queryOf(resource);
      const whole = await read(query, format);
      let continued = 0;
      // Every second byte, and one kind of cut at each; the formats begin with different ones.
      for (let at = format.length % 2; at <= length; at += 2) {
        const end = ENDS[(at + format.length) % ENDS.length]!;
        const { query, tokens } = queryOf(resource, { at, end });
        assertEquals(await read(query, format), whole, `${end} after ${at} bytes`);
        if (tokens[1] === "Id:11") continued++;
      }
      // Complete rows before the cut are delivered, except if Ids are no integers.
      const isEarly = format !== "rows" && resource !== "Metadata";
      assert(isEarly ? continued > 10 : continued === 0, `${continued}`);
    });
  }
}
