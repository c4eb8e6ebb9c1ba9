/**
 * How long an answer asks to wait before the next request.
 *
 * Source: RFC 9110, section 10.2.3.
 *
 * @param headers The answer's headers; a date in `Retry-After` is held against their `Date`, so
 *   that the two clocks need not agree, or against this machine's where there is none
 * @returns Milliseconds, 0 for a date that has passed; undefined where there is no such header, or
 *   none that can be read
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Other text may be read as a date too: 1.5, say.
  const until = text.endsWith("GMT") ? Date.parse(text) : NaN;
  if (Number.isNaN(until)) return undefined;
  const sent = Date.parse(headers.get("date") ?? "");
  return Math.max(0, until - (Number.isNaN(sent) ? Date.now() : sent));
}
