import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { writeColumn } from "hyparquet-writer/src/column.js";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";
import { utf8Decoder } from "../bytes.ts";

/** Texts of rows by number, in UTF-8; 0 is null. Each number above 0 is in use. */
export interface CodedTexts {
  codes: Uint16Array;
  texts: Uint8Array;
  /** End of each text; 0 for null. */
  ends: Int32Array;
}

/**
 * Values of a column in the order of the rows: numbers, of which `NaN` is null and those of INT32, INT64 and BOOLEAN are
 * integers; texts; or lists of texts.
 */
export type ColumnValues = Float64Array | CodedTexts | (readonly string[] | null)[];

type ColumnChunk = ReturnType<typeof writeColumn>["chunk"];
type Statistics = NonNullable<NonNullable<ColumnChunk["meta_data"]>["statistics"]>;
/** Schema from the root to the values of a column. */
export type SchemaPath = Parameters<typeof encodeNestedValues>[0];

/** Number of bytes of values after which a page of texts ends. */
const PAGE_BYTES = 1 << 20;

/** Number of bytes of the length before a text. */
const TEXT_HEAD = 4;

/**
 * Writes the columns of row groups. The package's `ParquetWriter` takes arrays of values, and makes five more of each
 * column. This one reads the typed arrays of the columns, and has one set of buffers for all columns.
 */
export class ChunkWriter {
  readonly #output: ByteWriter;
  /** A page before compression, without its levels. */
  readonly #page = new ByteWriter();
  readonly #encodedLevels = new ByteWriter();
  /** 0 for null, 1 for a value, by row. */
  readonly #levels: Uint8Array;
  /** Values without nulls: numbers, or the codes of a dictionary. */
  readonly #numbers: Float64Array;
  readonly #codes: Int32Array;
  readonly #dictionary = new NumberDictionary();
  /** Of the column that is written. */
  #uncompressed = 0;
  #pages = 0;
  #encoding: "PLAIN" | "RLE_DICTIONARY" = "PLAIN";

  constructor(output: ByteWriter, maxRows: number) {
    this.#output = output;
    this.#levels = new Uint8Array(maxRows);
    this.#numbers = new Float64Array(maxRows);
    this.#codes = new Int32Array(maxRows);
  }

