import type { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { writeColumn } from "hyparquet-writer/src/column.js";
import { writeDataPageV2 } from "hyparquet-writer/src/datapage.js";
import { writeDictionaryPage } from "hyparquet-writer/src/dictionary.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";

export type Codes = Uint8Array | Uint16Array;

/** Texts of rows by number; 0 is null. Each number above 0 is in use. */
export interface CodedTexts {
  codes: Codes;
  texts: readonly (string | null)[];
}

/** Values of a column in the order of the rows. `NaN` is null; the numbers of INT32 and INT64 are integers. */
export type ColumnValues = Float64Array | CodedTexts | unknown[];

type ColumnChunk = ReturnType<typeof writeColumn>["chunk"];
/** Schema from the root to the values of a column. */
export type SchemaPath = Parameters<typeof encodeNestedValues>[0];
type Column = Parameters<typeof writeColumn>[0]["column"];
type Encoding = Parameters<typeof writeDataPageV2>[0]["encoding"];
type Values = Parameters<typeof writeDictionaryPage>[2];
type Statistics = NonNullable<NonNullable<ColumnChunk["meta_data"]>["statistics"]>;

/** Number of bytes of values after which a page of texts ends. */
const PAGE_BYTES = 1 << 20;

/** Number of bytes of the length before a text. */
const TEXT_HEAD = 4;

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * Writes the columns of row groups. The package's `ParquetWriter` takes arrays of values, and makes five more of each
 * column. This one reads the typed arrays of the columns, and has one set of arrays for all columns.
 */
export class ChunkWriter {
  readonly #output: ByteWriter;
  /** 0 for null, 1 for a value, by row. */
  #levels = new Uint8Array(0);
  /** Repetition levels of rows without lists. The package counts the rows of a page by them. */
  #zeros = new Uint8Array(0);
  #numbers = new Float64Array(0);
  #codes = new Int32Array(0);
  readonly #dictionary = new NumberDictionary();

  constructor(output: ByteWriter) {
    this.#output = output;
  }

  /**
   * Writes one column.
   *
   * @param options Other encoding than the smaller one; no statistics
   */
  write(
    path: SchemaPath,
    values: ColumnValues,
    options: { encoding?: "PLAIN"; statistics?: boolean },
  ): ColumnChunk {
    const schemaPath = path.map(({ element }) => element);
    const column: Column = {
      columnName: schemaPath.slice(1).map(({ name }) => name).join("."),
      element: schemaPath.at(-1)!,
      schemaPath,
      codec: "SNAPPY",
      compressors: { SNAPPY: snappyCompress },
      stats: options.statistics ?? true,
      pageSize: PAGE_BYTES,
      columnIndex: false,
      offsetIndex: false,
      ...(options.encoding && { encoding: options.encoding }),
    };
    if (Array.isArray(values)) {
      const pageData = encodeNestedValues(path, values);
      return writeColumn({ writer: this.#output, column, pageData }).chunk;
    }
    return values instanceof Float64Array
      ? this.#writeNumbers(column, values)
      : this.#writeTexts(column, values);
  }

  #writeNumbers(column: Column, numbers: Float64Array): ColumnChunk {
    this.#reserve(numbers.length);
    const { type } = column.element;
    let count = 0;
    let min = Infinity;
    let max = -Infinity;
    for (let row = 0; row < numbers.length; row++) {
      const number = numbers[row]!;
      const isValue = number === number;
      this.#levels[row] = isValue ? 1 : 0;
      if (!isValue) continue;
      this.#numbers[count++] = number;
      if (number < min) min = number;
      if (number > max) max = number;
    }
    const toValue = type === "INT64" ? BigInt : (number: number) => number;
    // Parquet format, "Statistics": a minimum of zero is written as -0.
    const statistics = count === 0
      ? {}
      : { min_value: toValue(min === 0 && type === "DOUBLE" ? -0 : min), max_value: toValue(max) };
    const chunk = new Chunk(this.#output, column, numbers.length, {
      ...statistics,
      null_count: BigInt(numbers.length - count),
      ...(type === "DOUBLE" && { nan_count: 0n }),
    });
    const values = this.#numbers.subarray(0, count);
    const dictionary = this.#dictionary.encode(values, this.#codes);
    const width = type === "INT32" ? 4 : 8;
    const isSmaller = dictionary !== undefined &&
      2 * (width * dictionary.length + codeBytes(dictionary.length, count)) <= width * count;
    if (isSmaller) chunk.writeDictionary(physical(dictionary, type));
    const page = isSmaller ? this.#codes.subarray(0, count) : physical(values, type);
    this.#writePage(chunk, page, 0, numbers.length);
    return chunk.finish();
  }

  #writeTexts(column: Column, { codes, texts }: CodedTexts): ColumnChunk {
    this.#reserve(codes.length);
    const lengths = new Int32Array(texts.length);
    let min: { text: string; bytes: Uint8Array } | undefined;
    let max = min;
    let distinctBytes = 0;
    for (let code = 1; code < texts.length; code++) {
      const text = texts[code]!;
      const bytes = encoder.encode(text);
      distinctBytes += lengths[code] = TEXT_HEAD + bytes.length;
      if (min === undefined || compareBytes(bytes, min.bytes) < 0) min = { text, bytes };
      if (max === undefined || compareBytes(bytes, max.bytes) > 0) max = { text, bytes };
    }
    let count = 0;
    let allBytes = 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      this.#levels[row] = code === 0 ? 0 : 1;
      if (code === 0) continue;
      this.#codes[count++] = code;
      allBytes += lengths[code]!;
    }
    const chunk = new Chunk(this.#output, column, codes.length, {
      ...(min && max && { min_value: min.text, max_value: max.text }),
      null_count: BigInt(codes.length - count),
    });
    const isSmaller = 2 * (distinctBytes + codeBytes(texts.length, count)) <= allBytes;
    if (isSmaller && count > 0) {
      const numbers = new Map<string, number>();
      // The same text can have two numbers, for example if one was escaped in JSON.
      const renumbered = Int32Array.from(texts, (text) => {
        if (text === null) return -1;
        if (!numbers.has(text)) numbers.set(text, numbers.size);
        return numbers.get(text)!;
      });
      for (let at = 0; at < count; at++) this.#codes[at] = renumbered[this.#codes[at]!]!;
      chunk.writeDictionary([...numbers.keys()]);
      this.#writePage(chunk, this.#codes.subarray(0, count), 0, codes.length);
      return chunk.finish();
    }
    let page: string[] = [];
    let bytes = 0;
    let start = 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      if (code === 0) continue;
      if (bytes + lengths[code]! > PAGE_BYTES && row > start) {
        this.#writePage(chunk, page, start, row);
        page = [];
        bytes = 0;
        start = row;
      }
      page.push(texts[code]!);
      bytes += lengths[code]!;
    }
    this.#writePage(chunk, page, start, codes.length);
    return chunk.finish();
  }

  #reserve(rows: number): void {
    if (rows <= this.#levels.length) return;
    this.#levels = new Uint8Array(rows);
    this.#zeros = new Uint8Array(rows);
    this.#numbers = new Float64Array(rows);
    this.#codes = new Int32Array(rows);
  }

  #writePage(chunk: Chunk, values: Values, start: number, end: number): void {
    chunk.writePage(values, this.#levels.subarray(start, end), this.#zeros.subarray(start, end));
  }
}

