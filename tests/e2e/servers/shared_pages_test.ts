// Identical downloads that share their pages, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { startApp, testOnEach } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  jsonResponse,
  pageFor,
  rowsOf,
  serveUpstream,
  type Upstream,
} from "./upstream.ts";

/** A result of 40,000 rows. */
const CLASSROOM = { rows: 10_000, width: 60, pages: 4 };

/** Path of its download. With a limit, the first page is delivered while it arrives. */
const CLASSROOM_DOWNLOAD = `${DOWNLOAD}&limit=${rowsOf(CLASSROOM)}`;

/** Serves a result. The first request for its first page gets half of it until `resume()` is called. */
function servePausedUpstream(shape: typeof CLASSROOM): Upstream & { resume: () => void } {
  const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
  const upstream = serveUpstream((request, number) => {
    const page = new TextEncoder().encode(pageFor(request, shape));
    if (number > 1) return jsonResponse(page);
    const half = page.length / 2;
    return jsonResponse(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(page.subarray(0, half));
          await resumed;
          controller.enqueue(page.subarray(half));
          controller.close();
        },
      }),
    );
  }, rowsOf(shape));
  return Object.assign(upstream, { resume });
}

/** Returns the sorted query strings of the requests. */
function queriesOf({ requests }: Upstream): string[] {
  return requests.map(({ url }) => decodeURIComponent(new URL(url).search)).sort();
}

/** Returns the bytes and the upstream requests of a download that shares no pages. */
async function readUnshared(start: (options: object) => ReturnType<typeof startApp>) {
  await using upstream = serveUpstream(
    (request) => jsonResponse(pageFor(request, CLASSROOM)),
    rowsOf(CLASSROOM),
  );
  await using server = await start(appOptionsFor(upstream));
  const bytes = await (await fetch(server.root + CLASSROOM_DOWNLOAD)).bytes();
  return { bytes, queries: queriesOf(upstream) };
}

function sharedOptions(upstream: Upstream): object {
  return appOptionsFor(upstream, { cacheTtl: 60_000 });
}

/** A client that has received the first bytes of a download. */
interface Client {
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  chunks: Uint8Array<ArrayBuffer>[];
}

async function startReading(url: string): Promise<Client> {
  const response = await fetch(url);
  assertEquals(response.status, 200);
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  return { reader, chunks: [value!] };
}

async function readRest({ reader, chunks }: Client): Promise<Uint8Array<ArrayBuffer>> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return await new Blob(chunks).bytes();
    chunks.push(value);
  }
}

testOnEach(
  "the app sends the requests of one download when 100 identical ones are concurrent",
  async (runtime) => {
    const expected = await readUnshared((options) => startApp(runtime, options));
    await using upstream = servePausedUpstream(CLASSROOM);
    await using server = await startApp(runtime, sharedOptions(upstream));
    const clients = await Promise.all(
      Array.from({ length: 100 }, () => startReading(server.root + CLASSROOM_DOWNLOAD)),
    );
    // All clients have their first bytes before the first page is complete.
    assertEquals(upstream.pages.length, 1);
    upstream.resume();
    for (const bytes of await Promise.all(clients.map(readRest))) {
      assert(indexOfDifference(bytes, expected.bytes) === -1);
    }
    assertEquals(queriesOf(upstream), expected.queries);
  },
);

testOnEach(
  "the app completes the other downloads when the client of the one that fetches disconnects",
  async (runtime) => {
    const expected = await readUnshared((options) => startApp(runtime, options));
    await using upstream = servePausedUpstream(CLASSROOM);
    await using server = await startApp(runtime, sharedOptions(upstream));
    const url = server.root + CLASSROOM_DOWNLOAD;
    const first = await startReading(url);
    const others = await Promise.all(Array.from({ length: 3 }, () => startReading(url)));
    await first.reader.cancel();
    const reading = Promise.all(others.map(readRest));
    upstream.resume();
    for (const bytes of await reading) assert(indexOfDifference(bytes, expected.bytes) === -1);
  },
);

/** Returns the first index at which two arrays differ; -1 if there is none. */
function indexOfDifference(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  return a.findIndex((byte, index) => byte !== b[index]);
}
