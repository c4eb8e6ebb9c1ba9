import type { Bytes } from "../../src/bytes.ts";
import { concatBytes } from "../../src/formats/page_writer.ts";
import { startHeartbeat } from "./queue.ts";
import type { FeedPart, Reader } from "./feeds.ts";
import type { Exchange } from "../operation/request_log.ts";
import type { Settings } from "../options.ts";
import { toServiceProblem } from "./problem.ts";
import type { RequestOutcome } from "../operation/request_log.ts";

interface FeedResponse {
  reader: Reader;
  exchange: Exchange;
  settings: Settings;
  /** For the log, such as "Download of Records". */
  task: string;
  /** Called after the first part has arrived. */
  headers: () => Record<string, string> | Promise<Record<string, string>>;
}

/** An error before the first part is an HTTP status; a later one aborts the transfer. */
export async function streamFeed(response: FeedResponse): Promise<Response> {
  const first = await readFirst(response);
  const headers = await response.headers();
  response.exchange.isStream = true;
  return new Response(createBody(first, response), { headers });
}

export async function sendFeed(response: FeedResponse): Promise<Response> {
  const { reader, exchange } = response;
  const parts: Bytes[] = [];
  for (let part = await readFirst(response); part; part = await reader.read()) {
    parts.push(part.data);
    exchange.rows += part.rows;
  }
  reader.close();
  return new Response(concatBytes(parts), { headers: await response.headers() });
}

async function readFirst(
  { reader, exchange, settings, task }: FeedResponse,
): Promise<FeedPart | undefined> {
  // The listener also closes the reader if workerd runs no `finally`.
  const close = () => reader.close();
  const { request: { signal } } = exchange;
  signal.addEventListener("abort", close, { once: true });
  try {
    return await reader.read(signal);
  } catch (error) {
    reader.close();
    throw toServiceProblem(error, task, settings, exchange);
  } finally {
    // Deno aborts the signal of each request after its response, also when the client reads it all.
    signal.removeEventListener("abort", close);
  }
}

/** Bytes. Small chunks show that a slow client still reads, so it is not disconnected. */
const MAX_CHUNK = 65_536;

/** Reads the next part when the client has read the last one. */
function createBody(
  first: FeedPart | undefined,
  { reader, exchange, settings: { clock, readerTimeout }, task }: FeedResponse,
): ReadableStream<Bytes> {
  let part = first;
  /** Bytes of the part that were passed to the runtime. */
  let taken = 0;
  /** Since when a chunk waits for the client. */
  let idleSince: number | undefined = clock.now();
  let stopHeartbeat = () => {};
  const end = (outcome: RequestOutcome) => {
    stopHeartbeat();
    reader.close();
    exchange.end(outcome);
  };
  const disconnect = (error: Error) => {
    exchange.logWarning(`${task} was interrupted: ${error.message}`);
    end("disconnected");
  };
  exchange.rows += first?.rows ?? 0;
  return new ReadableStream<Bytes>({
    start(controller) {
      stopHeartbeat = startHeartbeat(clock, () => {
        const idle = idleSince === undefined ? 0 : clock.now() - idleSince;
        const error = idle >= readerTimeout
          ? new Error(`the client read nothing for ${Math.round(readerTimeout / 1000)} s`)
          : idleSince === undefined
          ? undefined
          : reader.error;
        if (error === undefined) return;
        controller.error(exchange.createBodyError());
        disconnect(error);
      });
    },
    async pull(controller) {
      idleSince = undefined;
      try {
        while (part !== undefined && taken === part.data.length) {
          part = await reader.read();
          taken = 0;
          exchange.rows += part?.rows ?? 0;
        }
      } catch (error) {
        if (error === reader.error) disconnect(error as Error);
        else {
          exchange.logFailure(`${task} failed after its first rows`, error);
          end("failed");
        }
        throw exchange.createBodyError();
      }
      if (part === undefined) {
        controller.close();
        return end("complete");
      }
      // A part is shared: it must not be changed or transferred.
      const chunk = part.data.subarray(taken, taken + MAX_CHUNK);
      taken += chunk.length;
      exchange.bytes += chunk.length;
      controller.enqueue(chunk);
      idleSince = clock.now();
    },
    cancel: () => end("aborted"),
  }, { highWaterMark: 0 });
}
