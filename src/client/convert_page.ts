import type { Bytes } from "../bytes.ts";
import {
  type ByteTarget,
  completeIds,
  type CompletePage,
  concatBytes,
  NO_ROW_LIST,
  PageFault,
  type PageWriter,
  releaseBuffer,
  RowIdList,
  type RowIds,
  type TakenRows,
  toRowId,
} from "../formats/page_writer.ts";
import { brokenJson } from "../formats/raw_json.ts";
import { isObject } from "../validation.ts";

/** Options of a page conversion. */
interface ConversionOptions {
  /** Whether to leave out `Id`. */
  dropsId: boolean;
  /** Ids of rows to leave out. */
  omittedIds: ReadonlySet<number> | undefined;
}

/** Function that starts the conversion of a page. Only one page is converted at a time. */
export type StartConversion<T> = (options: ConversionOptions) => PageConversion<T>;

/** Conversion of a page that is arriving. */
export interface PageConversion<T> extends ByteTarget {
  /** Number of bytes that are not yet scanned. */
  readonly unscanned: number;
  /** Converts the rows that have arrived completely. */
  scan(): void;
  /** Number of lists of rows that have begun. Each replaces the earlier ones. */
  readonly lists: number;
  /** Ids of the rows that were scanned. */
  readonly ids: RowIds;
  /** Number of bytes that `take()` would return; 0 if it must not be called. */
  readonly takeableLength: number;
  /** Returns the rows that were scanned since the last call, except the last one. */
  take(): TakenContent<T>;
  /**
   * Ends the page.
   *
   * @throws {PageFault} If the page is malformed or incomplete
   */
  end(): ConvertedPage<T>;
}

interface TakenContent<T> {
  content: T;
  /** Number of rows in the content. */
  rows: number;
}

/** A complete page, not yet checked. */
interface ConvertedPage<T> extends Omit<CompletePage, "takeRows"> {
  take: () => T;
}

/**
 * Starts the conversion of a page to rows.
 *
 * @param toContent Converts the rows. Default: no conversion
 * @param last Length (bytes) of the previous page; updated at the end of each page. A buffer of this length rarely
 *   has to grow
 */
export function startRowConversion<R, T = R[]>(
  { dropsId }: ConversionOptions,
  toContent: (rows: R[]) => T = (rows) => rows as T,
  last = { length: 0 },
): PageConversion<T> {
  const body = new JsonBody(last.length);
  const list = new RowIdList();
  return {
    get ids() {
      return list.ids;
    },
    unscanned: 0,
    lists: 1,
    scan() {},
    takeableLength: 0,
    space: () => body.space(),
    add: (filled) => body.add(filled),
    append: (chunk) => body.append(chunk),
    take: () => ({ content: toContent([]), rows: 0 }),
    end() {
      const page = body.parse();
      last.length = body.length;
      const { value, ...envelope } = isObject(page) ? page : {};
      if (!Array.isArray(value) || !value.every(isObject)) {
        const fault = new PageFault(NO_ROW_LIST);
        return { envelope, fault, rows: 0, ids: undefined, take: () => toContent([]) };
      }
      for (const { Id } of value) list.push(toRowId(Id));
      if (dropsId) { for (const row of value) delete row.Id; }
      return {
        envelope,
        fault: undefined,
        rows: value.length,
        ids: completeIds(list.ids),
        take: () => toContent(value as R[]),
      };
    },
  };
}

/** Converted rows of a page, and their DOIs if they are collected. */
export interface PageData<T> {
  data: T;
  dois: readonly string[];
}

/** Starts the conversion of a page to bytes. */
export function startByteConversion(
  { dropsId, omittedIds }: ConversionOptions,
  writer: PageWriter,
  collectsDois: boolean,
): PageConversion<PageData<Bytes>> {
  const page = writer.openPage({ dropsId, collectsDois, omittedIds });
  const toContent = ({ bytes, dois, rows }: TakenRows) => ({
    content: { data: bytes, dois },
    rows,
  });
  return {
    get unscanned() {
      return page.unscanned;
    },
    scan: () => page.scan(),
    get lists() {
      return page.lists;
    },
    get ids() {
      return page.ids;
    },
    get takeableLength() {
      return page.takeableLength;
    },
    space: () => page.space(),
    add: (filled) => page.add(filled),
    append: (chunk) => page.append(chunk),
    take: () => toContent(page.takeRows()),
    end() {
      const { takeRows, ...complete } = page.end();
      const take = () => {
        const { content } = toContent(takeRows());
        // A download that waits for its next page still references this one.
        if (complete.ids instanceof Float64Array) releaseBuffer(complete.ids);
        return content;
      };
      return { ...complete, take };
    },
  };
}

/** Minimum length (bytes) of the memory to read into. */
const MIN_SPACE = 1 << 16;

/** Collects a body of JSON. With a buffer of its own, this takes 0.9 times the time of joining chunks in Deno. */
export class JsonBody implements ByteTarget {
  /** Chunks that the stream allocated. */
  readonly #chunks: Uint8Array[] = [];
  /** Buffer that reads fill. A read can replace it. */
  #own: Bytes = new Uint8Array();
  /** Number of bytes in the buffer. */
  #length = 0;
  readonly #capacity: number;

  /** @param expected Length (bytes) that the body probably has */
  constructor(expected = 0) {
    this.#capacity = expected * 9 / 8 + MIN_SPACE;
  }

  space(): Bytes {
    if (this.#own.length - this.#length < MIN_SPACE) {
      const larger = new Uint8Array(Math.max(this.#capacity, 2 * this.#own.length));
      larger.set(this.#own.subarray(0, this.#length));
      releaseBuffer(this.#own);
      this.#own = larger;
    }
    return this.#own.subarray(this.#length);
  }

  add(filled: Bytes): void {
    this.#own = new Uint8Array(filled.buffer);
    this.#length += filled.length;
  }

  append(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
  }

  /** Length of the body (bytes), if it is in the buffer; otherwise 0. */
  get length(): number {
    return this.#length;
  }

  /**
   * Parses the JSON, and releases its bytes.
   *
   * @throws {PageFault} If it is malformed
   */
  parse(): unknown {
    // A body consists either of the buffer or of chunks of the stream.
    const isOwn = this.#length > 0;
    const bytes = isOwn ? this.#own.subarray(0, this.#length) : concatBytes(this.#chunks.splice(0));
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      releaseBuffer(bytes);
      return JSON.parse(text);
    } catch {
      // The message of `JSON.parse` would quote the response, which may contain the API key.
      throw brokenJson();
    }
  }
}
