// Writes a workbook from the pages of the service: the sheet of the rows as they arrive, and the other parts at the end.
import {
  builtinModule,
  type ByteBuffer,
  type Bytes,
  concatBytes,
  joinBytes,
  utf8Encoder,
} from "../bytes.ts";
import { LANGUAGES } from "../language.ts";
import { type ValueType, valueTypeOf } from "../odata/field_meanings.ts";
import { columnNames, fieldNames, type ResourceName } from "../odata/resources.ts";
import { invalidValue, type OptionRule, readOptions, type WithDefaults } from "../validation.ts";
import type { Citation } from "./citations.ts";
import { type EmbeddedPackage, embeddedPackage } from "./data_package.ts";
import { BlockDeflater } from "./deflate_blocks.ts";
import { type DocumentFacts, FORMATS, type LoadedFormat, type WriterOptions } from "./formats.ts";
import { BytesCache, PageFault, parseBytes } from "./json_scanner.ts";
import {
  type PageConversion,
  type PageOptions,
  type PageTranscoder,
  PageWriter,
  type WriterState,
} from "./page_writer.ts";
import { ID_FIELD } from "./row_reader.ts";
import { TIDY_COLUMNS, TIDY_TYPES, type TidyType } from "./tidy.ts";
import {
  type CellType,
  CellWriter,
  MAX_CELL_LENGTH,
  mayHaveNoncharacters,
  SPECIAL_CHARACTERS,
} from "./xlsx_cells.ts";
import { CONTENT_TYPES, DATA_PATH, endOfData, laterParts, startOfData } from "./xlsx_parts.ts";
import {
  centralDirectory,
  DEFLATED,
  descriptor,
  localHeader,
  MAX_ZIP_LENGTH,
  STORED,
  type ZipEntry,
} from "./zip.ts";

/**
 * Options of workbooks.
 *
 * @example French names of the sheets, without citations
 * ```ts
 * import type { XlsxOptions } from "@weir/datastream/xlsx";
 *
 * const options: XlsxOptions = { language: "fr", invalidValues: "cut" };
 * ```
 */
export interface XlsxOptions {
  /**
   * Citations for the second sheet, or a function that returns them when the last row has arrived. Default: none; the
   * sheet then says so.
   */
  citations?:
    | readonly Citation[]
    | (() => readonly Citation[] | Promise<readonly Citation[]>)
    | undefined;
  /**
   * What to do with a text above 32,767 UTF-16 code units, which a cell cannot hold: `"error"` fails with the row and the
   * field, `"cut"` writes its beginning and counts the rows in the data package. Default `"error"`.
   */
  invalidValues?: "error" | "cut" | undefined;
  /** Language of the sheets Citations and Columns. Default `"en"`. */
  language?: "en" | "fr" | undefined;
}

/** What the command line, the server and summaries add. */
interface AddedFacts {
  /** Time of the query. Default: when its first rows arrive. */
  time?: Date | undefined;
  /** Types of fields that no resource has, by name. Default: none. */
  types?: Readonly<Record<string, ValueType>>;
  /** Describes the rows; `citations` is then not used. */
  describe?: ((facts: DocumentFacts) => EmbeddedPackage | Promise<EmbeddedPackage>) | undefined;
}

const OPTIONS = {
  citations: {
    default: [],
    check(option, value) {
      if (Array.isArray(value) || typeof value === "function") return;
      throw invalidValue(option, "a list of citations, or a function that returns one", value);
    },
  },
  invalidValues: { default: "error", values: ["error", "cut"] },
  language: { default: "en", values: LANGUAGES },
  url: { type: "string", default: "" },
} as const satisfies Record<keyof (XlsxOptions & { url?: string }), OptionRule>;

type CheckedOptions = WithDefaults<XlsxOptions & { url?: string }, typeof OPTIONS>;

/** Throws if an option is invalid. */
export function createXlsxFormat(
  options: XlsxOptions & { url?: string },
  added: AddedFacts = {},
): LoadedFormat {
  const checked = { ...readOptions("xlsx", options, OPTIONS), ...added };
  return {
    name: "xlsx",
    newWriter: (options: WriterOptions) => new WorkbookWriter(options, checked),
  };
}

