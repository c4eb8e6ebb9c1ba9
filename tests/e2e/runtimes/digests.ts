// Digests of the bytes of a query in each format, to compare them between runtimes.
import type { Query } from "../../../mod.ts";

export async function digestsOf(query: Query<object>): Promise<Record<string, string>> {
  return {
    csv: await digest(query.csv()),
    csvForExcel: await digest(query.csv({ bom: true, separator: ";" })),
    ndjson: await digest(query.ndjson()),
    json: await digest(query.json()),
  };
}

async function digest(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const bytes = await new Response(stream).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${bytes.byteLength} bytes, ${hex}`;
}
