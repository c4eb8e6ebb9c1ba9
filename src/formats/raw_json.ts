import { PageFault, type RowId } from "./page_writer.ts";
import { allIds, ID, toRowId } from "./row_reader.ts";

/** JSON whose numbers keep their digits; a text begins with `s`, and so does every name. */
export type Source = string | boolean | null | SourceNumber | Source[] | SourceObject;

/** A number; as an object, it cannot pass for a name where JSON has none. */
interface SourceNumber {
  n: string;
}

/** An object in which every name begins with `s`. */
interface SourceObject {
  [name: string]: Source;
}

/**
 * A string or a number. The closing quote is optional, so that an unclosed string matches as well:
 * otherwise each quote inside it would start a search to the end of the page. `JSON.parse` rejects
 * what is unclosed.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/**
 * Parses JSON without making its numbers into doubles, which would lose digits.
 *
 * @throws {SyntaxError} If it is no JSON
 */
export function parseSource(text: string): Source {
  return JSON.parse(
    text.replace(
      STRING_OR_NUMBER,
      (token) => token[0] === '"' ? `"s${token.slice(1)}` : `{"n":"${token}"}`,
    ),
  );
}

/** The digits of a number; undefined for anything else. */
export function digitsOf(source: Source | undefined): string | undefined {
  return typeof source === "object" && source !== null && "n" in source
    ? (source as SourceNumber).n
    : undefined;
}

/** Whether a source is an object. */
function isSourceObject(source: Source): source is SourceObject {
  return typeof source === "object" && source !== null && !Array.isArray(source) &&
    !("n" in source);
}

/** The members of an object, by their own names. */
function membersOf(object: SourceObject): Map<string, Source> {
  return new Map(Object.entries(object).map(([name, value]) => [name.slice(1), value]));
}

/** More than this no value of the service is nested, by far. */
const DEEPEST = 1_000;

/**
 * The JSON of a source, its numbers as they came.
 *
 * @throws {PageFault} If it is nested too deep
 */
export function toJson(source: Source, depth = 0): string {
  if (depth > DEEPEST) throw tooLarge();
  if (typeof source === "string") return JSON.stringify(source.slice(1));
  const digits = digitsOf(source);
  if (digits !== undefined) return digits;
  if (Array.isArray(source)) return `[${source.map((item) => toJson(item, depth + 1)).join()}]`;
  if (!isSourceObject(source)) return String(source);
  return rowToJson(membersOf(source), depth + 1);
}

/** The JSON of an object's members. */
export function rowToJson(row: Map<string, Source>, depth = 1): string {
  const members = [...row].map(([name, value]) =>
    `${JSON.stringify(name)}:${toJson(value, depth)}`
  );
  return `{${members.join()}}`;
}

/** The rows of a page, and what it holds beside them. */
interface SourcePage {
  rows: Map<string, Source>[];
  /** The Ids of all rows; undefined if one has none. */
  ids: readonly RowId[] | undefined;
  envelope: Record<string, unknown>;
}

/**
 * Reads a page into rows, whose numbers keep their digits.
 *
 * @throws {PageFault} If it is no page
 */
export function readSourcePage(page: Uint8Array): SourcePage {
  let source: Source;
  try {
    source = parseSource(new TextDecoder("utf-8", { fatal: true }).decode(page));
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge();
    throw new PageFault("broken JSON");
  }
  const members = isSourceObject(source) ? membersOf(source) : new Map<string, Source>();
  const value = members.get("value");
  if (!Array.isArray(value) || !value.every(isSourceObject)) {
    throw new PageFault('no list of rows under "value"');
  }
  members.delete("value");
  const envelope = [...members].map((
    [name, member],
  ) => [name, JSON.parse(toJson(member))]);
  const rows = value.map(membersOf);
  const ids = allIds(rows.map((row) => toRowId(plainValue(row.get(ID)))));
  return { rows, ids, envelope: Object.fromEntries(envelope) };
}

/** The number or the text of a source; undefined for anything else. */
function plainValue(source: Source | undefined): number | string | undefined {
  if (typeof source === "string") return source.slice(1);
  const digits = digitsOf(source);
  return digits === undefined ? undefined : Number(digits);
}

function tooLarge(): PageFault {
  return new PageFault(
    "A value is nested too deep, or too long",
    "the rows so far are not all; select other fields",
  );
}
