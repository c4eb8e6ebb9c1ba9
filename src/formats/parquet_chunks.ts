import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { ParquetWriter } from "hyparquet-writer/src/parquet-writer.js";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";
import { utf8Decoder } from "../bytes.ts";
import {
  type CodedTexts,
  type ColumnType,
  type Lists,
  MAX_GROUP_ROWS,
  READ_NUMBER,
} from "./parquet_columns.ts";

type Schema = ParquetWriter["schema"];
export type RowGroup = ParquetWriter["row_groups"][number];
type ColumnChunk = RowGroup["columns"][number];

/** Parquet format, "Logical Types", with the older converted types for older readers. */
const ELEMENTS = {
  integer: { type: "INT64" },
  number: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  texts: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  date: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } },
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  point: { type: "BYTE_ARRAY" },
} as const satisfies Record<ColumnType, unknown>;

/** Name and type of a column. */
export type NamedType = readonly [name: string, type: ColumnType];

/** Returns the schema of columns, all of which can be null. */
export function schemaOf(columns: readonly NamedType[]): Schema {
  return [
    { name: "root", num_children: columns.length },
    ...columns.flatMap(([name, type]): Schema => {
      const value = { name, repetition_type: "OPTIONAL", ...ELEMENTS[type] } as const;
      if (type !== "texts") return [value];
      return [
        {
          name,
          repetition_type: "OPTIONAL",
          num_children: 1,
          converted_type: "LIST",
          logical_type: { type: "LIST" },
        },
        { name: "list", repetition_type: "REPEATED", num_children: 1 },
        { ...value, name: "element" },
      ];
    }),
  ];
}

/** Field 3, an integer, 0; field 4, a list, empty, without a type. Names and JSON have no such bytes. */
const EMPTY_LIST = [0x16, 0x00, 0x19, 0x00];
const LIST_OF_STRUCTS = 0x0c;

/**
 * Corrects the type of the empty list of row groups, which the package writes as bytes. Readers in Rust refuse that.
 * Source: Thrift compact protocol; the list follows the number of rows, which is 0.
 */
export function typeEmptyList(bytes: Uint8Array): void {
  const at = bytes.findIndex((_, index) =>
    EMPTY_LIST.every((byte, offset) => bytes[index + offset] === byte)
  );
  if (at >= 0) bytes[at + EMPTY_LIST.length - 1] = LIST_OF_STRUCTS;
}

/** Facts about a column of a row group in a file. JSON-serialisable. */
export interface Chunk {
  /** Offsets in the file: of a dictionary or else of the data; of the data; after the data. */
  start: number;
  dataStart: number;
  end: number;
  /** Number of bytes before compression. */
  uncompressed: number;
  /** Number of pages of data. */
  pages: number;
  /** Number of values, with nulls. */
  values: number;
  nulls: number;
  /** Least and greatest value, if there are values and they have an order. */
  min?: string | number | undefined;
  max?: string | number | undefined;
}

/** Facts about a row group in a file. JSON-serialisable. */
export interface WrittenGroup {
  rows: number;
  chunks: Chunk[];
}

/** Returns the metadata of a row group. */
export function toRowGroup(
  { rows, chunks }: WrittenGroup,
  columns: readonly NamedType[],
): RowGroup {
  const sum = (sizeOf: (chunk: Chunk) => number) =>
    BigInt(chunks.reduce((sum, chunk) => sum + sizeOf(chunk), 0));
  return {
    columns: chunks.map((chunk, index) => toColumnChunk(chunk, columns[index]!)),
    total_byte_size: sum(({ uncompressed }) => uncompressed),
    num_rows: BigInt(rows),
    total_compressed_size: sum(({ start, end }) => end - start),
  };
}

function toColumnChunk(chunk: Chunk, [name, type]: NamedType): ColumnChunk {
  const { start, dataStart, end, pages, nulls, min, max } = chunk;
  const physical = ELEMENTS[type].type;
  const isCoded = dataStart > start;
  const encoding = isCoded ? "RLE_DICTIONARY" : "PLAIN";
  const toValue = (value: string | number) =>
    physical === "INT64" ? BigInt(value) : physical === "BOOLEAN" ? value === 1 : value;
  return {
    meta_data: {
      type: physical,
      encodings: isCoded ? ["PLAIN", encoding] : [encoding],
      path_in_schema: type === "texts" ? [name, "list", "element"] : [name],
      codec: "SNAPPY",
      num_values: BigInt(chunk.values),
      total_compressed_size: BigInt(end - start),
      total_uncompressed_size: BigInt(chunk.uncompressed),
      data_page_offset: BigInt(dataStart),
      ...(isCoded && { dictionary_page_offset: BigInt(start) }),
      // The order of points as bytes means nothing.
      ...(type !== "point" && {
        statistics: {
          ...(min !== undefined && max !== undefined && {
            // Parquet format, "Statistics": a minimum of zero is written as -0, a maximum as 0.
            min_value: min === 0 && type === "number" ? -0 : toValue(min),
            max_value: max === 0 ? toValue(0) : toValue(max),
          }),
          null_count: BigInt(nulls),
          ...(type === "number" && { nan_count: 0n }),
        },
      }),
      encoding_stats: [
        ...isCoded
          ? [{ page_type: "DICTIONARY_PAGE" as const, encoding: "PLAIN" as const, count: 1 }]
          : [],
        { page_type: "DATA_PAGE_V2", encoding, count: pages },
      ],
    },
    file_offset: BigInt(start),
  };
}

