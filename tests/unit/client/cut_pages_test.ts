// A page that is cut at any byte: the document and its notes are the same as without the cut.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream, type Progress } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { formatsOf, type TextFormat } from "../../helpers/resources.ts";
import { ROOT } from "../../helpers/upstream.ts";
import { arrivingPage } from "./paged_service.ts";

const encoder = new TextEncoder();
/** Rows of two pages, and one row. */
const ROWS = [11, 12, 20, 21, 30];
const TOP = 2;
/** Ids of Metadata are texts, in another order than the rows. */
const RESOURCES = {
  Locations: (id: number) => id,
  Metadata: (id: number) => `u${90 - id}`,
};
type Format = TextFormat | "rows";
/** What arrives instead of the rest of the page. */
const ENDS = ["nothing", "a reset", "other text"] as const;

/** Creates a query, and a service whose first page is cut; `at` is the number of bytes before the cut. */
function queryOf(
  resource: keyof typeof RESOURCES,
  format: Format,
  cut?: { at: number; end: typeof ENDS[number] },
) {
  const position = format === "geojson"
    ? { Latitude: 1, Longitude: 2, HorizontalCoordinateReferenceSystem: "NAD83" }
    : {};
  const rows = ROWS.map((id) => ({ Id: RESOURCES[resource](id), Name: `é"${id}`, ...position }));
  const clock = new FakeClock();
  /** Skip tokens of the requests. */
  const tokens: (string | null)[] = [];
  const pageAfter = (token: string | null) => {
    const start = rows.findIndex(({ Id }) => `Id:${Id}` === token) + 1;
    const value = rows.slice(start, start + TOP);
    const link = `?$skiptoken=Id:${value.at(-1)?.Id}`;
    return encoder.encode(
      JSON.stringify({ value, "@odata.nextLink": start + TOP < rows.length ? link : undefined }),
    );
  };
  const respond = ({ url }: Request) => {
    const { searchParams } = new URL(url);
    if (searchParams.has("$count")) return Response.json({ value: rows.length });
    const token = searchParams.get("$skiptoken");
    tokens.push(token);
    const page = pageAfter(token);
    if (cut === undefined || tokens.length > 1) return arrivingPage(clock, [page]);
    const { at, end } = cut;
    const parts = [page.slice(0, at >> 1), 150, page.slice(at >> 1, at), 150];
    if (end === "other text") parts.push(encoder.encode("<html>"));
    return arrivingPage(clock, parts, end === "a reset" ? "reset" : "close");
  };
  const client = new DataStream({
    baseUrl: ROOT,
    requestsPerSecond: Infinity,
    clock,
    fetch: (request) => Promise.resolve(respond(request)),
  });
  let notes: Progress["notes"];
  const query = client.query(resource, {
    select: Object.keys(rows[0]!).join(),
    top: TOP,
    unchecked: true,
    onProgress: (progress) => notes = progress.notes,
  });
  const read = async () => {
    if (format === "rows") return JSON.stringify(await query.toArray());
    const text = await new Response(query.bytes(format)).text();
    assertEquals(notes, format === "geojson" ? { nad83: rows.length } : undefined);
    return text;
  };
  return { read, tokens, length: pageAfter(null).length };
}

for (const resource of ["Locations", "Metadata"] as const) {
  for (const format of ["rows", ...formatsOf(resource)] as const) {
    Deno.test(`${format} of ${resource} are the same when the first page is cut at any byte`, async () => {
      const { read, length } = queryOf(resource, format);
      const whole = await read();
      let continued = 0;
      for (let at = 0; at <= length; at++) {
        // One kind of cut at each byte; the formats begin with different ones.
        const end = ENDS[(at + format.length) % ENDS.length]!;
        const { read, tokens } = queryOf(resource, format, { at, end });
        assertEquals(await read(), whole, `${end} after ${at} bytes`);
        if (tokens[1] === "Id:11") continued++;
      }
      // Complete rows before the cut are delivered, except if Ids are no integers.
      const isEarly = format !== "rows" && resource !== "Metadata";
      assert(isEarly ? continued > 10 : continued === 0, `${continued}`);
    });
  }
}
