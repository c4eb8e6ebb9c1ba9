import type { ResourceName } from "../odata/resources.ts";
import { recordAfter } from "./records.ts";
import { search } from "./search.ts";
import type { SandboxQuery } from "./system_query_options.ts";
import type { World } from "./world.ts";

/** A page of rows, as the service words it. */
export interface SandboxPage {
  rows: Record<string, unknown>[];
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
  const rows: Record<string, unknown>[] = [];
  let last: Numbered["Id"] | undefined;
  for (const row of rowsAfter(world, resource, query)) {
    if (rows.length === query.top) return { rows, nextLink: toNextLink(url, query, last!) };
    const values = row as object as Record<string, unknown>;
    rows.push(Object.fromEntries(query.select.map((name) => [name, values[name]])));
    last = row.Id;
  }
  return { rows, nextLink: undefined };
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
