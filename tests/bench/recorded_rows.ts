import { createSandbox } from "../../src/sandbox/service.ts";

/** Maximum number of rows to hold. A larger result repeats them. */
const MAX_ROWS = 100_000;

/**
 * Serves the sandbox's records from memory.
 *
 * The sandbox generates rows for each request. Without a rate limit, a benchmark would measure that
 * instead of the client.
 */
export class RecordedRows {
  readonly #records: number;
  /** JSON of the rows, each followed by a comma. */
  readonly #rows: Uint8Array<ArrayBuffer>;
  /** Offset of each row, and the offset after the last one. */
  readonly #starts = [0];

  private constructor(records: number, rows: readonly unknown[]) {
    this.#records = records;
    const encoder = new TextEncoder();
    const encoded = rows.map((row) => encoder.encode(`${JSON.stringify(row)},`));
    for (const { length } of encoded) this.#starts.push(this.#starts.at(-1)! + length);
    this.#rows = new Uint8Array(this.#starts.at(-1)!);
    encoded.forEach((row, index) => this.#rows.set(row, this.#starts[index]));
  }

  /** Reads a number of records from a sandbox. */
  static async create(records: number): Promise<RecordedRows> {
    const { apiKey, url, fetch } = createSandbox({
      records: Math.min(records, MAX_ROWS),
      requestsPerSecond: Infinity,
    });
    const rows: unknown[] = [];
    for (let next: string | undefined = `${url}/Records?%24top=10000`; next !== undefined;) {
      const response = await fetch(next, { headers: { "x-api-key": apiKey } });
      const page: { value: unknown[]; "@odata.nextLink"?: string } = await response.json();
      rows.push(...page.value);
      next = page["@odata.nextLink"]?.replaceAll("$", "%24");
    }
    return new RecordedRows(records, rows);
  }

  /**
   * Responds to a request for a page or a count. Ignores the filter. The skip token of a next link
   * is the number of rows before the next page.
   */
  respond({ url }: Request): Response {
    const { origin, pathname, searchParams } = new URL(url);
    if (searchParams.has("$count")) return Response.json({ value: this.#records });
    const done = Number(searchParams.get("$skiptoken")?.slice("Id:".length) ?? 0);
    const top = Number(searchParams.get("$top"));
    const held = this.#starts.length - 1;
    const start = done % held;
    const end = Math.min(held, start + top, start + this.#records - done);
    const reached = done + end - start;
    const next = `${origin}${pathname}?$skiptoken=Id:${reached}&$top=${top}`;
    const body = new Blob([
      '{"value":[',
      this.#rows.subarray(this.#starts[start], this.#starts[end]! - 1),
      reached < this.#records ? `],"@odata.nextLink":"${next}"}` : "]}",
    ]);
    return new Response(body, { headers: { "content-type": "application/json" } });
  }
}
