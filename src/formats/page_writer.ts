/**
 * Writes the JSON pages of the service as one document of another format.
 *
 * A page that is rejected changes nothing: the next call can pass the same page again.
 */
export interface PageWriter {
  /** Progress of the document. Set it to an earlier value to continue from there. */
  state: WriterState;
  /**
   * Writes a page.
   *
   * @param page Bytes of a page, as the service sent them
   * @param omitsId Whether to leave out `Id`, which was requested only to check the pages. CSV
   *   ignores it, because it writes only its columns
   * @throws {PageFault} If the bytes are not a page, or a row does not fit the document so far
   */
  write(page: Uint8Array, omitsId?: boolean): WrittenPage;
  /** Returns the bytes after the last page. */
  end(): Uint8Array<ArrayBuffer>;
}

/** A page in the bytes of another format. */
export interface WrittenPage {
  /** Bytes to append to the document. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Number of rows. */
  rows: number;
  /** Ids of the rows; `undefined` if a row has none. */
  ids: readonly RowId[] | undefined;
  /** Offset of each row in the page. Missing if the page was parsed instead of scanned. */
  offsets?: readonly number[];
  /** Members of the page other than its rows, such as the link to the next page. */
  envelope: Record<string, unknown>;
}

/**
 * Progress of a document, JSON-serialisable. Another writer of the same format and options can
 * continue from it. Files keep it between runs, so its property names must stay.
 */
export interface WriterState {
  /** Whether the bytes before the first row were written. */
  isBegun: boolean;
  /** Whether a row was written. JSON and GeoJSON only. */
  hasRows?: boolean;
  /** Columns. CSV only. */
  fields?: readonly string[];
}

/** Id of a row: an integer, or text such as the UUIDs of Metadata. */
export type RowId = number | string;

/** Name of the field that identifies a row. */
export const ID_FIELD = "Id";

/** Number of digits up to which every integer is a safe integer. */
export const MAX_SAFE_DIGITS = 15;

const INTEGER_TEXT = new RegExp(`^\\d{1,${MAX_SAFE_DIGITS}}$`);

/**
 * Converts the value of `Id`: a safe integer, also as text, to a number; other text is kept.
 *
 * @returns The Id; `undefined` for any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return INTEGER_TEXT.test(value) ? Number(value) : value;
}

/** Returns the Ids if every row has one, otherwise `undefined`. */
export function completeIds(ids: readonly (RowId | undefined)[]): readonly RowId[] | undefined {
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** A page that cannot be written: it is malformed, or does not fit the pages before it. */
export class PageFault extends SyntaxError {
  override readonly name = "PageFault";

  /**
   * @param received What the page is or contains
   * @param hint What to do, if requesting the page again would not help
   */
  constructor(readonly received: string, readonly hint?: string) {
    super(hint === undefined ? `Expected a page of JSON, got ${received}` : `${received}: ${hint}`);
  }
}

/**
 * Frees the memory of bytes immediately, if the runtime has `ArrayBuffer.prototype.transfer`.
 * Otherwise garbage collection frees it, often only after the next page has arrived.
 */
export function releaseBuffer({ buffer }: Uint8Array<ArrayBuffer>): void {
  buffer.transfer?.(0);
}

/** Copies the first `length` bytes and releases the buffer of all. */
export function truncate(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Uint8Array<ArrayBuffer> {
  const copy = bytes.slice(0, length);
  releaseBuffer(bytes);
  return copy;
}

/** Concatenates two byte arrays. */
export function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
