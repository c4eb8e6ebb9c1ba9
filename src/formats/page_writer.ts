import { ByteBuffer, type Bytes, releaseBuffer, SPARE_LENGTH } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import type { CompressorStates } from "./deflate_blocks.ts";
import { DistinctValues, type FoundValue } from "./distinct_values.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PageFault,
  parseBytes,
  skipColon,
  skipString,
  skipValue,
  skipWhiteSpace,
} from "./json_scanner.ts";
import { ID_FIELD, type RowId, RowReader } from "./row_reader.ts";
import {
  addNotes,
  fieldsOfRules,
  type Note,
  PageRules,
  type RowNotes,
  type RowRules,
} from "./tidy.ts";

export interface PageOptions {
  /** Fields that were requested for checks or `distinct`, and are not written. CSV ignores this. Default: none. */
  omitted?: readonly string[];
  distinct?: readonly string[];
  length?: number;
  limit?: number | undefined;
}

export interface PageConversion<T> {
  /** Converts the rows that are complete. The bytes are not used after the call. */
  feed(bytes: Uint8Array): void;
  readonly ids: RowIds;
  /** Number of bytes that `take()` would return before `end()`; 0 if it must not be called. */
  readonly takeableLength: number;
  /** Returns the rows since the last call. Before `end()`, it keeps the last row: malformed bytes may follow it. */
  take(): TakenRows<T>;
  /** Throws if the page is incomplete. After it, `take()` must be called at most once, and only if there are rows. */
  end(): PageEnvelope;
}

export interface TakenRows<T> {
  data: T;
  /** Distinct values of the fields of {@linkcode PageOptions.distinct} that earlier rows do not have. */
  values: readonly FoundValue[];
  /** Includes rows that were left out of the data. */
  rows: number;
  /** Number of rows in the data. */
  kept: number;
}

export interface PageEnvelope {
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
  /** Error that makes its rows unusable. */
  fault: PageFault | undefined;
}

export function writePage(writer: PageWriter, page: Uint8Array): Bytes {
  // A `Uint8Array` of another realm is accepted. The value is not shown: it may be the text of a whole page.
  if (page?.[Symbol.toStringTag] !== "Uint8Array") {
    throw new ValidationError("page", `must be a Uint8Array, got ${typeof page}`);
  }
  const arriving = writer.openPage({ length: page.length });
  arriving.feed(page);
  const { fault } = arriving.end();
  if (fault !== undefined) throw fault;
  return arriving.take().data;
}

/** JSON-serialisable. State files of the command line contain it: do not rename properties. */
export interface WriterState extends CompressorStates {
  isBegun: boolean;
  /** JSON and GeoJSON only. */
  hasRows?: boolean;
  /** CSV only. */
  fields?: readonly string[];
  notes?: RowNotes;
}

export abstract class PageWriter {
  /** Changes only when rows are taken: a page that is rejected can be written again. */
  abstract state: WriterState;
  /** Fields of the first columns of the row reader, in order. */
  abstract readonly fields: readonly string[];
  /** Whether the fields of rows become columns. If not, only `Id` and the fields for `distinct` and the rules do. */
  readonly addsColumns: boolean = false;
  /** ASCII characters that a cell cannot contain without quotes or escapes. */
  readonly special: string = "";
  /** Number of bytes in memory of taken rows that it has not returned. */
  get heldBytes(): number {
    return 0;
  }
  /** Whether a state has these rows. If not, no cursor can have the state while there are some. */
  readonly holdsInState: boolean = false;

  rules: RowRules | undefined;

  /** Only one page is open at a time. */
  openPage(options?: PageOptions): PageConversion<Bytes> {
    return new PageTranscoder(this, options);
  }

  /** Called before each row. Can remove the earlier rows from the output; `append()` must then return them. */
  beforeRow?(output: ByteBuffer): void;

  /** Returns the fault of a row that cannot be added; it is then not written. */
  abstract writeRow(page: PageTranscoder, at: number, end: number): PageFault | undefined;

