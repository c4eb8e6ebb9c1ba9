/** What a service has observed of its limits: two starts in a second, and one request at a time. */
export interface ArrivalStats {
  requests: number;
  /** Number of requests that arrived while at least two others had arrived within the last second. */
  early: number;
  /** Number of requests that arrived before the response to another one was complete. */
  overlapping: number;
  tooMany: number;
  /** Longest time (ms) between two arrivals. */
  largestGap: number;
}

type Handler = (request: Request) => Response | Promise<Response>;

/** Time (ms) in which a service permits two starts. */
const WINDOW = 1_000;

/** Records when requests arrive at a handler. */
export function recordArrivals(respond: Handler): { fetch: Handler; stats: ArrivalStats } {
  const stats: ArrivalStats = {
    requests: 0,
    early: 0,
    overlapping: 0,
    tooMany: 0,
    largestGap: 0,
  };
  let arrivals: number[] = [];
  let inFlight = 0;
  return {
    stats,
    async fetch(request) {
      const now = performance.now();
      const last = arrivals.at(-1);
      arrivals = arrivals.filter((arrival) => now - arrival < WINDOW);
      stats.requests++;
      if (arrivals.length >= 2) stats.early++;
      if (inFlight > 0) stats.overlapping++;
      if (last !== undefined) stats.largestGap = Math.max(stats.largestGap, now - last);
      arrivals.push(now);
      inFlight++;
      const response = await respond(request);
      if (response.status === 429) stats.tooMany++;
      return withEnd(response, () => inFlight--);
    },
  };
}

/** Returns a response that calls a function when its body was sent or cancelled. */
function withEnd({ body, status, headers }: Response, onEnd: () => void): Response {
  const reader = body?.getReader();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const result = await reader?.read();
      if (result?.value !== undefined) return controller.enqueue(result.value);
      onEnd();
      controller.close();
    },
    cancel(reason) {
      onEnd();
      return reader?.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { status, headers });
}
