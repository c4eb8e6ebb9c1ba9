import { valueLikeAttack } from "../odata/attacks.ts";

/** Time (ms) over which the requests of an address are counted. */
const RATE_TIME = 300_000;
const MAX_QUERY_BYTES = 2_048;
const PAGE =
  "<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>";

/**
 * Answers what never reaches the service: 403 to long query strings and texts like attacks, and 429 to too many
 * requests of an address in five minutes.
 *
 * Source: the firewall that DataStream has published. Whether it stands before the API is not known.
 */
export function createFirewall(
  maxRequests: number,
  now: () => number,
  stats: { refused: number },
): (url: URL) => Response | undefined {
  let starts: number[] = [];
  return ({ search }) => {
    const time = now();
    starts = starts.filter((start) => time - start < RATE_TIME);
    starts.push(time); // a refused request counts too
    const query = search.slice(1);
    const text = decode(query);
    const isTooFast = starts.length > maxRequests;
    const isAttack = query.length > MAX_QUERY_BYTES || valueLikeAttack(text) !== undefined;
    if (!isTooFast && !isAttack) return undefined;
    stats.refused++;
    if (isTooFast) return tooManyRequests();
    return new Response(PAGE, { status: 403, headers: { "content-type": "text/html" } });
  };
}

function tooManyRequests(): Response {
  const message = "You have exceeded the rate limit. Please try again later.";
  return Response.json({ error: "Too Many Requests", message, status: 429 }, { status: 429 });
}

/** Broken percent-encoding is left to the service. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