/** Compression of the sheet, whose XML repeats itself: level 2 takes a tenth more CPU time for a quarter less. */
const LEVEL = 1;

interface WorkbookState extends WriterState {
  fields: readonly string[];
  /** Number of rows without the header. */
  sheetRows: number;
  /** Number of bytes of the file that are written. */
  fileBytes: number;
  /** DOIs of the rows, if they have them. */
  dois: readonly string[];
  time?: string;
}

class WorkbookWriter extends PageWriter {
  #state: WorkbookState;
  override readonly addsColumns: boolean;
  readonly #resource: ResourceName;
  readonly #options: CheckedOptions & AddedFacts;
  #deflater: BlockDeflater;
  readonly #cells = new CellWriter();
  /** Fields, types and number of rows, including rows that are not taken yet. */
  #fields: readonly string[] = [];
  #types: readonly CellType[] = [];
  #doiColumn = -1;
  #rows = 0;
  readonly #dois: Set<string>;
  /** Compressed blocks of rows that are not taken yet. */
  #blocks: Bytes[] = [];
  /** State before these rows; `undefined` if none of this page is compressed. */
  #stateBefore: WorkbookState | undefined;
  readonly #doiTexts = new BytesCache((page, start, end) => String(parseBytes(page, start, end)));

  constructor(
    { resource, select, state, rules }: WriterOptions,
    options: CheckedOptions & AddedFacts,
  ) {
    super();
    this.rules = rules;
    this.addsColumns = select === undefined;
    this.#resource = resource;
    this.#options = options;
    this.#state = (state as WorkbookState | undefined) ??
      {
        isBegun: false,
        fields: select ?? fieldNames(resource),
        sheetRows: 0,
        fileBytes: 0,
        dois: [],
      };
    this.#dois = new Set(this.#state.dois);
    this.#deflater = new BlockDeflater("xlsx", LEVEL, this.#state.sheet);
  }

