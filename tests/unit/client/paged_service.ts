import { DataStream, type DataStreamOptions, type Query } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { ROOT } from "../../helpers/upstream.ts";

const encoder = new TextEncoder();

/** A request for rows, as the service reads it. */
export interface RowsRequest {
  /** Number of the request among those for rows; the first one has number 1. */
  number: number;
  /** Skip token; `null` for the first page. */
  token: string | null;
  top: number;
}

/** A page of the service before it is serialised. */
export interface PagedRows {
  ids: number[];
  /** Skip token in the link to the next page; `undefined` without a link. */
  token: string | undefined;
}

/** How a service of rows with integer Ids behaves. */
export interface ServiceOptions {
  /** Ids of the rows, ascending. */
  ids: readonly number[];
  /** Returns the skip token behind an Id. Default: `Id:<Id>`. */
  toToken?: (id: number) => string;
  /** Returns the Id in a skip token. Default: its digits. */
  idOf?: (token: string) => number;
  /** Changes a page, or replaces the response. Default: no change. */
  change?: (page: PagedRows, request: RowsRequest) => PagedRows | Response | Promise<Response>;
  /** Responds to a count. Default: the number of rows. */
  count?: (number: number) => number | Response;
}

/** A client, and the requests that its service received. */
export interface PagedClient {
  client: DataStream;
  clock: FakeClock;
  /** Requests in order: skip token and page size, or `count`. */
  requests: string[];
  fetch(request: Request): Promise<Response>;
}

/** Creates a client of a service of rows with an Id and a DOI. */
export function pagedClient(service: ServiceOptions, options: DataStreamOptions = {}): PagedClient {
  const { ids, change = (page) => page, count = () => ids.length } = service;
  const { toToken = (id) => `Id:${id}`, idOf = (token) => Number(/\d+/.exec(token)) } = service;
  const clock = new FakeClock();
  const requests: string[] = [];
  let [pages, counts] = [0, 0];
  const fetch = async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (searchParams.has("$count")) {
      requests.push("count");
      const answer = count(++counts);
      return typeof answer === "number" ? Response.json({ value: answer }) : answer;
    }
    const token = searchParams.get("$skiptoken");
    const top = Number(searchParams.get("$top"));
    requests.push(`${token} ${top}`);
    const after = token === null ? -1 : idOf(token);
    const rest = ids.filter((id) => id > after);
    const page = {
      ids: rest.slice(0, top),
      token: rest.length > top ? toToken(rest[top - 1]!) : undefined,
    };
    const changed = await change(page, { number: ++pages, token, top });
    if (changed instanceof Response) return changed;
    const link = changed.token &&
      `${new URL(ROOT).origin}${pathname}?$skiptoken=${encodeURIComponent(changed.token)}`;
    return Response.json({ value: rowsOf(changed.ids), "@odata.nextLink": link });
  };
  const client = new DataStream({
    apiKey: "k3y-of-a-test",
    baseUrl: ROOT,
    clock,
    fetch,
    ...options,
  });
  return { client, clock, requests, fetch };
}

/** Reads the Ids of a query, in the order in which they are delivered, and the error that ends it. */
export async function readIds(
  query: Query<{ Id: number }>,
): Promise<{ ids: number[]; error: unknown }> {
  const ids: number[] = [];
  try {
    for await (const chunk of query.ndjson()) {
      const lines = new TextDecoder().decode(chunk).trimEnd().split("\n");
      ids.push(...lines.map((line) => JSON.parse(line).Id));
    }
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error };
  }
}

function rowsOf(ids: readonly number[]): { Id: number; DOI: string }[] {
  return ids.map((Id) => ({ Id, DOI: `d${Id}` }));
}

/** Returns the body of a page without a link in two texts, of which the first ends after the row with an Id. */
export function splitBody(ids: readonly number[], id: number): [string, string] {
  const body = JSON.stringify({ value: rowsOf(ids) });
  const row = JSON.stringify(rowsOf([id])[0]);
  const end = body.indexOf(row) + row.length;
  return [body.slice(0, end), body.slice(end)];
}

export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/**
 * Returns a page that arrives in parts.
 *
 * @param parts Texts or bytes of the body, and times (ms) for which it pauses
 * @param end What happens after them. Default: the body ends
 */
export function arrivingPage(
  clock: FakeClock,
  parts: readonly (string | Uint8Array<ArrayBuffer> | number)[],
  end: "close" | "reset" | "hang" = "close",
): Response {
  async function* send() {
    for (const part of parts) {
      if (typeof part === "number") await clock.sleep(part);
      else if (part.length > 0) yield typeof part === "string" ? encoder.encode(part) : part;
    }
    if (end === "hang") await new Promise(() => {});
    if (end === "reset") throw new TypeError("connection reset");
  }
  return new Response(ReadableStream.from(send()), {
    headers: { "content-type": "application/json" },
  });
}
