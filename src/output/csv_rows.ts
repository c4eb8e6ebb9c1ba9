import { stringify } from "@std/csv/stringify";
import { DataStreamError } from "../errors.ts";

/** What a CSV is made of. */
export interface CsvShape {
  /** The columns in order. */
  columns: readonly string[];
  /**
   * Whether fields of the first page beyond the columns are appended; else they are left out, as
   * nobody selected them.
   */
  open: boolean;
  /** Where the pages come from, for an error to name. */
  url: string;
}

/**
 * Turns pages of rows into CSV bytes, one chunk a page; the header comes with the first page, or
 * alone where there is none.
 *
 * @param pages The pages; cancelling the result cancels them
 * @param shape The columns
 * @returns A stream of UTF-8 bytes, CRLF line ends; it errors where the pages do, and with a
 *   `DataStreamError` where an open set of columns would lose a field that comes late
 *
 * Source: RFC 4180.
 */
export function csvFromPages<R extends object>(
  pages: ReadableStream<R[]>,
  { columns, open, url }: CsvShape,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = pages.getReader();
  const encoder = new TextEncoder();
  let header: readonly string[] | undefined;

  /** The lines of a page: the header where it is due, then the rows. */
  function linesOf(rows: R[]): unknown[][] {
    const due = header === undefined;
    header ??= open ? [...columns, ...newFields(rows, columns)] : columns;
    const [late] = open ? newFields(rows, header) : [];
    if (late !== undefined) {
      throw new DataStreamError(`Field "${late}" came after the header was written`, {
        kind: "page",
        url,
        hint: "the rows so far are not all; select the fields wanted",
      });
    }
    const names = header;
    const lines = rows.map((row) => names.map((name) => cellOf(row, name)));
    return due ? [[...names], ...lines] : lines;
  }

  return new ReadableStream({
    async pull(controller) {
      // Until there is a chunk: a stream whose pull brings none is not pulled again.
      for (;;) {
        const { done, value: rows = [] } = await reader.read();
        let lines;
        try {
          lines = linesOf(rows);
        } catch (error) {
          reader.cancel(error).catch(() => {});
          throw error;
        }
        if (lines.length > 0) controller.enqueue(encoder.encode(toCsv(lines)));
        if (done) controller.close();
        if (done || lines.length > 0) return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Only what the row itself holds: a field may be named like what every object inherits. */
function cellOf(row: object, name: string): unknown {
  return Object.hasOwn(row, name) ? (row as Record<string, unknown>)[name] : undefined;
}

/** The fields that rows have beyond the known ones, in the order in which they come. */
function newFields(rows: readonly object[], known: readonly string[]): string[] {
  const fields = new Set(known);
  for (const row of rows) {
    for (const name in row) fields.add(name);
  }
  return [...fields].slice(new Set(known).size);
}

/** `@std/csv` writes the lines, but for those that a reader would take for something else. */
function toCsv(lines: unknown[][]): string {
  let text = "";
  let from = 0;
  for (const [index, line] of lines.entries()) {
    if (!isBlank(line) && !line.some(hasBareReturn)) continue;
    text += stringify(lines.slice(from, index)) + (isBlank(line) ? '""\r\n' : withReturns(line));
    from = index + 1;
  }
  return text + stringify(lines.slice(from));
}

/** One empty cell is a blank line, which many readers skip: the row would be lost. */
function isBlank(line: unknown[]): boolean {
  return line.length === 1 && (line[0] ?? "") === "";
}

/** A carriage return that nothing else in the cell makes `@std/csv` put in quotes. */
function hasBareReturn(cell: unknown): cell is string {
  return typeof cell === "string" && cell.includes("\r") && !/[",\n]/.test(cell);
}

function withReturns(line: unknown[]): string {
  const cells = line.map((cell) =>
    hasBareReturn(cell) ? `"${cell}"` : stringify([[cell]]).slice(0, -2)
  );
  return cells.join(",") + "\r\n";
}
