/**
 * Parquet files, and GeoParquet for Locations. This entry point is apart from the main one, because it contains a
 * package that writes Parquet.
 *
 * ## Use
 *
 * DuckDB, pandas and R read the file:
 *
 * ```ts
 * import { DataStream, eq } from "@weir/datastream";
 * import { toParquet } from "@weir/datastream/parquet";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const query = client.records({ filter: eq("CharacteristicName", "pH"), limit: 100 });
 * const file = await new Response(toParquet(query)).bytes(); // or write the stream to a file
 * assertEquals(new TextDecoder().decode(file.subarray(-4)), "PAR1");
 * ```
 *
 * ## Runtimes
 *
 * Deno, Node, Bun, browsers, Cloudflare Workers and other edge runtimes.
 *
 * The page `docs/data.md` in the repository describes the columns and their types.
 *
 * @module
 */
import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { ParquetWriter } from "hyparquet-writer/src/parquet-writer.js";
import { type Bytes, releaseBuffer } from "../bytes.ts";
import { valueTypeOf } from "../odata/field_meanings.ts";
import { POSITION_FIELDS } from "../odata/map_position.ts";
import { columnNames, fieldNames, type ResourceName } from "../odata/resources.ts";
import { type OptionRule, readOptions, type WithDefaults } from "../validation.ts";
import { VERSION } from "../version.ts";
import {
  type DocumentFacts,
  type FileQuery,
  hasPointColumn,
  type LoadedFormat,
  withoutPageSize,
  type WriterOptions,
} from "./formats.ts";
import { PageFault } from "./json_scanner.ts";
import { PointCell, pointReader, type ReadPoint } from "./points.ts";
import {
  type PageConversion,
  type PageOptions,
  type PageTranscoder,
  PageWriter,
  type WriterState,
} from "./page_writer.ts";
import {
  ChunkWriter,
  type NamedType,
  schemaOf,
  toRowGroup,
  typeEmptyList,
  type WrittenGroup,
} from "./parquet_chunks.ts";
import {
  CODE_BYTES,
  createColumn,
  EXPECTED,
  GROUP_ROWS,
  type ValueColumn,
} from "./parquet_columns.ts";
import { ID_FIELD } from "./row_reader.ts";
import { TIDY_COLUMNS, TIDY_TYPES } from "./tidy.ts";

/**
 * Options of Parquet.
 *
 * @example Write null for a malformed value instead of failing
 * ```ts
 * import type { ParquetOptions } from "@weir/datastream/parquet";
 *
 * const options: ParquetOptions = { invalidValues: "null", metadata: { project: "lake survey" } };
 * ```
 */
export interface ParquetOptions {
  /**
   * What to do with a value that does not fit the type of its column, such as text in a column of numbers or a date
   * that does not exist: `"error"` fails with the row and the field, `"null"` writes null and counts the rows in the
   * metadata. Default `"error"`.
   */
  invalidValues?: "error" | "null" | undefined;
  /**
   * Key-value metadata to add to the file, or a function that returns it when the last row has arrived. The keys `weir`
   * and, of locations with a geometry, `geo` are replaced by those of Weir. Default: none.
   */
  metadata?:
    | Readonly<Record<string, string>>
    | ((facts: DocumentFacts) => ParquetMetadata | Promise<ParquetMetadata>)
    | undefined;
}

export type { DocumentFacts, FileQuery };

/** Key-value metadata of a file. */
export type ParquetMetadata = Readonly<Record<string, string>>;

/**
 * Returns the rows of a query as a Parquet file.
 *
 * The columns are those of CSV, with fixed types: INT64, DOUBLE, STRING, DATE, for lists LIST of STRING, and for
 * `datetime_utc` of tidy rows TIMESTAMP in UTC. All columns can be null; an empty text is null, as in CSV. A field that
 * Weir does not know is STRING. Row groups are whole pages with at least 50,000 rows or 16 MB of values, compressed with
 * Snappy. A file that was
 * cut is unreadable, because its last bytes describe the others.
 *
 * A file of Locations is GeoParquet 1.1: the column `geometry` has points in WGS 84, and in NAD83, which is about 2 m
 * off. A row of another reference system or without a possible position has no geometry. The column is absent if the
 * query does not select position and reference system.
 * Source: Apache Parquet format 2; GeoParquet 1.1.0.
 *
 * @typeParam S Type of the stream, which is that of `query.bytes()`
 * @param query Query whose rows to write
 * @param options Malformed values, metadata
 * @returns A stream of the bytes of the file; it errors with a `DataStreamError` if a request fails or a value does not
 *   fit its column
 * @throws {ValidationError} If an option is invalid
 *
 * @example Write a file in Deno
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { toParquet } from "@weir/datastream/parquet";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const bytes = toParquet(client.records({ limit: 10, tidy: true }));
 * let length = 0;
 * for await (const chunk of bytes) length += chunk.length; // await Deno.writeFile("records.parquet", bytes)
 * assertEquals(length > 4_000, true);
 * ```
 */
