import { createSandbox } from "../../src/sandbox/service.ts";

/** Maximum number of rows to hold. A larger result repeats them with other Ids. */
const MAX_ROWS = 100_000;
/** Number before the first Id, so that all Ids have eight digits and can be overwritten in place. */
const ID_BASE = 10_000_000;
const ID_DIGITS = 8;

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
    const encoded = rows.map((row, index) => {
      const { Id: _, ...others } = row as Record<string, unknown>;
      return encoder.encode(`${JSON.stringify({ Id: ID_BASE + index + 1, ...others })},`);
    });
    for (const { length } of encoded) this.#starts.push(this.#starts.at(-1)! + length);
    this.#rows = new Uint8Array(this.#starts.at(-1)!);
    encoded.forEach((row, index) => this.#rows.set(row, this.#starts[index]));
  }

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

  /** Responds to a request for a page or a count of Records; ignores the filter. */
  respond({ url }: Request, records = this.#records): Response | undefined {
    const { origin, pathname, searchParams } = new URL(url);
    if (!pathname.endsWith("/Records")) return undefined;
    if (searchParams.has("$count")) return Response.json({ value: records });
    const position = searchParams.get("$skiptoken")?.slice("Id:".length);
    const done = position === undefined ? 0 : Number(position) - ID_BASE;
    const top = Number(searchParams.get("$top"));
    const held = this.#starts.length - 1;
    const start = done % held;
    const end = Math.min(held, start + top, start + records - done);
    const reached = done + end - start;
    const next = `${origin}${pathname}?$skiptoken=Id:${ID_BASE + reached}&$top=${top}`;
    const body = new Blob([
      '{"value":[',
      this.#rowsWithIds(start, end, done),
      reached < records ? `],"@odata.nextLink":"${next}"}` : "]}",
    ]);
    const link = reached < records ? { link: `<${next}>; rel="next"` } : undefined;
    return new Response(body, { headers: { "content-type": "application/json", ...link } });
  }

  /** Returns the bytes of the rows from `start` to `end`, with the Ids after the first `done` rows. */
  #rowsWithIds(start: number, end: number, done: number): Uint8Array<ArrayBuffer> {
    const from = this.#starts[start]!;
    if (end === start) return new Uint8Array();
    const bytes = this.#rows.slice(from, this.#starts[end]! - 1);
    const encoder = new TextEncoder();
    for (let row = start; row < end; row++) {
      const at = this.#starts[row]! - from + '{"Id":'.length;
      const id = String(ID_BASE + done + row - start + 1);
      encoder.encodeInto(id, bytes.subarray(at, at + ID_DIGITS));
    }
    return bytes;
  }
}
