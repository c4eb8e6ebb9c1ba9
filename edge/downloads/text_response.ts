import { type AppContext, keyOf, valueSource } from "./download.ts";
import { sendFeed } from "./response.ts";
import type { Exchange } from "../operation/request_log.ts";

/** A document that is computed as a whole, such as citations. */
interface TextDocument {
  mediaType: string;
  /** JSON value that identifies the document. */
  id: unknown;
  /** What the problem of a failure names. */
  task: string;
  /** Requests the text, and its number of rows. */
  request(signal: AbortSignal): Promise<{ text: string; rows: number }>;
}

/** Responds with a document that concurrent and later requests share. */
export async function respondWithText(
  exchange: Exchange,
  { accessControl: { cacheControl, vary }, feeds, settings }: AppContext,
  { mediaType, id, task, request }: TextDocument,
): Promise<Response> {
  const headers = {
    "content-type": `${mediaType}; charset=utf-8`,
    "cache-control": cacheControl(settings.cacheTtl),
    ...(vary && { vary }),
  };
  if (exchange.request.method === "HEAD") return new Response(null, { headers });
  const key = keyOf(id, exchange, settings);
  const reader = feeds.open(key, valueSource(exchange, request), exchange.client);
  return await sendFeed({
    reader,
    exchange,
    settings,
    task,
    headers: () => ({ ...headers, "cache-control": cacheControl(reader.remainingTtl) }),
  });
}
