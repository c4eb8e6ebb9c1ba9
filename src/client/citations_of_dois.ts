import { commonFilter } from "../odata/filter.ts";
import type { Citation } from "./citations.ts";
import type { DataStream } from "./datastream.ts";

/** Maximum number of DOIs in one filter, so that common gateways take the request. */
const MAX_DOIS = 100;

/**
 * Returns the citations of datasets by their DOIs, of which some may be given twice.
 *
 * @throws {DataStreamError} If a request fails
 */
export async function citationsOfDois(
  client: DataStream,
  dois: readonly string[],
  signal: AbortSignal,
): Promise<Citation[]> {
  const left = [...new Set(dois)];
  const citations: Citation[] = [];
  while (left.length > 0) {
    const filter = commonFilter({ dois: left.splice(0, MAX_DOIS) });
    citations.push(...await client.citations(filter, { signal }));
  }
  return citations;
}