  write(path: SchemaPath, values: ColumnValues, hasStatistics: boolean): ColumnChunk {
    if (Array.isArray(values)) return writeLists(this.#output, path, values);
    const start = this.#output.offset;
    const { type } = path.at(-1)!.element;
    this.#uncompressed = this.#pages = 0;
    this.#encoding = "PLAIN";
    const isNumeric = values instanceof Float64Array;
    const { dataStart, ...statistics } = isNumeric
      ? this.#writeNumbers(values, type!)
      : this.#writeTexts(values);
    const isCoded = this.#encoding !== "PLAIN";
    return {
      meta_data: {
        type: type!,
        encodings: isCoded ? ["PLAIN", this.#encoding] : [this.#encoding],
        path_in_schema: path.slice(1).map(({ element }) => element.name),
        codec: "SNAPPY",
        num_values: BigInt(isNumeric ? values.length : values.codes.length),
        total_compressed_size: BigInt(this.#output.offset - start),
        total_uncompressed_size: BigInt(this.#uncompressed),
        data_page_offset: BigInt(dataStart),
        ...(isCoded && { dictionary_page_offset: BigInt(start) }),
        ...(hasStatistics && { statistics }),
        encoding_stats: [
          ...isCoded
            ? [{ page_type: "DICTIONARY_PAGE" as const, encoding: "PLAIN" as const, count: 1 }]
            : [],
          { page_type: "DATA_PAGE_V2", encoding: this.#encoding, count: this.#pages },
        ],
      },
      file_offset: BigInt(start),
    };
  }

  #writeNumbers(numbers: Float64Array, type: string): Statistics & { dataStart: number } {
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
    const values = this.#numbers.subarray(0, count);
    // @dsnp/parquetjs cannot read codes of true and false.
    const dictionary = type === "BOOLEAN"
      ? undefined
      : this.#dictionary.encode(values, this.#codes);
    const width = type === "INT32" ? 4 : 8;
    const isSmaller = dictionary !== undefined &&
      2 * (width * dictionary.length + codeBytes(dictionary.length, count)) <= width * count;
    this.#startPage();
    this.#appendNumbers(isSmaller ? dictionary : values, type);
    if (isSmaller) this.#endDictionary(dictionary.length);
    const dataStart = this.#output.offset;
    if (isSmaller) this.#appendCodes(count, dictionary.length);
    this.#endPage(0, numbers.length, count);
    const toValue = toStatistic(type);
    return {
      dataStart,
      // Parquet format, "Statistics": a minimum of zero is written as -0.
      ...(count > 0 && {
        min_value: toValue(min === 0 && type === "DOUBLE" ? -0 : min),
        max_value: toValue(max),
      }),
      null_count: BigInt(numbers.length - count),
      ...(type === "DOUBLE" && { nan_count: 0n }),
    };
  }

  #writeTexts({ codes, texts, ends }: CodedTexts): Statistics & { dataStart: number } {
    const distinct = ends.length - 1;
    let min = 1;
    let max = 1;
    for (let code = 2; code <= distinct; code++) {
      if (compareTexts(texts, ends, code, min) < 0) min = code;
      if (compareTexts(texts, ends, code, max) > 0) max = code;
    }
    let count = 0;
    let allBytes = 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      this.#levels[row] = code === 0 ? 0 : 1;
      if (code === 0) continue;
      this.#codes[count++] = code - 1;
      allBytes += TEXT_HEAD + ends[code]! - ends[code - 1]!;
    }
    const distinctBytes = texts.length + TEXT_HEAD * distinct;
    const isSmaller = count > 0 && 2 * (distinctBytes + codeBytes(distinct, count)) <= allBytes;
    this.#startPage();
    if (isSmaller) {
      for (let code = 1; code <= distinct; code++) this.#appendText(texts, ends, code);
      this.#endDictionary(distinct);
    }
    const dataStart = this.#output.offset;
    if (isSmaller) {
      this.#appendCodes(count, distinct);
      this.#endPage(0, codes.length, count);
    } else {
      let start = 0;
      let written = 0;
      for (let row = 0; row < codes.length; row++) {
        const code = codes[row]!;
        if (code === 0) continue;
        const length = TEXT_HEAD + ends[code]! - ends[code - 1]!;
        if (this.#page.index + length > PAGE_BYTES && row > start) {
          this.#endPage(start, row, written);
          this.#startPage();
          start = row;
          written = 0;
        }
        this.#appendText(texts, ends, code);
        written++;
      }
      this.#endPage(start, codes.length, written);
    }
    const textOf = (code: number) => utf8Decoder.decode(texts.subarray(ends[code - 1], ends[code]));
    return {
      dataStart,
      ...(count > 0 && { min_value: textOf(min), max_value: textOf(max) }),
      null_count: BigInt(codes.length - count),
    };
  }

  #startPage(): void {
    clear(this.#page);
  }

  #appendNumbers(numbers: Float64Array, type: string): void {
    const page = this.#page;
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at]!;
      if (type === "DOUBLE") page.appendFloat64(number);
      else if (type === "BOOLEAN") {
        if (at % 8 === 0) page.appendUint8(0);
        if (number > 0) {
          page.view.setUint8(page.index - 1, page.view.getUint8(page.index - 1) | 1 << at % 8);
        }
      } else {
        // Modulo 2^32, also if it is negative. A bigint would be an object.
        page.appendInt32(number);
        if (type === "INT64") page.appendInt32(Math.floor(number / 2 ** 32));
      }
    }
  }

  #appendText(texts: Uint8Array, ends: Int32Array, code: number): void {
    const start = ends[code - 1]!;
    const end = ends[code]!;
    this.#page.appendUint32(end - start);
    this.#page.appendBytes(texts.subarray(start, end));
  }

  /** Appends the codes of values, which a dictionary has. */
  #appendCodes(count: number, distinct: number): void {
    this.#startPage();
    const bits = codeBits(distinct);
    this.#page.appendUint8(bits);
    writeRleBitPackedHybrid(this.#page, this.#codes.subarray(0, count), bits);
  }

  #endDictionary(distinct: number): void {
    this.#encoding = "RLE_DICTIONARY";
    this.#write("DICTIONARY_PAGE", {
      dictionary_page_header: { num_values: distinct, encoding: "PLAIN" },
    });
  }

  /** Writes the page of rows, of which `count` have a value. */
  #endPage(start: number, end: number, count: number): void {
    const levels = this.#encodedLevels;
    clear(levels);
    writeRleBitPackedHybrid(levels, this.#levels.subarray(start, end), 1);
    this.#pages++;
    this.#write("DATA_PAGE_V2", {
      data_page_header_v2: {
        num_values: end - start,
        num_nulls: end - start - count,
        num_rows: end - start,
        encoding: this.#encoding,
        definition_levels_byte_length: levels.index,
        repetition_levels_byte_length: 0,
        is_compressed: true,
      },
    }, levels.getBytes());
  }

  #write(
    type: PageHeader["type"],
    header: Partial<PageHeader>,
    levels: Uint8Array = NO_LEVELS,
  ): void {
    const start = this.#output.offset;
    const compressed = snappyCompress(this.#page.getBytes());
    writePageHeader(this.#output, {
      type,
      uncompressed_page_size: levels.length + this.#page.index,
      compressed_page_size: levels.length + compressed.length,
      ...header,
    });
    this.#uncompressed += this.#output.offset - start + levels.length + this.#page.index;
    this.#output.appendBytes(levels);
    this.#output.appendBytes(compressed);
  }
}

