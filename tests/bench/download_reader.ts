// Reads downloads of the edge server and compares them with the client's own CSV.
import { Buffer } from "node:buffer";
import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { RecordedRows } from "./recorded_rows.ts";

/**
 * Returns the exact bytes that a download of a number of records must have.
 *
 * @param requestsPerSecond Rate limit of the service, which serves recorded rows if it has none
 */
export async function expectedFile(
  records: number,
  requestsPerSecond: number,
): Promise<Uint8Array> {
  const sandbox = createSandbox({ records, requestsPerSecond: Infinity });
  const recorded = requestsPerSecond === Infinity ? await RecordedRows.create(records) : undefined;
  const client = new DataStream({
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    fetch: async (request) => recorded?.respond(request) ?? await sandbox.fetch(request),
    requestsPerSecond: Infinity,
  });
  const bytes = await new Response(client.records().csv()).bytes();
  const rows = readCsv(new TextDecoder().decode(bytes));
  const ids = new Set(rows.map(([id]) => id));
  if (rows.length === 1 + records && ids.size === rows.length) return bytes;
  throw new Error(`Expected a header and ${records} records, got ${rows.length} rows`);
}

/** Reads a download and compares each byte with the expected file. */
export class DownloadReader {
  #read = 0;
  readonly #expected: Uint8Array;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(body: ReadableStream<Uint8Array>, expected: Uint8Array) {
    this.#reader = body.getReader();
    this.#expected = expected;
  }

  /** Requests a download without reading its body. */
  static async open(url: string, expected: Uint8Array): Promise<DownloadReader> {
    const response = await fetch(url);
    if (response.status === 200) return new DownloadReader(response.body!, expected);
    throw new Error(`Status ${response.status}: ${await response.text()}`);
  }

  /**
   * Reads the body.
   *
   * @param minBytes Number of bytes after which to stop; default: the end of the body
   */
  async read(minBytes = Infinity): Promise<void> {
    while (this.#read < minBytes) {
      const { done, value } = await this.#reader.read();
      if (done) return this.#end();
      const expected = this.#expected.subarray(this.#read, this.#read + value.length);
      if (Buffer.compare(value, expected) !== 0) {
        throw new Error(`The download differs from the expected file after byte ${this.#read}`);
      }
      this.#read += value.length;
    }
  }

  /** Cancels the download. */
  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }

  #end(): void {
    if (this.#read === this.#expected.length) return;
    throw new Error(`The download ended after ${this.#read} of ${this.#expected.length} bytes`);
  }
}