  /** Can rewrite the rows before they are taken, for example to add columns. */
  beforeTake(_output: ByteBuffer, _columns: readonly string[]): number | undefined {
    return undefined;
  }

  /** Advances the state. `rows` is a buffer that is reused: copy them. */
  abstract append(rows: Bytes, count: number): Bytes;

  addNotes(added: readonly Note[]): void {
    if (added.length > 0) this.state = { ...this.state, notes: addNotes(this.state.notes, added) };
  }

  abstract end(): Bytes | Promise<Bytes>;
}

/** Bytes; a piece stays in the CPU's cache. */
const PIECE_LENGTH = 1 << 17;

const BOM_BYTES = [0xef, 0xbb, 0xbf];

type Expected = "page" | "item or end" | "item" | "comma or end" | "nothing";

/**
 * Converts bytes to bytes. An incomplete member or row is tried again when its bytes have doubled,
 * so that every byte is read a constant number of times, whatever the sizes of the chunks.
 */
export class PageTranscoder implements PageConversion<Bytes> {
  readonly window = new PageWindow();
  readonly output: ByteBuffer;
  readonly reader: RowReader;
  readonly rules: PageRules | undefined;
  readonly omitted: readonly string[];
  readonly #writer: PageWriter;
  readonly #ids = new RowIdList();
  readonly #distinct: DistinctValues | undefined;
  readonly #envelope = new Map<string, unknown>();
  #expected: Expected = "page";
  #isInRows = false;
  #valueKind: "rows" | "other" | undefined;
  /** Number of unread bytes at which an incomplete row or member is tried again. */
  #minLength = 0;
  /** Last closing brace in the window: a row after it is incomplete. */
  #lastBrace = -1;
  #converted = 0;
  /** Notes of rows that are not taken, each with the number of rows before its row; most rows have none. */
  #notes: (readonly [row: number, note: Note])[] = [];
  #written = 0;
  #taken = { converted: 0, written: 0 };
  #isEnded = false;
  /** Offset in the output, and number of written rows, before the last converted row. */
  #lastRow = 0;
  #writtenBefore = 0;
  readonly #limit: number;
  #fault: PageFault | undefined;

  constructor(
    writer: PageWriter,
    { omitted = [], distinct = [], length, limit = Infinity }: PageOptions = {},
  ) {
    this.#writer = writer;
    this.omitted = omitted;
    this.output = new ByteBuffer(length, takeSpare("output"));
    this.#distinct = distinct.length > 0 ? new DistinctValues(distinct) : undefined;
    this.#limit = limit;
    const { fields, addsColumns, special, rules } = writer;
    // The page checks need Ids, which are not written. They are no columns while other fields become columns.
    const columns = addsColumns ? fields : [
      ...new Set([...fields, ID_FIELD, ...distinct, ...rules ? fieldsOfRules(rules) : []]),
    ];
    this.reader = new RowReader(this.window, special, columns, addsColumns);
    this.rules = rules && new PageRules(rules, this.window, this.reader, special, this);
  }

  get ids(): RowIds {
    return this.#ids.ids;
  }

  get takeableLength(): number {
    const hasColumns = this.reader.columns.length > 0;
    return hasColumns && this.#fault === undefined ? this.#lastRow : 0;
  }

  feed(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += PIECE_LENGTH) {
      const isWhole = bytes.length <= PIECE_LENGTH;
      this.window.append(isWhole ? bytes : bytes.subarray(start, start + PIECE_LENGTH));
      if (this.window.length >= this.#minLength) this.#scan();
    }
  }