/** Number of bytes of values after which a page of data ends. */
const PAGE_BYTES = 1 << 20;

/** Number of bytes of the length before a text. */
const TEXT_HEAD = 4;

/** Distinct values of a column. */
interface Distinct extends CodedTexts {
  physical: (typeof ELEMENTS)[ColumnType]["type"];
  /** Values by code − 1, unless they are texts. */
  numbers: Float64Array | undefined;
}

/** One set of buffers for the columns of all files: they are in use only while a column is written. */
const buffers = /* @__PURE__ */ {
  /** A page before compression, without its levels. */
  page: new ByteWriter(),
  encodedLevels: new ByteWriter(),
  /** 0 for null, 1 for a value, by row. */
  levels: new Uint8Array(MAX_GROUP_ROWS),
  /** Codes of the values without nulls, from 0. */
  codes: new Int32Array(MAX_GROUP_ROWS),
  numbers: new Float64Array(MAX_GROUP_ROWS),
};

/**
 * Writes the columns of row groups. The package's `ParquetWriter` takes arrays of values, and makes five more of each
 * column. This one reads the typed arrays of the columns.
 */
export class ChunkWriter {
  readonly #output: ByteWriter;
  /** Of the column that is written. */
  #uncompressed = 0;
  #pages = 0;

  constructor(output: ByteWriter) {
    this.#output = output;
  }

  write(column: NamedType, values: CodedTexts | Lists): Chunk {
    if (Array.isArray(values)) return writeLists(this.#output, column, values);
    const { codes, ends } = values;
    const start = this.#output.offset;
    const distinct = this.#readDistinct(column, values);
    const size = ends.length - 1;
    let count = 0;
    let bytes = 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      buffers.levels[row] = code === 0 ? 0 : 1;
      if (code === 0) continue;
      buffers.codes[count++] = code - 1;
      bytes += lengthOf(distinct, code);
    }
    let distinctBytes = 0;
    for (let code = 1; code <= size; code++) distinctBytes += lengthOf(distinct, code);
    this.#uncompressed = this.#pages = 0;
    // parquetjs, a reader for JavaScript, cannot read codes of true and false.
    const isCoded = distinct.physical !== "BOOLEAN" && count > 0 &&
      2 * (distinctBytes + Math.ceil(codeBits(size) * count / 8)) <= bytes;
    if (isCoded) this.#writeDictionary(distinct, size);
    const dataStart = this.#output.offset;
    if (isCoded) this.#writeCodes(codes.length, count, codeBits(size));
    else this.#writePlain(distinct);
    return {
      start,
      dataStart,
      end: this.#output.offset,
      uncompressed: this.#uncompressed,
      pages: this.#pages,
      values: codes.length,
      nulls: codes.length - count,
      ...(count > 0 && boundsOf(distinct, size)),
    };
  }