type PageHeader = Parameters<typeof writePageHeader>[1];

const NO_LEVELS = new Uint8Array(0);

function clear(writer: ByteWriter): void {
  writer.index = writer.offset = 0;
}

function writeLists(
  writer: ByteWriter,
  path: SchemaPath,
  lists: (readonly string[] | null)[],
): ColumnChunk {
  const schemaPath = path.map(({ element }) => element);
  const column = {
    columnName: schemaPath.slice(1).map(({ name }) => name).join("."),
    element: schemaPath.at(-1)!,
    schemaPath,
    codec: "SNAPPY" as const,
    compressors: { SNAPPY: snappyCompress },
    stats: true,
    pageSize: PAGE_BYTES,
    columnIndex: false,
    offsetIndex: false,
  };
  return writeColumn({ writer, column, pageData: encodeNestedValues(path, lists) }).chunk;
}

/** Returns the type of the minimum and maximum of a column. */
function toStatistic(type: string): (number: number) => number | bigint | boolean {
  if (type === "BOOLEAN") return Boolean;
  return type === "INT64" ? BigInt : (number) => number;
}

/** Compares two texts by their bytes. */
function compareTexts(texts: Uint8Array, ends: Int32Array, left: number, right: number): number {
  let at = ends[left - 1]!;
  let other = ends[right - 1]!;
  const end = Math.min(ends[left]!, at + ends[right]! - other);
  for (; at < end; at++, other++) {
    if (texts[at] !== texts[other]) return texts[at]! - texts[other]!;
  }
  return ends[left]! - at - (ends[right]! - other);
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

/** Returns the number of bytes of the codes of values. */
function codeBytes(distinct: number, count: number): number {
  return Math.ceil(codeBits(distinct) * count / 8);
}

function codeBits(distinct: number): number {
  return Math.ceil(Math.log2(Math.max(1, distinct)));
}
