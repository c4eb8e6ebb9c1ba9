/** Milliseconds until a request no longer counts as in flight: the service's query time limit. */
const MAX_REQUEST_TIME = 30_000;

interface LimitStats {
  tooFast: number;
  parallel: number;
  mostInFlight: number;
}

/** A request is in flight until its body is consumed. A rejected one does not count as a start. */
export function createRequestLimit(
  requestsPerSecond: number,
  now: () => number,
  stats: LimitStats,
): () => (() => void) | undefined {
  const maxStarts = Math.max(1, Math.floor(requestsPerSecond));
  const window = 1000 * maxStarts / requestsPerSecond;
  let starts: number[] = [];
  let inFlight: { start: number }[] = [];
  return () => {
    const request = { start: now() };
    inFlight = inFlight.filter(({ start }) => request.start - start < MAX_REQUEST_TIME);
    if (requestsPerSecond !== Infinity) {
      starts = starts.filter((start) => request.start - start < window);
      const violation = inFlight.length > 0
        ? "parallel"
        : starts.length >= maxStarts
        ? "tooFast"
        : undefined;
      if (violation) return void stats[violation]++;
      starts.push(request.start);
    }
    inFlight.push(request);
    stats.mostInFlight = Math.max(stats.mostInFlight, inFlight.length);
    return () => inFlight = inFlight.filter((other) => other !== request);
  };
}
