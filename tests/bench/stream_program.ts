// The program that is measured by the suite `stream`, in Deno, Node and workerd. It imports nothing.
import type * as weir from "../../mod.ts";

/** Ways to read records: with Weir, or only their response bodies. */
export type Reading = "csv" | "ndjson" | "json" | "rows" | "bodies" | "bodies into one buffer";

/** What the program reads. */
export interface Job {
  reading: Reading;
  baseUrl: string;
  /** URLs of all pages, for the readings without Weir. */
  pages: string[];
  /** Time (ms) for which the reader stops after the first chunk; it then leaves. */
  stop?: number;
}

/** Measured values of a job. */
export interface JobResult {
  /** Number of bytes; of rows for the reading `rows`. */
  length: number;
  /** Times (ms) from the start to the first and the last chunk. */
  first: number;
  last: number;
}

/** Size (bytes) of the buffer into which bodies are read. */
const BUFFER_SIZE = 1 << 18;

/**
 * Creates a server that runs the job in the body of a request.
 *
 * @param Client Class of the client, from this or another version of Weir
 * @param fetchPage Sends the requests. Default: the default of the client
 */
export function createProgram(
  Client: typeof weir.DataStream,
  fetchPage?: typeof fetch,
): { fetch(request: Request): Promise<Response> } {
  const run = (job: Job): Promise<JobResult> => {
    const { reading, baseUrl } = job;
    if (reading.startsWith("bodies")) return readBodies(job, fetchPage ?? fetch);
    const query = new Client({
      apiKey: "benchmark",
      baseUrl,
      requestsPerSecond: 1_000_000,
      ...fetchPage && { fetch: fetchPage },
    }).records({ partition: "never" });
    return readChunks(query[reading as "csv"](), job);
  };
  return { fetch: async (request) => Response.json(await run(await request.json())) };
}

/** Reads chunks or rows. */
async function readChunks(
  stream: ReadableStream<{ length?: number }>,
  { stop }: Job,
): Promise<JobResult> {
  const started = performance.now();
  const reader = stream.getReader();
  let length = 0;
  let first = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (length === 0) first = performance.now() - started;
    length += value.length ?? 1;
    if (stop === undefined) continue;
    await new Promise((resolve) => setTimeout(resolve, stop));
    await reader.cancel();
    break;
  }
  return { length, first, last: performance.now() - started };
}

/** Reads the bodies of all pages without Weir: the share of the runtime. */
async function readBodies({ reading, pages }: Job, fetchPage: typeof fetch): Promise<JobResult> {
  const started = performance.now();
  let length = 0;
  let buffer = new Uint8Array(BUFFER_SIZE);
  for (const url of pages) {
    const { body } = await fetchPage(url);
    if (reading === "bodies") {
      const reader = body!.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        length += value.length;
      }
      continue;
    }
    const reader = body!.getReader({ mode: "byob" });
    for (;;) {
      const { done, value } = await reader.read(buffer);
      if (value !== undefined) buffer = new Uint8Array(value.buffer);
      if (done) break;
      length += value.length;
    }
  }
  return { length, first: 0, last: performance.now() - started };
}
