import type { Bytes } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { parseWholeNumber } from "../validation.ts";

/**
 * Writes the JSON pages of the service as one document of another format.
 *
 * If a page is rejected, the state does not change, so another copy of the page can be written.
 */
export interface PageWriter {
  /** Progress of the document. Set it to an earlier value to undo the pages since then. */
  state: WriterState;
  /**
   * Writes a page.
   *
   * @param page Bytes of a page, as the service sent them
   * @param dropsId Whether to leave out `Id`, because it was requested only to check the pages. The
   *   CSV writer ignores this: it writes only its columns
   * @throws {PageFault} If the bytes are not a page, or a row cannot be added to the document
   */
  write(page: Uint8Array, dropsId?: boolean): WrittenPage;
  /** Returns the bytes after the last page. */
  end(): Bytes;
}

/**
 * Checks that a page is bytes.
 *
 * @throws {ValidationError} If it is not a `Uint8Array`; one of another realm is accepted
 */
export function requirePage(page: Uint8Array | null | undefined): void {
  if (page?.[Symbol.toStringTag] === "Uint8Array") return;
  // The value is not shown: it may be the text of a whole page.
  throw new ValidationError("page", `must be a Uint8Array, got ${typeof page}`);
}

/** A page in the bytes of another format. */
export interface WrittenPage {
  /** Bytes to append to the document. */
  bytes: Bytes;
  /** Number of rows. */
  rows: number;
  /** Ids of the rows; `undefined` if a row has no Id. */
  ids: readonly RowId[] | undefined;
  /** Offset of each row in the page. Missing if the page was parsed instead of scanned. */
  offsets?: readonly number[];
  /** Members of the page other than its rows, such as the link to the next page. */
  envelope: Record<string, unknown>;
}

/**
 * Progress of a document, JSON-serialisable. Another writer of the same format and options can
 * continue from it. State files of the command line contain it, so its property names must not change.
 */
export interface WriterState {
  /** Whether the head of the document, such as the header of CSV, was written. */
  isBegun: boolean;
  /** Whether a row was written. JSON and GeoJSON only. */
  hasRows?: boolean;
  /** Columns. CSV only. */
  fields?: readonly string[];
}

/** Id of a row: an integer, or a string such as the UUIDs of Metadata. */
export type RowId = number | string;

/** Name of the field that identifies a row. */
export const ID_FIELD = "Id";

/**
 * Converts the value of `Id`. Safe integers, and strings of their digits, become numbers; other
 * strings are kept.
 *
 * @returns The Id; `undefined` for an empty string or any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return parseWholeNumber(value) ?? value;
}

/** Returns the Ids if every row has one, otherwise `undefined`. */
export function completeIds(ids: readonly (RowId | undefined)[]): readonly RowId[] | undefined {
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** What was received instead of a page whose member `value` is an array of objects. */
export const NO_ROW_LIST = 'no list of rows under "value"';

/** A page that cannot be written: it is malformed, or has a field that cannot become a column. */
export class PageFault extends SyntaxError {
  override readonly name = "PageFault";

  /**
   * @param received What was received or is wrong, for the message
   * @param hint What to do. Set only if requesting the page again would not help
   */
  constructor(readonly received: string, readonly hint?: string) {
    super(hint === undefined ? `Expected a page of JSON, got ${received}` : `${received}: ${hint}`);
  }
}

/**
 * Frees the memory of bytes immediately, if the runtime has `ArrayBuffer.prototype.transfer`.
 * Otherwise garbage collection frees it, often only after the next page has arrived.
 */
export function releaseBuffer({ buffer }: Bytes): void {
  buffer.transfer?.(0);
}

/** Copies the first `length` bytes and releases the original buffer. */
export function truncate(
  bytes: Bytes,
  length: number,
): Bytes {
  const copy = bytes.slice(0, length);
  releaseBuffer(bytes);
  return copy;
}

/** Joins chunks of bytes. */
export function concatBytes(chunks: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
