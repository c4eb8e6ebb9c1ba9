import type { DataStream, Query } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

/** Number of records of each query: four pages. */
const QUERY_ROWS = 40_000;

export const SELECTIONS = {
  "3 fields": ["Id", "ActivityStartDate", "ResultValue"],
  "44 fields": undefined,
} as const;

export type Read = (query: Query<unknown>) => Promise<unknown>;

export const READS: Readonly<Record<string, Read>> = {
  "rows()": (query) => drain(query.rows()),
  "for await": drain,
  "pages()": (query) => drain(query.pages()),
  "toArray()": (query) => query.toArray(),
  "batches()": (query) => drain(query.batches()),
  "batches() as CSV": (query) => drain(query.batches({ format: "csv" })),
  "csv()": (query) => drain(query.csv()),
  "ndjson()": (query) => drain(query.ndjson()),
  "json()": (query) => drain(query.json()),
};

export async function drain(parts: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of parts);
}

/** Creates queries whose responses come from memory, so that the sandbox is not measured. */
export function queriesFromMemory(
  Client: typeof DataStream,
): (select: readonly string[] | undefined, tidy?: boolean) => Query<unknown> {
  const { apiKey, url: baseUrl, fetch } = createSandbox({
    records: QUERY_ROWS,
    requestsPerSecond: Infinity,
  });
  const bodies = new Map<string, Promise<ArrayBuffer>>();
  const client = new Client({
    apiKey,
    baseUrl,
    requestsPerSecond: Infinity,
    async fetch(request) {
      const body = bodies.get(request.url) ??
        fetch(request).then((response) => response.arrayBuffer());
      bodies.set(request.url, body);
      const headers = { "content-type": "application/json" };
      return new Response((await body).slice(0), { headers });
    },
  });
  return (select, tidy = false) => client.records({ select, tidy });
}

export async function pagesOf(query: Query<unknown>): Promise<Uint8Array[]> {
  const encoder = new TextEncoder();
  const pages: Uint8Array[] = [];
  for await (const rows of query.pages()) {
    pages.push(encoder.encode(JSON.stringify({ value: rows })));
  }
  return pages;
}