/** One column of a row group: writes its pages and collects their sizes. */
class Chunk {
  readonly #output: ByteWriter;
  readonly #column: Column;
  readonly #rows: number;
  readonly #statistics: Statistics;
  readonly #start: number;
  #dataStart: number;
  #uncompressed = 0;
  #pages = 0;

  constructor(output: ByteWriter, column: Column, rows: number, statistics: Statistics) {
    this.#output = output;
    this.#column = column;
    this.#rows = rows;
    this.#statistics = statistics;
    this.#start = this.#dataStart = output.offset;
  }

  get #hasDictionary(): boolean {
    return this.#dataStart > this.#start;
  }

  get #encoding(): Encoding {
    return this.#hasDictionary ? "RLE_DICTIONARY" : "PLAIN";
  }

  writeDictionary(values: Values): void {
    this.#uncompressed += writeDictionaryPage(this.#output, this.#column, values);
    this.#dataStart = this.#output.offset;
  }

  writePage(values: Values, levels: Uint8Array, zeros: Uint8Array): void {
    // The package removes nulls, of which there are none here, and would copy the values.
    Object.assign(values, { filter: () => values });
    const pageData = {
      values,
      definitionLevels: levels as unknown as number[],
      repetitionLevels: zeros as unknown as number[],
      maxDefinitionLevel: 1,
    };
    const page = { writer: this.#output, column: this.#column, encoding: this.#encoding, pageData };
    this.#uncompressed += writeDataPageV2(page);
    this.#pages++;
  }

  finish(): ColumnChunk {
    const { schemaPath, element, codec } = this.#column;
    const encoding = this.#encoding;
    const isCoded = this.#hasDictionary;
    return {
      meta_data: {
        type: element.type!,
        encodings: isCoded ? ["PLAIN", encoding] : [encoding],
        path_in_schema: schemaPath.slice(1).map(({ name }) => name),
        codec,
        num_values: BigInt(this.#rows),
        total_compressed_size: BigInt(this.#output.offset - this.#start),
        total_uncompressed_size: BigInt(this.#uncompressed),
        data_page_offset: BigInt(this.#dataStart),
        ...(isCoded && { dictionary_page_offset: BigInt(this.#start) }),
        statistics: this.#statistics,
        encoding_stats: [
          ...isCoded
            ? [{ page_type: "DICTIONARY_PAGE" as const, encoding: "PLAIN" as const, count: 1 }]
            : [],
          { page_type: "DATA_PAGE_V2", encoding, count: this.#pages },
        ],
      },
      file_offset: BigInt(this.#start),
    };
  }
}

/** Number of bits of a hash table for half as many numbers as a row group can have, at most half full. */
const TABLE_BITS = 16;

/** Numbers the distinct values of a column. */
class NumberDictionary {
  /** Number of the value plus 1, by hash with linear probing. */
  readonly #table = new Int32Array(1 << TABLE_BITS);
  readonly #values = new Float64Array(1 << (TABLE_BITS - 1));

  /** Returns the distinct values; `undefined` if they are more than half of the values. */
  encode(numbers: Float64Array, codes: Int32Array): Float64Array | undefined {
    this.#table.fill(0);
    const words = new Uint32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
    const limit = Math.min(this.#values.length, numbers.length >> 1);
    let count = 0;
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at]!;
      const mixed = Math.imul(
        words[2 * at]! ^ Math.imul(words[2 * at + 1]!, 0x85ebca6b),
        0x9e3779b1,
      );
      let slot = mixed >>> (32 - TABLE_BITS);
      let code = this.#table[slot]!;
      while (code > 0 && this.#values[code - 1] !== number) {
        slot = (slot + 1) & (this.#table.length - 1);
        code = this.#table[slot]!;
      }
      if (code === 0) {
        if (count === limit) return undefined;
        this.#values[count++] = number;
        this.#table[slot] = code = count;
      }
      codes[at] = code - 1;
    }
    return this.#values.subarray(0, count);
  }
}

/** Returns the number of bytes of the numbers of values in a dictionary. */
function codeBytes(distinct: number, count: number): number {
  return Math.ceil(Math.ceil(Math.log2(Math.max(1, distinct))) * count / 8);
}

/** Returns numbers as the type of their column. */
function physical(numbers: Float64Array, type: string | undefined): Values {
  if (type !== "INT64") return type === "INT32" ? new Int32Array(numbers) : numbers;
  const integers = new BigInt64Array(numbers.length);
  // `from()` would collect them in a list first.
  for (let at = 0; at < numbers.length; at++) integers[at] = BigInt(numbers[at]!);
  return integers;
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    if (left[at] !== right[at]) return left[at]! - right[at]!;
  }
  return left.length - right.length;
}