  take(): TakenRows<Bytes> {
    const { output, reader } = this;
    const lastRow = this.#writer.beforeTake(output, reader.columns) ?? this.#lastRow;
    let [end, converted, written] = [output.length, this.#converted, this.#written];
    if (!this.#isEnded) {
      if (written > this.#writtenBefore) end = lastRow;
      [converted, written] = [converted - 1, this.#writtenBefore];
      this.#lastRow = 0;
    }
    const rows = converted - this.#taken.converted;
    const kept = written - this.#taken.written;
    this.#taken = { converted, written };
    this.#writer.addNotes(this.#takeNotes(converted));
    const data = this.#writer.append(output.bytes.subarray(0, end), kept);
    output.dropFirst(end);
    if (this.#isEnded) {
      // Now, because a download that waits for its next page still references this one.
      keepSpare("window", this.window);
      keepSpare("output", output);
    }
    return { data, values: this.#distinct?.take(written) ?? [], rows, kept };
  }

  /** Notes a fact about the row that is being converted. */
  note(...note: Note): void {
    this.#notes.push([this.#converted, note]);
  }

  /** Returns the notes of the first rows, except those that an earlier call has returned. */
  #takeNotes(rows: number): Note[] {
    const taken = this.#notes.filter(([row]) => row < rows);
    this.#notes.splice(0, taken.length);
    return taken.map(([, note]) => note);
  }

  end(): PageEnvelope {
    this.#scan();
    if (this.#expected !== "nothing") throw brokenJson();
    this.#isEnded = true;
    const fault = this.#valueKind === "rows" ? this.#fault : new PageFault(NO_ROW_LIST);
    return { envelope: Object.fromEntries(this.#envelope), fault };
  }

  #scan(): void {
    const window = this.window;
    this.#minLength = 0;
    this.#lastBrace = window.bytes.lastIndexOf(CLOSE_OBJECT, window.length);
    for (;;) {
      if (this.#expected !== "page") {
        window.start = skipWhiteSpace(window.bytes, window.start);
      }
      if (window.start === window.length) return;
      const after = this.#readToken(window.start);
      if (after >= 0) window.start = after;
      else if (~after < window.length) throw brokenJson();
      else {
        this.#minLength = 2 * (window.length - window.start);
        return;
      }
    }
  }

  /** Returns the offset after the token, as in `json_scanner.ts`. */
  #readToken(at: number): number {
    const { bytes } = this.window;
    const byte = bytes[at];
    const expected = this.#expected;
    if (expected === "page") return this.#readStart(at);
    if (expected === "nothing") return ~at;
    if (expected !== "item" && byte === (this.#isInRows ? CLOSE_ARRAY : CLOSE_OBJECT)) {
      this.#expected = this.#isInRows ? "comma or end" : "nothing";
      this.#isInRows = false;
      return at + 1;
    }
    if (expected === "comma or end") {
      if (byte !== COMMA) return ~at;
      this.#expected = "item";
      return at + 1;
    }
    if (!this.#isInRows) return this.#readMember(at);
    if (byte !== OPEN_OBJECT) throw new PageFault(NO_ROW_LIST);
    if (at > this.#lastBrace) return ~this.window.length;
    const end = this.#readRow(at);
    if (end >= 0) this.#expected = "comma or end";
    return end;
  }

  #readStart(at: number): number {
    const { bytes } = this.window;
    if (bytes[at] === BOM_BYTES[0]) {
      for (const byte of BOM_BYTES) if (bytes[at++] !== byte) return ~(at - 1);
    }
    at = skipWhiteSpace(bytes, at);
    if (bytes[at] === OPEN_ARRAY) throw new PageFault(NO_ROW_LIST);
    if (bytes[at] !== OPEN_OBJECT) return ~at;
    this.#expected = "item or end";
    return at + 1;
  }

  #readMember(at: number): number {
    const { bytes, length } = this.window;
    const nameEnd = skipString(bytes, at);
    if (nameEnd < 0) return nameEnd;
    const start = skipColon(bytes, nameEnd);
    if (start < 0) return start;
    const name = parseBytes(bytes, at, nameEnd) as string;
    const isValue = name === "value";
    if (isValue && this.#valueKind !== undefined) throw new PageFault('a second member "value"');
    if (isValue && bytes[start] === OPEN_ARRAY) {
      this.#valueKind = "rows";
      this.#isInRows = true;
      this.#expected = "item or end";
      return start + 1;
    }
    const end = skipValue(bytes, start);
    if (end < 0) return end;
    // A number may continue in the next chunk.
    if (end === length) return ~end;
    if (isValue) this.#valueKind = "other";
    else this.#envelope.set(name, parseBytes(bytes, start, end));
    this.#expected = "comma or end";
    return end;
  }

  #readRow(at: number): number {
    const reader = this.reader;
    const end = reader.read(at);
    if (end < 0) return end;
    this.#ids.push(reader.rowId());
    if (this.#fault !== undefined) return end;
    this.#writer.beforeRow?.(this.output);
    const start = this.output.length;
    const written = this.#written;
    const { rules } = this;
    if (written < this.#limit && (rules === undefined || rules.keeps())) {
      rules?.fillCells();
      this.#fault = this.#writer.writeRow(this, at, end);
      if (this.#fault !== undefined) return end;
      this.#distinct?.add(reader, written);
      this.#written++;
    }
    this.#lastRow = start;
    this.#writtenBefore = written;
    this.#converted++;
    return end;
  }
}

/** Memory of the last page. New memory for each page would wait for garbage collection, and fragment that of the process. */
const spare: { window?: Bytes | undefined; output?: Bytes | undefined } = {};

/** Maximum length (bytes) of memory that is kept: for 10,000 records as CSV in one part. */
const MAX_SPARE = 1 << 23;

function takeSpare(use: keyof typeof spare): Bytes | undefined {
  const memory = spare[use];
  spare[use] = undefined;
  return memory;
}

function keepSpare(use: keyof typeof spare, buffer: ByteBuffer): void {
  const memory = buffer.takeMemory();
  if (spare[use] === undefined && memory.length <= MAX_SPARE) spare[use] = memory;
  else releaseBuffer(memory);
}

/**
 * Zeros follow its bytes, so that a scanner stops there. V8 compiles a loop that has read past the
 * end of a typed array to code that is 2 to 3 times slower.
 */
class PageWindow extends ByteBuffer {
  start = 0;

  constructor() {
    super(0, takeSpare("window"));
  }

  override append(bytes: Uint8Array): void {
    this.dropFirst(this.start);
    this.start = 0;
    super.append(bytes);
    this.bytes.fill(0, this.length, this.length + SPARE_LENGTH);
  }
}

/** A typed array if all Ids are integers. `undefined` for a row without an Id. */
export type RowIds = Float64Array<ArrayBuffer> | readonly (RowId | undefined)[];

export const NO_ROW_LIST = 'no list of rows under "value"';

export function brokenJson(): PageFault {
  return new PageFault("broken JSON");
}

const PAGE_ROWS = 10_000;

/**
 * Keeps integers outside of V8's heap: 10,000 Ids in an array would enlarge its young generation
 * (by 15 MB in a million rows), and it would mark the heap 1.5 times as often.
 */
export class RowIdList {
  #integers = new Float64Array(PAGE_ROWS);
  #length = 0;
  #others: (RowId | undefined)[] | undefined;
  #ids = this.#integers.subarray(0, 0);

  /** Later Ids do not change it, unless it is an ordinary array. */
  get ids(): RowIds {
    if (this.#others !== undefined) return this.#others;
    if (this.#ids.length < this.#length) this.#ids = this.#integers.subarray(0, this.#length);
    return this.#ids;
  }

  push(id: RowId | undefined): void {
    if (typeof id !== "number" || this.#others !== undefined) {
      this.#others ??= [...this.#integers.subarray(0, this.#length)];
      this.#others.push(id);
      return;
    }
    if (this.#length === this.#integers.length) {
      const larger = new Float64Array(2 * this.#length);
      larger.set(this.#integers);
      this.#integers = larger;
    }
    this.#integers[this.#length++] = id;
  }
}
