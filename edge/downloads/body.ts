// Sends the parts of a document or a file as the body of a response, at the speed of its client.
import type { Bytes } from "../../src/bytes.ts";
import type { FeedPart, Reader } from "./feed.ts";
import type { RequestOutcome } from "../http/metrics.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Settings } from "../http/options.ts";

/** Bytes. Small chunks show that a slow client still reads, so it is not disconnected. */
const MAX_CHUNK = 65_536;

/** A part of a document or of a file. */
type SentPart = Pick<FeedPart, "data" | "rows"> & Partial<FeedPart>;

/** What one client reads. */
export interface PartSource
  extends Pick<Reader, "close" | "error" | "onHeartbeat">, Partial<Pick<Reader, "check">> {
  read(): Promise<SentPart | undefined>;
}

/** Bytes to send. */
interface SentRange {
  /** Number of bytes of the current part that were passed to the runtime, or are before the range. */
  taken: number;
  /** Number of bytes that are not sent yet. */
  left: number;
}

/** Sends a part, and reads the next one when the client has read the last one. By default, it sends them all. */
export function createBody(
  part: SentPart | undefined,
  reader: PartSource,
  exchange: Exchange,
  { clock, readerTimeout }: Settings,
  task: string,
  { taken, left }: SentRange = { taken: 0, left: Infinity },
): ReadableStream<Bytes> {
  /** Since when a chunk waits for the client. */
  let idleSince: number | undefined = clock.now();
  const end = (outcome: RequestOutcome) => {
    reader.close();
    exchange.end(outcome);
  };
  const disconnect = (error: Error) => {
    exchange.log.logMessage(`${task} was interrupted: ${error.message}`, "warn");
    end("disconnected");
  };
  return new ReadableStream<Bytes>({
    start(controller) {
      reader.onHeartbeat = () => {
        if (idleSince === undefined) return;
        const error = idleError(clock.now() - idleSince, readerTimeout) ?? reader.error;
        if (error === undefined) return;
        controller.error(exchange.log.createBodyError());
        disconnect(error);
      };
    },
    async pull(controller) {
      idleSince = undefined;
      try {
        reader.check?.();
        while (left > 0 && (part === undefined || taken === part.data.length)) {
          if (part?.data.length === 0) recordPart(part, exchange, task);
          part = undefined; // frees its memory while the next one arrives
          [part, taken] = [await reader.read(), 0];
          if (part === undefined) left = 0;
        }
      } catch (error) {
        if (error === reader.error) disconnect(error as Error);
        else {
          exchange.log.logFailure(`${task} failed after its first rows`, error);
          end("failed");
        }
        throw exchange.log.createBodyError();
      }
      if (part === undefined || left === 0) {
        controller.close();
        return end("complete");
      }
      // A copy, because the runtime keeps the whole part in memory while it sends a view of it.
      const chunk = part.data.slice(taken, taken + Math.min(MAX_CHUNK, left));
      taken += chunk.length;
      left -= chunk.length;
      // The rows of a part count when its last byte is sent, also in a range.
      if (taken === part.data.length) recordPart(part, exchange, task);
      exchange.facts.bytes += chunk.length;
      controller.enqueue(chunk);
      idleSince = clock.now();
    },
    cancel: () => end("aborted"),
  }, { highWaterMark: 0 });
}

/** Adds a part to the facts of the request, and logs how a complete document differs from the count of the service. */
function recordPart(part: SentPart, { facts, log }: Exchange, task: string): void {
  facts.rows += part.rows;
  facts.notes = part.notes ?? facts.notes;
  const { missingRows = 0, surplusRows = 0 } = part.isLast ? part : {};
  if (missingRows + surplusRows === 0) return;
  log.logMessage(`${task}: ${missingRows} rows missing, ${surplusRows} not counted`, "warn");
}

/** Error for a client that has read nothing for a time (ms); `undefined` if it may still read. */
function idleError(idle: number, readerTimeout: number): Error | undefined {
  if (idle < readerTimeout) return undefined;
  return new Error(`the client read nothing for ${Math.round(readerTimeout / 1000)} s`);
}