  #readDistinct([, type]: NamedType, { codes, texts, ends }: CodedTexts): Distinct {
    const readNumber = READ_NUMBER[type];
    const numbers = readNumber && buffers.numbers.subarray(0, ends.length - 1);
    for (let code = 1; code < ends.length; code++) {
      if (numbers) numbers[code - 1] = readNumber!(texts, ends[code - 1]!, ends[code]!, false)!;
    }
    return { codes, texts, ends, numbers, physical: ELEMENTS[type].type };
  }

  #writeDictionary(distinct: Distinct, size: number): void {
    clear(buffers.page);
    for (let code = 1; code <= size; code++) this.#append(distinct, code, 0);
    this.#write("DICTIONARY_PAGE", {
      dictionary_page_header: { num_values: size, encoding: "PLAIN" },
    });
  }

  /** Writes the codes of values that the dictionary has. */
  #writeCodes(rows: number, count: number, bits: number): void {
    clear(buffers.page);
    buffers.page.appendUint8(bits);
    writeRleBitPackedHybrid(buffers.page, buffers.codes.subarray(0, count), bits);
    this.#writeData("RLE_DICTIONARY", 0, rows, count);
  }

  #writePlain(distinct: Distinct): void {
    const { codes } = distinct;
    clear(buffers.page);
    let start = 0;
    let written = 0;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      if (code === 0) continue;
      if (buffers.page.index + lengthOf(distinct, code) > PAGE_BYTES && row > start) {
        this.#writeData("PLAIN", start, row, written);
        clear(buffers.page);
        start = row;
        written = 0;
      }
      this.#append(distinct, code, written++);
    }
    this.#writeData("PLAIN", start, codes.length, written);
  }

  /** Appends a value to the page, which has `index` values. */
  #append({ texts, ends, numbers, physical }: Distinct, code: number, index: number): void {
    const page = buffers.page;
    const number = numbers?.[code - 1] ?? 0;
    if (physical === "BYTE_ARRAY") {
      page.appendUint32(ends[code]! - ends[code - 1]!);
      page.appendBytes(texts.subarray(ends[code - 1], ends[code]));
    } else if (physical === "DOUBLE") page.appendFloat64(number);
    else if (physical === "BOOLEAN") {
      if (index % 8 === 0) page.appendUint8(0);
      page.view.setUint8(page.index - 1, page.view.getUint8(page.index - 1) | number << index % 8);
    } else {
      // Modulo 2^32, also if it is negative. A bigint would be an object.
      page.appendInt32(number);
      if (physical === "INT64") page.appendInt32(Math.floor(number / 2 ** 32));
    }
  }

  /** Writes the page as that of rows, of which `count` have a value. */
  #writeData(
    encoding: "PLAIN" | "RLE_DICTIONARY",
    start: number,
    end: number,
    count: number,
  ): void {
    const levels = buffers.encodedLevels;
    clear(levels);
    writeRleBitPackedHybrid(levels, buffers.levels.subarray(start, end), 1);
    this.#pages++;
    this.#write("DATA_PAGE_V2", {
      data_page_header_v2: {
        num_values: end - start,
        num_nulls: end - start - count,
        num_rows: end - start,
        encoding,
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
    const compressed = snappyCompress(buffers.page.getBytes());
    writePageHeader(this.#output, {
      type,
      uncompressed_page_size: levels.length + buffers.page.index,
      compressed_page_size: levels.length + compressed.length,
      ...header,
    });
    this.#uncompressed += this.#output.offset - start + levels.length + buffers.page.index;
    this.#output.appendBytes(levels);
    this.#output.appendBytes(compressed);
  }
}

type PageHeader = Parameters<typeof writePageHeader>[1];

const NO_LEVELS = new Uint8Array(0);

function clear(writer: ByteWriter): void {
  writer.index = writer.offset = 0;
}

/** Returns the number of bytes of a value, rounded up. */
function lengthOf({ ends, physical }: Distinct, code: number): number {
  if (physical === "BYTE_ARRAY") return TEXT_HEAD + ends[code]! - ends[code - 1]!;
  return physical === "INT32" ? 4 : 8;
}

function codeBits(distinct: number): number {
  return Math.ceil(Math.log2(Math.max(1, distinct)));
}

function boundsOf(distinct: Distinct, size: number): Pick<Chunk, "min" | "max"> {
  const { texts, ends, numbers } = distinct;
  let min = 1;
  let max = 1;
  for (let code = 2; code <= size; code++) {
    if (compare(distinct, code, min) < 0) min = code;
    if (compare(distinct, code, max) > 0) max = code;
  }
  const valueOf = (code: number) =>
    numbers?.[code - 1] ?? utf8Decoder.decode(texts.subarray(ends[code - 1], ends[code]));
  return { min: valueOf(min), max: valueOf(max) };
}

/** Compares two values, texts by their bytes. */
function compare({ texts, ends, numbers }: Distinct, left: number, right: number): number {
  if (numbers !== undefined) return numbers[left - 1]! - numbers[right - 1]!;
  let at = ends[left - 1]!;
  let other = ends[right - 1]!;
  const end = Math.min(ends[left]!, at + ends[right]! - other);
  for (; at < end; at++, other++) {
    if (texts[at] !== texts[other]) return texts[at]! - texts[other]!;
  }
  return ends[left]! - at - (ends[right]! - other);
}

/** Writes a column of lists with the package, whose offsets are made those of the file. */
function writeLists(output: ByteWriter, column: NamedType, lists: Lists): Chunk {
  const start = output.offset;
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: schemaOf([column]) });
  writer.index = 0;
  writer.offset = start;
  file.write({ columnData: [{ name: column[0], data: lists }], rowGroupSize: lists.length });
  output.appendBytes(writer.getBytes());
  const { meta_data: chunk } = file.row_groups[0]!.columns[0]!;
  const { statistics, encoding_stats: stats } = chunk!;
  const { min_value: min, max_value: max, null_count: nulls } = statistics!;
  return {
    start,
    dataStart: Number(chunk!.data_page_offset),
    end: output.offset,
    uncompressed: Number(chunk!.total_uncompressed_size),
    pages: stats!.at(-1)!.count,
    values: Number(chunk!.num_values),
    nulls: Number(nulls),
    min: min as string | undefined,
    max: max as string | undefined,
  };
}
