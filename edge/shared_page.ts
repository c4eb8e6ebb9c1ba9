import type { Bytes } from "../src/bytes.ts";
import type { Cursor } from "../src/client/batches.ts";
import type { DataStreamError } from "../src/errors.ts";
import type { Lease } from "./lease.ts";

/** Rows of a page, in the format of its document. */
export interface DocumentPart {
  /** Bytes that downloads share: they must not be changed or transferred. */
  readonly data: Bytes;
  readonly rows: number;
}

/** End of a page. */
export interface PageEnd {
  /** Cursor with which the next page begins. */
  readonly cursor: Cursor;
  /** Whether the document ends with the page. */
  readonly isLast: boolean;
}

/**
 * A page of a document that downloads share, while it is fetched and afterwards. Plain data, which downloads poll,
 * because workerd ends a request that awaits a promise of another request.
 */
export interface SharedPage {
  /** Key in the cache: everything that determines the bytes of the page. */
  readonly key: string;
  /** Sequence number: the number of pages that were started before. */
  readonly number: number;
  /** Time (ms since 1970) at which the fetch began. */
  fetchedAt: number;
  /** Lease of the download that fetches the page. */
  readonly lease: Lease;
  /** Arrival time (ms) of the last byte from the service. */
  readonly arrival: { readonly lastByteAt: number };
  readonly parts: DocumentPart[];
  /** Number of bytes so far. */
  length: number;
  /** Set when the page is complete. */
  end?: PageEnd;
  /** Permit of the download that fetched the page, until a download begins to fetch the next page. */
  permit?: object | undefined;
  /** Set when the fetch has failed or was abandoned. */
  failure?: PageFailure;
}

/** Maximum time (ms) by which the clock of another process can be ahead. */
const MAX_CLOCK_SKEW = 1_000;

/**
 * Returns whether a page is neither stale nor from the future.
 *
 * @param fetchedAt Time at which its fetch began
 * @param notBefore Earliest time at which the fetch may have begun
 */
export function isFresh(fetchedAt: number, notBefore: number, now: number): boolean {
  return fetchedAt >= notBefore && fetchedAt <= now + MAX_CLOCK_SKEW;
}

/** Reason why a page is incomplete. */
interface PageFailure {
  /** Error of the service; `undefined` if the download that fetched the page has ended or has no permit. */
  error: DataStreamError | undefined;
}
