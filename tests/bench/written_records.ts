import { createSandbox } from "../../src/sandbox/service.ts";

/** As many records as are written; where more are asked for, these come again. */
const WRITTEN = 100_000;

/**
 * The sandbox's records, written once: without a limit to its pace, writing them at each request
 * would be what is measured.
 */
export class WrittenRecords {
  readonly #records: number;
  /** The rows, a comma after each. */
  readonly #rows: Uint8Array<ArrayBuffer>;
  /** Where each row begins, and where the last one ends. */
  readonly #starts = [0];

  private constructor(records: number, rows: readonly unknown[]) {
    this.#records = records;
    const encoder = new TextEncoder();
    const written = rows.map((row) => encoder.encode(`${JSON.stringify(row)},`));
    for (const { length } of written) this.#starts.push(this.#starts.at(-1)! + length);
    this.#rows = new Uint8Array(this.#starts.at(-1)!);
    written.forEach((row, index) => this.#rows.set(row, this.#starts[index]));
  }

  /** Writes so many records. */
  static async write(records: number): Promise<WrittenRecords> {
    const { apiKey, url, fetch } = createSandbox({
      records: Math.min(records, WRITTEN),
      requestsPerSecond: Infinity,
    });
    const rows: unknown[] = [];
    for (let next: string | undefined = `${url}/Records?%24top=10000`; next !== undefined;) {
      const response = await fetch(next, { headers: { "x-api-key": apiKey } });
      const page: { value: unknown[]; "@odata.nextLink"?: string } = await response.json();
      rows.push(...page.value);
      next = page["@odata.nextLink"]?.replaceAll("$", "%24");
    }
    return new WrittenRecords(records, rows);
  }

  /**
   * Answers a request for a page of them, or for their number, whatever its filter. The token of a
   * next link is the number of rows before it.
   */
  answer({ url }: Request): Response {
    const { origin, pathname, searchParams } = new URL(url);
    if (searchParams.has("$count")) return Response.json({ value: this.#records });
    const done = Number(searchParams.get("$skiptoken")?.slice("Id:".length) ?? 0);
    const top = Number(searchParams.get("$top"));
    const written = this.#starts.length - 1;
    const start = done % written;
    const end = Math.min(written, start + top, start + this.#records - done);
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
