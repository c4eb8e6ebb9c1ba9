/** The Id of a row: an integer, or a text such as Metadata's UUIDs. */
export type RowId = number | string;

/** A page of the service, made into other bytes. */
export interface WrittenPage {
  bytes: Uint8Array<ArrayBuffer>;
  /** Number of rows. */
  rows: number;
  /** The Ids of the rows; undefined if a row has none. */
  ids: readonly RowId[] | undefined;
  /** Offset of each of these rows in the page, if the rows were read one by one. */
  offsets?: readonly number[];
  /** What the page holds beside its rows: the link to the next one. */
  envelope: Record<string, unknown>;
}

/** How far a writer has come, as JSON: for another one to go on from. */
export interface WriterState {
  /** Whether what stands before the first row is written. */
  isBegun: boolean;
  /** Whether a row is written. */
  hasRows?: boolean;
  /** The columns. */
  fields?: readonly string[];
}

/**
 * Makes pages of JSON into one document of another format, page by page.
 *
 * A page that is refused changes nothing: the same page can be given again.
 */
export interface PageWriter {
  /** How far it has come; set to an earlier state, it writes again from there. */
  state: WriterState;
  /**
   * Writes a page.
   *
   * @param page The bytes of a page, as the service sent them
   * @param hidesId Whether `Id` is left out: it was requested for the checks of pages alone
   * @throws {PageFault} If they are not a page, or a row does not fit what was written before
   */
  write(page: Uint8Array, hidesId?: boolean): WrittenPage;
  /** What comes after the last page. */
  end(): Uint8Array<ArrayBuffer>;
}

/** Bytes that cannot be written: no page of the service, or not like the pages before. */
export class PageFault extends SyntaxError {
  override readonly name = "PageFault";
  /**
   * @param came What came instead of what was wanted
   * @param hint What to do, where asking again would bring the same
   */
  constructor(readonly came: string, readonly hint?: string) {
    super(hint === undefined ? `Wanted a page of JSON, got ${came}` : `${came}: ${hint}`);
  }
}

/**
 * Gives the memory of bytes back at once, where the runtime can: what is collected in its own time is
 * still held when the next page comes.
 */
export function letGo({ buffer }: Uint8Array<ArrayBuffer>): void {
  buffer.transfer?.(0);
}

/** The first so many bytes, in memory of their own; the rest is let go. */
export function cutOff(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Uint8Array<ArrayBuffer> {
  const kept = bytes.slice(0, length);
  letGo(bytes);
  return kept;
}