  /** Created when it is read: it keeps the bytes of a block in memory. */
  override get state(): WorkbookState {
    if (this.#stateBefore !== undefined) return this.#stateBefore;
    if (!this.#state.isBegun) return this.#state;
    return { ...this.#state, sheet: this.#deflater.state, dois: [...this.#dois] };
  }

  override set state(state: WorkbookState) {
    this.#state = state;
  }

  override get fields(): readonly string[] {
    return this.#state.fields;
  }

  override readonly holdsInState: boolean = true;

  override get heldBytes(): number {
    return this.#deflater.heldBytes;
  }

  override openPage(options?: PageOptions): PageConversion<Bytes> {
    this.#dropRejected();
    this.#setFields(this.#state.fields);
    this.#rows = this.#state.sheetRows;
    return super.openPage(options);
  }

  override readonly special: string = SPECIAL_CHARACTERS;

  /** Compresses the rows so far if they are long: those of a page can take 30 MB. The header then fixes the columns. */
  override beforeRow(output: ByteBuffer): void {
    if (output.length < ROWS_LENGTH) return;
    this.#stateBefore ??= this.state;
    this.#blocks.push(...this.#compress(output.bytes.subarray(0, output.length)));
    output.length = 0;
  }

  writeRow(page: PageTranscoder, at: number, end: number): PageFault | undefined {
    const { reader, rules, output } = page;
    if (this.addsColumns && reader.columns.length > this.#fields.length) {
      const fault = this.#addFields(reader.columns);
      if (fault !== undefined) return fault;
    }
    if (this.#rows === FORMATS.xlsx.maxRows) {
      return new PageFault(`The sheet has more than ${this.#rows} rows`, { hint: OTHER_FORMAT });
    }
    if (this.#deflater.length + output.length + MAX_ROW_GROWTH * (end - at) > MAX_SHEET_LENGTH) {
      return new PageFault("The sheet is longer than the 4 GB that a workbook can have", {
        hint: OTHER_FORMAT,
      });
    }
    const needsCheck = mayHaveNoncharacters(reader.bytes, at, end);
    const cells = this.#cells;
    cells.startRow(output, ++this.#rows + 1, needsCheck);
    const found = cells.writeCells(output, reader, this.#types, 0, end - at, page);
    const tidyFound = rules?.isTidy
      ? cells.writeCells(output, rules, TIDY_CELLS, this.#fields.length, rules.length, page)
      : undefined;
    const longText = found ?? tidyFound;
    if (longText !== undefined) {
      const columns = found !== undefined ? this.#fields : TIDY_COLUMNS;
      if (this.#options.invalidValues === "error") {
        return this.#tooLong(reader, columns[longText.cell]!, longText.length);
      }
      page.note("cutTexts");
    }
    cells.endRow(output);
    const doi = reader.lookUp(this.#doiTexts, this.#doiColumn);
    if (doi !== undefined) this.#dois.add(doi.toLowerCase());
    return undefined;
  }

  /** The rows of the page are not rejected any more. */
  override beforeTake(): undefined {
    this.#stateBefore = undefined;
  }

  append(rows: Bytes, count: number): Bytes {
    if (count === 0) return new Uint8Array();
    const bytes = joinBytes([...this.#blocks, ...this.#compress(rows)]);
    this.#blocks = [];
    this.#state = {
      ...this.#state,
      sheetRows: this.#state.sheetRows + count,
      fileBytes: this.#state.fileBytes + bytes.length,
    };
    return bytes;
  }

  async end(): Promise<Bytes> {
    this.#dropRejected();
    const start = this.#takeStart();
    const { fields, sheetRows: rows, time, notes = {}, fileBytes } = this.#state;
    const names = this.#columnNames();
    const { describe, citations, language, url } = this.#options;
    const facts = { rows, columns: fields, notes };
    const given = await describe?.(facts) ?? embeddedPackage({
      ...facts,
      resource: this.#resource,
      format: "xlsx",
      tidy: this.rules?.tidy,
      url,
      language,
      citations: typeof citations === "function" ? await citations() : citations,
      more: { notes },
    });
    // All datasets that match the query, some of which may have no row.
    const isCited = ({ doi = "" }: Record<string, string>) =>
      this.#doiColumn < 0 || this.#dois.has(doi.toLowerCase());
    const described = { ...given, sources: given.sources?.filter(isCited) ?? [] };
    const lastRows = this.#deflater.write(endOfData(names.length, rows));
    const sheetEnd = joinBytes([...start, ...lastRows, ...this.#deflater.end()]);
    const { crc, length } = this.#deflater.state;
    const first = toStored(CONTENT_TYPES, 0);
    let offset = fileBytes + sheetEnd.length;
    const compressedLength = offset - first.bytes.length - localHeader(DATA_ENTRY).length;
    const sheet = { ...DATA_ENTRY, offset: first.bytes.length, crc, length, compressedLength };
    const parts: Uint8Array[] = [sheetEnd, descriptor(sheet)];
    const entries: ZipEntry[] = [first.entry, sheet];
    offset += descriptor(sheet).length;
    for (const part of laterParts({ language, described, names, rows, time: time! })) {
      const { entry, bytes } = toStored(part, offset);
      entries.push(entry);
      parts.push(bytes);
      offset += bytes.length;
    }
    return concatBytes([...parts, ...centralDirectory(entries, offset)]);
  }

  /** Forgets the rows of the last page if they were not taken. */
  #dropRejected(): void {
    if (this.#stateBefore === undefined) return;
    this.#state = this.#stateBefore;
    this.#deflater = new BlockDeflater("xlsx", LEVEL, this.#state.sheet);
    this.#stateBefore = undefined;
    this.#blocks = [];
  }

  /** Returns the beginning of the file before the first rows, and the completed blocks. */
  #compress(rows: Bytes): Bytes[] {
    return [...this.#takeStart(), ...this.#deflater.write(rows)];
  }

  /** Returns the beginning of the file, once. */
  #takeStart(): Bytes[] {
    if (this.#state.isBegun) return [];
    const time = (this.#options.time ?? new Date()).toISOString();
    this.#setFields(this.#fields.length > 0 ? this.#fields : this.#state.fields);
    this.#state = { ...this.#state, isBegun: true, fields: this.#fields, time };
    const types = [...this.#types, ...TIDY_CELLS];
    const columns = this.#columnNames()
      .map((name, index) => [name, widthOf(name, types[index]!)] as const);
    const header = this.#deflater.write(startOfData(columns));
    return [toStored(CONTENT_TYPES, 0).bytes, localHeader(DATA_ENTRY), ...header];
  }

  #setFields(fields: readonly string[]): void {
    this.#fields = fields;
    this.#doiColumn = fields.indexOf("DOI");
    this.#types = fields.map((field) => {
      const type = valueTypeOf(this.#resource, field) ?? this.#options.types?.[field];
      return CELL_TYPES[type ?? "new"];
    });
  }

  #columnNames(): readonly string[] {
    const tidy = this.rules?.tidy ? TIDY_COLUMNS : [];
    return [...columnNames(this.#resource, this.#state.fields), ...tidy];
  }

  /** Adds columns for new fields until the first rows are compressed; with tidy columns, which follow them, until the first row. */
  #addFields(fields: readonly string[]): PageFault | undefined {
    if (this.#state.isBegun || this.rules?.tidy && this.#rows > 0) {
      return new PageFault(
        `Field "${fields[this.#fields.length]}" first appears after the header was written`,
        { hint: "the result is incomplete; select the fields you need" },
      );
    }
    this.#setFields(fields.slice());
    return undefined;
  }

  #tooLong(reader: PageTranscoder["reader"], field: string, length: number): PageFault {
    const id = reader.rowId();
    const row = id === undefined ? "A row" : `The row with ${ID_FIELD} ${id}`;
    const limit = `${MAX_CELL_LENGTH} that a cell of a workbook can have`;
    return new PageFault(
      `${row} has ${field} with ${length} characters, more than the ${limit}`,
      {
        hint: 'cut such texts with {invalidValues: "cut"}, or choose another format',
        option: "invalidValues",
      },
    );
  }
}

/** Length (bytes) of rows that are compressed before all rows of their page are complete. */
const ROWS_LENGTH = 1 << 20;

/** Room for an incomplete block and the end of the sheet. */
const MAX_SHEET_LENGTH = MAX_ZIP_LENGTH - 2 ** 24;

/** Maximum number of bytes of a sheet for a byte of a row: each cell has a reference, and characters are escaped. */
const MAX_ROW_GROWTH = 32;

const OTHER_FORMAT = "choose another {format}, such as csv or parquet";

/** The sheet with the rows. Its lengths are known at its end. */
const DATA_ENTRY: ZipEntry = {
  name: DATA_PATH,
  method: DEFLATED,
  offset: 0,
  crc: 0,
  length: 0,
  compressedLength: 0,
};

function toStored(
  [name, xml]: readonly [path: string, xml: string],
  offset: number,
): { entry: ZipEntry; bytes: Bytes } {
  const content = utf8Encoder.encode(xml);
  const { length } = content;
  const crc = builtinModule<{ crc32(bytes: Uint8Array): number }>("node:zlib")!.crc32(content);
  const entry: ZipEntry = { name, method: STORED, offset, crc, length, compressedLength: length };
  return { entry, bytes: concatBytes([localHeader(entry), content]) };
}

/** `new` is a field that Weir does not know. Times are texts: Excel has no offset from UTC. */
const CELL_TYPES: Readonly<Record<ValueType | TidyType | "new", CellType>> = {
  integer: "number",
  number: "number",
  date: "date",
  time: "text",
  boolean: "boolean",
  text: "text",
  texts: "text",
  new: "any",
};

const TIDY_CELLS = TIDY_COLUMNS.map((column) => CELL_TYPES[TIDY_TYPES[column]]);

/** Number of characters. */
const [MIN_WIDTH, MAX_TEXT_WIDTH, MAX_WIDTH, FILTER_BUTTON] = [11, 30, 60, 4];

function widthOf(name: string, type: CellType): number {
  const wanted = Math.max(MIN_WIDTH, name.length + FILTER_BUTTON);
  return Math.min(type === "text" ? MAX_TEXT_WIDTH : MAX_WIDTH, wanted);
}
