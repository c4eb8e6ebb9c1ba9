import type { DataStream, Query } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

/** Number of records of each query: four pages. */
export const QUERY_ROWS = 40_000;

export const SELECTIONS = {
  "3 fields": ["Id", "ActivityStartDate", "ResultValue"],
  "44 fields": undefined,
} as const;

type Read = (query: Query<unknown>) => Promise<number>;

export const READS: Readonly<Record<string, Read>> = {
  "rows()": async (query) => {
    let rows = 0;
    const reader = query.rows().getReader();
    while (!(await reader.read()).done) rows++;
    return rows;
  },
  "for await": async (query) => {
    let rows = 0;
    for await (const _ of query) rows++;
    return rows;
  },
  "pages()": async (query) => {
    let rows = 0;
    const reader = query.pages().getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return rows;
      rows += value.length;
    }
  },
  "toArray()": async (query) => (await query.toArray()).length,
  "batches()": async (query) => {
    let rows = 0;
    for await (const batch of query.batches()) rows += batch.data.length;
    return rows;
  },
  "batches() as CSV": async (query) => {
    let rows = 0;
    for await (const batch of query.batches({ format: "csv" })) rows += batch.rows;
    return rows;
  },
  "csv()": (query) => drain(query.csv()),
  "ndjson()": (query) => drain(query.ndjson()),
  "json()": (query) => drain(query.json()),
};

async function drain(bytes: ReadableStream<Uint8Array>): Promise<number> {
  const reader = bytes.getReader();
  while (!(await reader.read()).done);
  return QUERY_ROWS;
}

/** Creates queries whose responses come from memory, so that the sandbox is not measured. */
export function queriesFromMemory(
  Client: typeof DataStream,
): (select: readonly string[] | undefined) => Query<unknown> {
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
  return (select) => client.records({ select: select as undefined });
}

export async function pagesOf(query: Query<unknown>): Promise<Uint8Array[]> {
  const encoder = new TextEncoder();
  const pages: Uint8Array[] = [];
  for await (const rows of query.pages()) pages.push(encoder.encode(JSON.stringify(rows)));
  return pages;
}
