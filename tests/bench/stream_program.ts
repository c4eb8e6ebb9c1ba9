// The program that is measured by the suite `stream`, in Deno, Node and workerd. It imports nothing.
import type * as weir from "../../mod.ts";

/** Ways to read records: with Weir, or only their response bodies. */
export type Reading =
  | "csv"
  | "ndjson"
  | "json"
  | "rows"
  | "bodies"
  | "bodies into one buffer"
  | "bodies and new chunks";

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

/** Size (bytes) of the buffer into which bodies are read, and of the chunks of a stream. */
const BUFFER_SIZE = 1 << 18;

/** Number of bytes of JSON for a byte of CSV. */
const JSON_PER_CSV = 5;

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
    if (reading === "bodies and new chunks") {
      return readChunks(streamChunks(job, fetchPage ?? fetch), job);
    }
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

/**
 * Reads the bodies of all pages without Weir, like Weir: with a signal, in Deno and workerd into one buffer. Delivers
 * as many bytes as the CSV of the pages, in new chunks.
 */
function streamChunks({ pages }: Job, fetchPage: typeof fetch): ReadableStream<Uint8Array> {
  async function* read() {
    let buffer = new Uint8Array(BUFFER_SIZE);
    const output = new Uint8Array(2 * BUFFER_SIZE);
    let length = 0;
    for (const url of pages) {
      const { body } = await fetchPage(new Request(url, { signal: new AbortController().signal }));
      const byobReader = isNode ? undefined : body!.getReader({ mode: "byob" });
      const reader = isNode ? body!.getReader() : undefined;
      for (;;) {
        const { done, value } = await (byobReader?.read(buffer) ?? reader!.read());
        if (byobReader && value !== undefined) buffer = new Uint8Array(value.buffer);
        if (done) break;
        const added = value.subarray(0, value.length / JSON_PER_CSV);
        output.set(added, length);
        length += added.length;
        if (length < BUFFER_SIZE) continue;
        yield output.slice(0, length);
        length = 0;
      }
    }
    yield output.slice(0, length);
  }
  const chunks = read();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  }, { highWaterMark: 0 });
}

/** Whether the runtime is Node. */
const isNode = globalThis.navigator?.userAgent?.startsWith("Node") ?? true;