export function toParquet<S extends ReadableStream<Uint8Array>>(
  query: FileQuery<S>,
  options: ParquetOptions = {},
): S {
  return query.bytes(parquetFormat({ ...options, url: query.url }));
}

const PARQUET_OPTIONS = {
  invalidValues: { default: "error", values: ["error", "null"] },
  metadata: {},
  url: { type: "string" },
} as const satisfies Record<keyof FormatOptions, OptionRule>;

type FormatOptions = ParquetOptions & { url?: string };
type CheckedOptions = WithDefaults<FormatOptions, typeof PARQUET_OPTIONS>;

/**
 * Creates the format for methods of a query that take one, such as `batches({ format: parquetFormat() })`.
 *
 * @param options Malformed values, metadata; `url` is the URL of the query, for the metadata
 * @returns The format
 * @throws {ValidationError} If an option is invalid
 *
 * @example Write a file of the rows of a query
 * ```ts
 * import { DataStream } from "@weir/datastream";
 * import { parquetFormat } from "@weir/datastream/parquet";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals } from "@std/assert";
 *
 * const { apiKey, url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey, baseUrl: url, fetch });
 * const format = parquetFormat({ invalidValues: "null" });
 * const file = await new Response(client.metadata().bytes(format)).bytes();
 * assertEquals(new TextDecoder().decode(file.subarray(0, 4)), "PAR1");
 * ```
 */
export function parquetFormat(options: ParquetOptions & { url?: string } = {}): LoadedFormat {
  const checked = readOptions("Parquet", options, PARQUET_OPTIONS);
  return {
    name: "parquet",
    newWriter: (options: WriterOptions) => new ParquetDocumentWriter(options, checked),
  };
}

/** Number of bytes of values after which a row group ends. */
const GROUP_BYTES = 1 << 24;

/** Rows that are not yet written. */
interface OpenGroup {
  /** Fields of the columns, without those of `tidy`. */
  fields: readonly string[];
  columns: readonly ValueColumn[];
  rows: number;
  bytes: number;
}

/** State after the last finished row group. */
interface ParquetState extends WriterState {
  fields: readonly string[];
  groups: readonly WrittenGroup[];
}

/** First and last bytes of a file. */
const MAGIC = 0x31524150;

/**
 * Collects rows in columns, and writes a row group at the end of the page that fills it. It holds rows until then, which
 * no state contains: a later run requests them again.
 */
class ParquetDocumentWriter extends PageWriter {
  override state: ParquetState;
  override readonly addsColumns: boolean;
  readonly #resource: ResourceName;
  readonly #options: CheckedOptions;
  readonly #output = new ByteWriter();
  readonly #chunks = new ChunkWriter(this.#output);
  /** `undefined` if there is no column `geometry`. */
  readonly #readPoint: ReadPoint | undefined;
  readonly #pointCell = new PointCell();
  /** The row group that rows are added to. */
  #group: OpenGroup;
  /** The same without the rows of a page that is not taken. */
  #taken: OpenGroup;

  constructor(
    { resource, select, state, rules }: WriterOptions,
    options: CheckedOptions,
  ) {
    super();
    this.rules = rules;
    this.addsColumns = select === undefined;
    this.#resource = resource;
    this.#options = options;
    this.state = (state as ParquetState | undefined) ??
      { isBegun: false, fields: select ?? fieldNames(resource), groups: [] };
    const { fields, groups } = this.state;
    this.#readPoint = hasPointColumn("parquet", resource, fields)
      ? pointReader(POSITION_FIELDS.map((field) => fields.indexOf(field)))
      : undefined;
    this.#group = this.#taken = this.#newGroup(fields);
    if (groups.length === 0) this.#output.appendUint32(MAGIC);
    else this.#output.offset = groups.at(-1)!.chunks.at(-1)!.end;
  }

  override get fields(): readonly string[] {
    return this.#group.fields;
  }

  override get heldBytes(): number {
    const { columns, rows } = this.#taken;
    return rows > 0 ? columns.reduce((sum, { length }) => sum + length, 0) : 0;
  }

