/** The readers of the edge bench, and what they must read. */
import { Buffer } from "node:buffer";
import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { readCsv } from "../helpers/rfc4180.ts";

/** What a download of so many records must be, byte for byte. */
export async function wholeFile(records: number): Promise<Uint8Array> {
  const requestsPerSecond = Infinity;
  const { apiKey, url: baseUrl, fetch } = createSandbox({ records, requestsPerSecond });
  const client = new DataStream({ apiKey, baseUrl, fetch, requestsPerSecond });
  const bytes = await new Response(client.records().csv()).bytes();
  const rows = readCsv(new TextDecoder().decode(bytes));
  const ids = new Set(rows.map(([id]) => id));
  if (rows.length === 1 + records && ids.size === rows.length) return bytes;
  throw new Error(`wanted ${records} records and a header, got ${rows.length} rows`);
}

/** Reads a download, and holds every byte against what it must be. */
export class DownloadReader {
  #read = 0;
  readonly #whole: Uint8Array;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(body: ReadableStream<Uint8Array>, whole: Uint8Array) {
    this.#reader = body.getReader();
    this.#whole = whole;
  }

  /** Begins a download; it is not read yet. */
  static async open(url: string, whole: Uint8Array): Promise<DownloadReader> {
    const response = await fetch(url);
    if (response.status === 200) return new DownloadReader(response.body!, whole);
    throw new Error(`status ${response.status}: ${await response.text()}`);
  }

  /** Reads so many bytes at least; without a number, all. */
  async read(bytes = Infinity): Promise<void> {
    while (this.#read < bytes) {
      const { done, value } = await this.#reader.read();
      if (done) return this.#end();
      const wanted = this.#whole.subarray(this.#read, this.#read + value.length);
      if (Buffer.compare(value, wanted) !== 0) throw new Error(`other bytes from ${this.#read} on`);
      this.#read += value.length;
    }
  }

  /** Leaves. */
  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }

  #end(): void {
    if (this.#read === this.#whole.length) return;
    throw new Error(`ended after ${this.#read} bytes of ${this.#whole.length}`);
  }
}
