import { MAX_NESTING } from "./json_scanner.ts";
import { PageFault, type RowId, toRowId } from "./page_writer.ts";
import { isObject } from "../validation.ts";

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

/** A parsed row: its values by field. */
export type RawRow = Map<string, RawJson>;

/**
 * Parses a row, and keeps the digits of its numbers. It accepts every row that `JSON.parse` accepts,
 * unlike `RowReader`, and is several times slower.
 *
 * @throws {PageFault} If it is not a JSON object
 */
export function parseRow(row: Uint8Array): RawRow {
  let json: RawJson;
  try {
    json = parseRawJson(new TextDecoder("utf-8", { fatal: true }).decode(row));
  } catch (error) {
    // A JSON string or a nesting beyond the limits of the JavaScript engine.
    throw error instanceof RangeError ? tooLarge() : brokenJson();
  }
  return membersOf(json);
}

/**
 * A string or a number. The closing quote is optional, so that an unclosed string matches too.
 * Otherwise, each quote inside it would start a search to the end of the page, which takes quadratic
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
export function stringifyRow(row: RawRow, depth = 1): string {
  const members = [...row].map(([name, value]) =>
    `${JSON.stringify(name)}:${stringifyRaw(value, depth)}`
  );
  return `{${members.join()}}`;
}

function isRawObject(json: RawJson): json is RawObject {
  return isObject(json) && !("n" in json);
}

/** Returns the members of an object; none for any other value. */
export function membersOf(json: RawJson): Map<string, RawJson> {
  if (!isRawObject(json)) return new Map();
  return new Map(Object.entries(json).map(([name, value]) => [textOf(name), value]));
}

/** Converts the value of `Id` to a row Id, like `toRowId()`. */
export function rowIdOf(json: RawJson | undefined): RowId | undefined {
  if (typeof json === "string") return toRowId(textOf(json));
  const digits = digitsOf(json);
  return digits === undefined ? undefined : toRowId(Number(digits));
}

/** Creates the fault of a page that is not JSON. */
export function brokenJson(): PageFault {
  return new PageFault("broken JSON");
}

/** Creates the fault of a page with a value that cannot be processed. */
export function tooLarge(): PageFault {
  return new PageFault(
    "A value is nested too deep, or too long",
    "the result is incomplete; select other fields",
  );
}
