import { createSandbox } from "../../src/sandbox/service.ts";

/**
 * The sandbox's records, written once: without a limit to its pace, writing them at each request
 * would be what is measured.
 */
export class WrittenRecords {
  readonly #ids: readonly number[];
  /** The rows, a comma after each. */
  readonly #rows: Uint8Array<ArrayBuffer>;
  /** Where each row begins, and where the last one ends. */
  readonly #starts = [0];

  private constructor(rows: readonly { Id: number }[]) {
    const encoder = new TextEncoder();
    const written = rows.map((row) => encoder.encode(`${JSON.stringify(row)},`));
    for (const { length } of written) this.#starts.push(this.#starts.at(-1)! + length);
    this.#rows = new Uint8Array(this.#starts.at(-1)!);
    written.forEach((row, index) => this.#rows.set(row, this.#starts[index]));
    this.#ids = rows.map(({ Id }) => Id);
  }

  /** Writes so many records. */
  static async write(records: number): Promise<WrittenRecords> {
    const { apiKey, url, fetch } = createSandbox({ records, requestsPerSecond: Infinity });
    const rows: { Id: number }[] = [];
    for (let next: string | undefined = `${url}/Records?%24top=10000`; next !== undefined;) {
      const response = await fetch(next, { headers: { "x-api-key": apiKey } });
      const page: { value: { Id: number }[]; "@odata.nextLink"?: string } = await response.json();
      rows.push(...page.value);
      next = page["@odata.nextLink"]?.replaceAll("$", "%24");
    }
    return new WrittenRecords(rows);
  }

  /** Answers a request for a page of them, or for their number, whatever its filter. */
  answer({ url }: Request): Response {
    const { origin, pathname, searchParams } = new URL(url);
    const ids = this.#ids;
    if (searchParams.has("$count")) return Response.json({ value: ids.length });
    const [, after] = searchParams.get("$skiptoken")?.split(":") ?? [];
    const start = after === undefined ? 0 : ids.indexOf(Number(after)) + 1;
    const top = Number(searchParams.get("$top"));
    const end = Math.min(ids.length, start + top);
    const next = `${origin}${pathname}?$skiptoken=Id:${ids[end - 1]}&$top=${top}`;
    const body = new Blob([
      '{"value":[',
      this.#rows.subarray(this.#starts[start], this.#starts[end]! - 1),
      end < ids.length ? `],"@odata.nextLink":"${next}"}` : "]}",
    ]);
    return new Response(body, { headers: { "content-type": "application/json" } });
  }
}
