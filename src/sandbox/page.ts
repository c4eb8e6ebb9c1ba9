import type { ResourceName } from "../odata/resources.ts";
import { recordAfter } from "./records.ts";
import { search } from "./search.ts";
import type { SandboxQuery } from "./system_query_options.ts";
import type { World } from "./world.ts";

/** A page of rows. */
export interface SandboxPage {
  /** Each row as JSON, its fields in the order of the selection. */
  rows: string[];
  /** Where the next page is; undefined on the last one. */
  nextLink: string | undefined;
}

interface Numbered {
  Id: string | number;
}

/** The page that a request asks for: its rows with the fields selected, and the link to go on. */
export function readPage(
  world: World,
  resource: ResourceName,
  query: SandboxQuery,
  url: URL,
): SandboxPage {
  const rows: string[] = [];
  let last: Numbered["Id"] | undefined;
  for (const row of rowsAfter(world, resource, query)) {
    if (rows.length === query.top) return { rows, nextLink: toNextLink(url, query, last!) };
    rows.push(JSON.stringify(row, query.select));
    last = row.Id;
  }
  return { rows, nextLink: undefined };
}

/** So many rows go out at once: a page is a stream of chunks, as from a server. */
const CHUNK_ROWS = 500;

/** The body of a page, piece by piece. */
export function* pageBody(resource: ResourceName, page: SandboxPage): Generator<string> {
  yield `{"@data.context":"odata/v4/${resource}/$links/Metadata(Id=@DatasetId)","value":[`;
  for (let start = 0; start < page.rows.length; start += CHUNK_ROWS) {
    yield (start > 0 ? "," : "") + page.rows.slice(start, start + CHUNK_ROWS).join();
  }
  yield page.nextLink ? `],"@odata.nextLink":${JSON.stringify(page.nextLink)}}` : "]}";
}

/** How many rows meet the filter, on whatever page. */
export function countRows(
  world: World,
  resource: ResourceName,
  { conditions }: SandboxQuery,
): number {
  const found = search(world, conditions);
  if (resource === "Metadata") return found.datasets().length;
  if (resource === "Locations") return found.locations().length;
  return found.countRecords();
}

/** The rows past the skip token, in the order of their ids: numbers, or UUIDs as text. */
function rowsAfter(
  world: World,
  resource: ResourceName,
  { conditions, after }: SandboxQuery,
): Iterable<Numbered> {
  const found = search(world, conditions);
  const isAfter = ({ Id }: Numbered) =>
    after === null || (typeof Id === "string" ? Id > after : Id > Number(after));
  if (resource === "Metadata") return found.datasets().filter(isAfter);
  if (resource === "Locations") return found.locations().filter(isAfter);
  return found.records(after === null ? 0 : recordAfter(Number(after)));
}

/** An absolute URL of the same endpoint, its `$` not encoded, as the service writes it. */
function toNextLink(url: URL, { carried, top }: SandboxQuery, last: Numbered["Id"]): string {
  const kept = carried.map(([name, value]) => `${name}=${encodeURIComponent(value)}&`).join("");
  return `${url.origin}${url.pathname}?${kept}$skiptoken=Id:${last}&$top=${top}`;
}