  override openPage(options?: PageOptions): PageConversion<Bytes> {
    const { columns, rows } = this.#taken;
    if (this.#group.rows > rows) { for (const column of columns) column.truncate(rows); }
    this.#group = { ...this.#taken };
    if (columns.length === 0) {
      this.#group.columns = this.#columnsOf(this.fields).map(([, type]) => createColumn(type));
    }
    return super.openPage(options);
  }

  writeRow(page: PageTranscoder): PageFault | undefined {
    const { reader, rules } = page;
    if (this.addsColumns && reader.columns.length > this.#group.fields.length) {
      const fault = this.#addFields(reader.columns);
      if (fault !== undefined) return fault;
    }
    this.#pointCell.fill(this.#readPoint?.(page));
    const group = this.#group;
    const { fields, columns, rows } = group;
    const width = fields.length;
    let bytes = CODE_BYTES * columns.length;
    let isInvalid = false;
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index]!;
      const added = index < width
        ? column.add(rows, reader, index)
        : column.add(rows, rules ?? this.#pointCell, index - width);
      if (added >= 0) bytes += added;
      else if (this.#options.invalidValues === "error") return this.#misfit(reader, index);
      else isInvalid = true;
    }
    group.rows++;
    group.bytes += bytes;
    if (isInvalid) page.note("invalidValues");
    return undefined;
  }

  append(): Bytes {
    const { rows, bytes } = this.#taken = this.#group;
    if (rows < GROUP_ROWS && bytes < GROUP_BYTES) return new Uint8Array();
    this.#writeGroup();
    return this.#takeOutput();
  }

  async end(): Promise<Bytes> {
    if (this.#taken.rows > 0) this.#writeGroup();
    const { fields, groups, notes } = this.state;
    const rows = groups.reduce((sum, { rows }) => sum + rows, 0);
    const { metadata, url } = this.#options;
    const given = typeof metadata === "function"
      ? await metadata({ rows, columns: fields, notes: notes ?? {} })
      : metadata;
    const own = { version: VERSION, url: url && withoutPageSize(url), rows, notes };
    const geo = this.#readPoint && { geo: JSON.stringify(GEO_METADATA) };
    const all = { ...given, ...geo, weir: JSON.stringify(own) };
    const columns = this.#columnsOf(fields);
    const start = this.#output.index;
    const file = new ParquetWriter({
      writer: this.#output,
      schema: schemaOf(columns),
      createdBy: `@weir/datastream ${VERSION}`,
      kvMetadata: Object.entries(all).map(([key, value]) => ({ key, value })),
    });
    // Removes the first bytes of a file, which were written before.
    this.#output.index = start;
    file.num_rows = BigInt(rows);
    file.row_groups = groups.map((group) => toRowGroup(group, columns));
    file.finish();
    if (rows === 0) typeEmptyList(this.#output.getBytes());
    this.state = { ...this.state, isBegun: true, groups: [] };
    return this.#takeOutput();
  }

  #columnsOf(fields: readonly string[]): NamedType[] {
    const names = columnNames(this.#resource, fields);
    return [
      ...fields.map((field, index): NamedType => [
        names[index]!,
        valueTypeOf(this.#resource, field) ?? "text",
      ]),
      ...this.rules?.tidy
        ? TIDY_COLUMNS.map((column): NamedType => [column, TIDY_TYPES[column]])
        : [],
      ...this.#readPoint ? [[GEO_METADATA.primary_column, "point"] as const] : [],
    ];
  }

  /** Adds columns of text for new fields, until the first row group is written. */
  #addFields(fields: readonly string[]): PageFault | undefined {
    const group = this.#group;
    const place = group.fields.length;
    const added = fields.slice(place);
    if (this.state.groups.length > 0) {
      return new PageFault(
        `Field "${added[0]}" first appears after the columns were written`,
        { hint: "the result is incomplete; select the fields you need" },
      );
    }
    group.fields = [...group.fields, ...added];
    const columns = added.map(() => createColumn("text"));
    group.columns = group.columns.toSpliced(place, 0, ...columns);
    return undefined;
  }

  #misfit(reader: PageTranscoder["reader"], index: number): PageFault {
    const id = reader.rowId();
    const row = id === undefined ? "A row" : `The row with ${ID_FIELD} ${id}`;
    const json = reader.json(index);
    const shown = json.length > MAX_VALUE_LENGTH ? `${json.slice(0, MAX_VALUE_LENGTH)}…` : json;
    const [field, type] = this.#columnsOf(this.fields)[index]!;
    return new PageFault(`${row} has ${field} ${shown}, which is not ${EXPECTED[type]}`, {
      hint: 'write null for such values with {invalidValues: "null"}, or choose another format',
      option: "invalidValues",
    });
  }

  /** The columns are created with the first row: many downloads wait for it. */
  #newGroup(fields: readonly string[]): OpenGroup {
    return { fields, columns: [], rows: 0, bytes: 0 };
  }

  /** Writes the row group, and frees its memory. */
  #writeGroup(): void {
    const { fields, columns, rows } = this.#taken;
    const chunks = this.#columnsOf(fields)
      .map((column, index) => this.#chunks.write(column, columns[index]!.values(rows)));
    for (const column of columns) column.release();
    const groups = [...this.state.groups, { rows, chunks }];
    this.state = { ...this.state, isBegun: true, fields, groups };
    this.#group = this.#taken = this.#newGroup(fields);
  }

  #takeOutput(): Bytes {
    const bytes = this.#output.getBytes().slice() as Bytes;
    releaseBuffer(this.#output);
    const { buffer, view } = new ByteWriter();
    Object.assign(this.#output, { buffer, view, index: 0 });
    return bytes;
  }
}

/** GeoParquet 1.1. Without `crs`, the reference system is OGC:CRS84. */
const GEO_METADATA = {
  version: "1.1.0",
  primary_column: "geometry",
  columns: { geometry: { encoding: "WKB", geometry_types: ["Point"] } },
} as const;

/** Maximum number of characters of a value in a message. */
const MAX_VALUE_LENGTH = 40;
