import { stringify } from "@std/csv/stringify";
import type { CsvFormat } from "./csv_options.ts";
import { beginsFormula } from "./csv_text.ts";
import { digitsOf, type Source, toJson } from "./json_source.ts";

/**
 * The lines of CSV for cells: `@std/csv` writes them, but for those that a reader would take for
 * something else.
 *
 * Source: RFC 4180.
 */
export function toLines(lines: readonly (readonly string[])[], separator: string): string {
  let text = "";
  let from = 0;
  for (const [index, line] of lines.entries()) {
    if (!isBlank(line) && !line.some((cell) => hasBareReturn(cell, separator))) continue;
    text += stringify(lines.slice(from, index), { separator });
    text += isBlank(line) ? '""\r\n' : withReturns(line, separator);
    from = index + 1;
  }
  return text + stringify(lines.slice(from), { separator });
}

/** The cell of a value: numbers as they came, texts of a list joined, other lists and objects as JSON. */
export function toCell(source: Source | undefined, { escapeFormulas }: CsvFormat): string {
  if (source === undefined || source === null) return "";
  if (typeof source === "boolean") return String(source);
  const digits = digitsOf(source);
  if (digits !== undefined) return digits;
  const text = typeof source === "string" ? source.slice(1) : listOfTexts(source) ?? toJson(source);
  return escapeFormulas ? guardFormula(text) : text;
}

/** A text with an apostrophe in front where a spreadsheet would take it for a formula. */
export function guardFormula(text: string): string {
  return text !== "" && beginsFormula(text.charCodeAt(0)) ? `'${text}` : text;
}

/** The same, in quotes where it must be. */
export function toQuotedCell(source: Source, format: CsvFormat): string {
  // Beside an empty cell, it is no line of its own.
  return toLines([["", toCell(source, format)]], format.separator).slice(1, -2);
}

function listOfTexts(source: Source): string | undefined {
  if (!Array.isArray(source)) return undefined;
  const isText = (item: Source): item is string => typeof item === "string";
  return source.every(isText) ? source.map((item) => item.slice(1)).join("; ") : undefined;
}

/** One empty cell is a blank line, which many readers skip: the row would be lost. */
function isBlank(line: readonly string[]): boolean {
  return line.length === 1 && line[0] === "";
}

/** A carriage return that nothing else in the cell makes `@std/csv` put in quotes. */
function hasBareReturn(cell: string, separator: string): boolean {
  return cell.includes("\r") && ![separator, '"', "\n"].some((mark) => cell.includes(mark));
}

function withReturns(line: readonly string[], separator: string): string {
  const cells = line.map((cell) =>
    hasBareReturn(cell, separator) ? `"${cell}"` : stringify([[cell]], { separator }).slice(0, -2)
  );
  return cells.join(separator) + "\r\n";
}
