import { MAX_NESTING } from "./json_scanner.ts";
import {
  completeIds,
  ID_FIELD,
  NO_ROW_LIST,
  PageFault,
  type RowId,
  toRowId,
  type WrittenPage,
} from "./page_writer.ts";

/**
 * A JSON value whose numbers keep the digits of the source.
 *
 * Strings and the names of members have the prefix `s`; `textOf` removes it. A number is an object with
 * the single name `n`. Objects of the source cannot have this name, because of the prefix.
 */
export type RawJson = string | boolean | null | RawNumber | RawJson[] | RawObject;

interface RawNumber {
  /** The number as in the source. */
  n: string;
}

interface RawObject {
  [prefixedName: string]: RawJson;
}

/** A page as parsed rows. */
interface ParsedPage {
  rows: Map<string, RawJson>[];
  /** Ids of the rows; `undefined` if a row has no Id. */
  ids: readonly RowId[] | undefined;
  /** Members of the page other than its rows. */
  envelope: Record<string, unknown>;
}

/**
 * Parses a page into rows whose numbers keep their digits. It accepts every page that `JSON.parse`
 * accepts, unlike the scanner, and is several times slower.
 *
 * @throws {PageFault} If the bytes are not a page
 */
export function parsePage(page: Uint8Array): ParsedPage {
  let json: RawJson;
  try {
    json = parseRawJson(new TextDecoder("utf-8", { fatal: true }).decode(page));
  } catch (error) {
    // A JSON string or a nesting beyond the limits of the JavaScript engine.
    if (error instanceof RangeError) throw tooLarge();
    throw new PageFault("broken JSON");
  }
  const members = isRawObject(json) ? membersOf(json) : new Map<string, RawJson>();
  const value = members.get("value");
  if (!Array.isArray(value) || !value.every(isRawObject)) {
    throw new PageFault(NO_ROW_LIST);
  }
  members.delete("value");
  const rows = value.map(membersOf);
  const envelope = [...members].map(([name, member]) => [name, JSON.parse(stringifyRaw(member))]);
  const ids = completeIds(rows.map((row) => rowIdOf(row.get(ID_FIELD))));
  return { rows, ids, envelope: Object.fromEntries(envelope) };
}

/**
 * Parses a page and writes each row as text.
 *
 * @param dropsId Whether to leave out `Id`
 * @throws {PageFault} If the bytes are not a page
 */
export function writeParsed(
  page: Uint8Array,
  dropsId: boolean,
  toText: (row: Map<string, RawJson>) => string,
): WrittenPage {
  const { rows, ids, envelope } = parsePage(page);
  if (dropsId) { for (const row of rows) row.delete(ID_FIELD); }
  const bytes = new TextEncoder().encode(rows.map(toText).join(""));
  return { bytes, rows: rows.length, ids, envelope };
}

/**
 * A string or a number. The closing quote is optional, so that an unclosed string matches too:
 * otherwise each quote inside it would start a search to the end of the page, which takes quadratic
 * time. `JSON.parse` rejects an unclosed string.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** Whether a text is a number in JSON. */
export function isNumberText(text: string): boolean {
  return text.match(STRING_OR_NUMBER)?.[0] === text && text[0] !== '"';
}

/**
 * Parses JSON and keeps the digits of numbers, which a double would lose.
 *
 * @throws {SyntaxError} If the text is not JSON
 */
export function parseRawJson(text: string): RawJson {
  return JSON.parse(
    text.replace(
      STRING_OR_NUMBER,
      (token) => token[0] === '"' ? `"s${token.slice(1)}` : `{"n":"${token}"}`,
    ),
  );
}

/** Returns a string, or the name of a member, without its prefix. */
export function textOf(prefixed: string): string {
  return prefixed.slice(1);
}

/** Returns the digits of a number; `undefined` for any other value. */
export function digitsOf(json: RawJson | undefined): string | undefined {
  return typeof json === "object" && json !== null && "n" in json
    ? (json as RawNumber).n
    : undefined;
}

/**
 * Stringifies a value without white space, with the digits of the source.
 *
 * @throws {PageFault} If the value is nested more than `MAX_NESTING` levels
 */
export function stringifyRaw(json: RawJson, depth = 0): string {
  if (depth > MAX_NESTING) throw tooLarge();
  if (typeof json === "string") return JSON.stringify(textOf(json));
  const digits = digitsOf(json);
  if (digits !== undefined) return digits;
  if (Array.isArray(json)) return `[${json.map((item) => stringifyRaw(item, depth + 1)).join()}]`;
  return isRawObject(json) ? stringifyRow(membersOf(json), depth + 1) : String(json);
}

/** Stringifies a row as an object. */
export function stringifyRow(row: Map<string, RawJson>, depth = 1): string {
  const members = [...row].map(([name, value]) =>
    `${JSON.stringify(name)}:${stringifyRaw(value, depth)}`
  );
  return `{${members.join()}}`;
}

function isRawObject(json: RawJson): json is RawObject {
  return typeof json === "object" && json !== null && !Array.isArray(json) && !("n" in json);
}

function membersOf(object: RawObject): Map<string, RawJson> {
  return new Map(Object.entries(object).map(([name, value]) => [textOf(name), value]));
}

function rowIdOf(json: RawJson | undefined): RowId | undefined {
  if (typeof json === "string") return toRowId(textOf(json));
  const digits = digitsOf(json);
  return digits === undefined ? undefined : toRowId(Number(digits));
}

function tooLarge(): PageFault {
  return new PageFault(
    "A value is nested too deep, or too long",
    "the result is incomplete; select other fields",
  );
}
