// Pages with random values, spellings, white space and fields: CSV has the cells of their rows as @std/csv writes them,
// each format agrees with JSON.parse(), and no result depends on how the bytes arrive.
// Tests `CsvWriter` directly, because a query chooses its columns. `-- PAGES SEED` sets the number of pages and the seed.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { stringify } from "@std/csv/stringify";
import fc from "fast-check";
import { checkCsvOptions, CsvWriter } from "../../src/formats/csv.ts";
import { writePage } from "../../src/formats/page_writer.ts";
import { assertSameInChunks } from "../unit/formats/chunked_pages.ts";
import { assertAgreement, readStrictly } from "../unit/formats/malformed_pages.ts";

const pages = Number(Deno.args[0] ?? 5_000);
const seed = Number(Deno.args[1] ?? 1);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

interface Value {
  json: string;
  cell: string;
  /** Whether the value is a string or a list, which a spreadsheet could run as a formula. */
  isText: boolean;
  /** Whether CSV leaves out a NUL. */
  hasNul?: boolean;
}

/** A character, and one of its spellings in JSON. */
const character = fc.tuple(
  fc.oneof(
    fc.constantFrom(...'\r\n,;"\\/x é🦆\t\b\f=+-@\0\u2028'),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
  ),
  fc.constantFrom("short", "lower case", "upper case"),
).map(([char, spelling]) => {
  if (spelling === "short") {
    return { char, json: char === "/" ? "\\/" : JSON.stringify(char).slice(1, -1) };
  }
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  const hex = units.map((unit) => unit.toString(16).padStart(4, "0"));
  const digits = hex.map((code) => spelling === "lower case" ? code : code.toUpperCase());
  return { char, json: digits.map((code) => `\\u${code}`).join("") };
});
const text: fc.Arbitrary<Value> = fc.array(character, { maxLength: 12 }).map((characters) => ({
  json: `"${characters.map(({ json }) => json).join("")}"`,
  cell: characters.map(({ char }) => char).join("").replaceAll("\0", ""),
  isText: true,
  hasNul: characters.some(({ char }) => char === "\0"),
}));
const number: fc.Arbitrary<Value> = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/),
).map((digits) => ({ json: digits, cell: digits, isText: false }));
const literal: fc.Arbitrary<Value> = fc.constantFrom(
  { json: "null", cell: "", isText: false },
  { json: "true", cell: "true", isText: false },
  { json: "false", cell: "false", isText: false },
);
const list: fc.Arbitrary<Value> = fc.array(text, { maxLength: 3 }).map((items) => ({
  json: `[${items.map(({ json }) => json).join(" , ")}]`,
  cell: items.map(({ cell }) => cell).join("; "),
  isText: true,
  hasNul: items.some(({ hasNul }) => hasNul),
}));
const value = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 3, arbitrary: number },
  literal,
  list,
);

type Row = readonly (readonly [name: string, value: Value])[];

/** Fields of most rows, in this order. */
const COLUMNS = ["Id", "a", "é c", 'd"', "e,"];
const row: fc.Arbitrary<Row> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(...COLUMNS.map((name) => fc.tuple(fc.constant(name), value))) },
  fc.uniqueArray(fc.tuple(fc.constantFrom(...COLUMNS, "DOI", "new", "value"), value), {
    selector: ([name]) => name,
  }),
);
/** White space between two tokens of JSON. */
const gap = fc.oneof(
  { weight: 3, arbitrary: fc.constant("") },
  { weight: 4, arbitrary: fc.constantFrom(" ", "\n  ", "\t", "\r\n") },
);
const page = fc.tuple(
  fc.array(row, { maxLength: 6 }),
  fc.array(gap, { minLength: 4, maxLength: 9 }),
).map(([rows, gaps]) => {
  let at = 0;
  const space = () => gaps[at++ % gaps.length]!;
  const objects = rows.map((row) => {
    const members = row.map(([name, { json }]) =>
      `${space()}${JSON.stringify(name)}${space()}:${space()}${json}${space()}`
    );
    return `${space()}{${members.join()}}${space()}`;
  });
  const json =
    `{"@context":"\\"value\\":[",${space()}"value":${space()}[${objects.join()}],"@é":1}`;
  return { rows, json };
});
const options = fc.record({
  separator: fc.constantFrom(",", ";", "\t", "|", ":"),
  escapeFormulas: fc.boolean(),
  header: fc.boolean(),
});
type Options = typeof options extends fc.Arbitrary<infer T> ? T : never;

/** Formats a header, whose cells all have quotes. */
function toHeader(names: readonly string[], { separator }: Options): string {
  return `${names.map((name) => `"${name.replaceAll('"', '""')}"`).join(separator)}\r\n`;
}

/**
 * Formats a record with `@std/csv`, which does not quote a carriage return. A record with only an empty cell has quotes,
 * because it would be an empty line.
 */
function toRecord(cells: readonly string[], { separator }: Options): string {
  if (cells.length === 1 && cells[0] === "") return '""\r\n';
  const quoted = cells.map((cell) => {
    const written = stringify([[cell]], { separator }).slice(0, -2);
    return written === cell && cell.includes("\r") ? `"${cell}"` : written;
  });
  return `${quoted.join(separator)}\r\n`;
}

function cellOf(row: Row, field: string, { escapeFormulas }: Options): string {
  const { cell, isText } = row.find(([name]) => name === field)?.[1] ?? { cell: "", isText: false };
  return escapeFormulas && isText && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

Deno.test("CsvWriter writes the cells of the rows of random pages, and throws when it must add a field after the header", () => {
  let cells = 0;
  fc.assert(
    fc.property(
      fc.array(page, { minLength: 1, maxLength: 3 }),
      fc.shuffledSubarray(COLUMNS),
      fc.boolean(),
      options,
      (pages, known, addsNewFields, csv) => {
        const writer = new CsvWriter(checkCsvOptions(csv), known, { addsNewFields });
        let fields = known;
        let nulCells = 0;
        let hasOutput = false;
        for (const { rows, json } of pages) {
          const write = () => decoder.decode(writePage(writer, encoder.encode(json)));
          const names = addsNewFields ? rows.flatMap((row) => row.map(([name]) => name)) : [];
          const added = [...new Set(names)].filter((name) => !fields.includes(name));
          if (hasOutput && added.length > 0) {
            assertThrows(write, SyntaxError, `Field "${added[0]}" first appears after`);
            return;
          }
          fields = [...fields, ...added];
          const lines = rows.map((row) => fields.map((field) => cellOf(row, field, csv)));
          const isWritten = rows.length > 0 && fields.length > 0;
          const header = csv.header && !hasOutput ? toHeader(fields, csv) : "";
          const expected = header + lines.map((line) => toRecord(line, csv)).join("");
          assertEquals(write(), isWritten ? expected : "", json);
          for (const row of rows) {
            nulCells += row.filter(([name, { hasNul }]) => hasNul && fields.includes(name)).length;
          }
          assertEquals(writer.state.notes?.nulCells ?? 0, nulCells, json);
          hasOutput ||= isWritten;
          cells += rows.length * fields.length;
        }
      },
    ),
    { numRuns: pages, seed },
  );
  assert(cells >= 10 * pages, `${cells} cells compared`);
});

/** Removes and inserts bytes in a page. */
const edit = fc.record({
  /** Position, in thousandths of the page's length. */
  at: fc.nat(1_000),
  removed: fc.nat(3),
  inserted: fc.constantFrom('"', "[", "{", "}", "]", ",", "\\", ":", "\0", "1", ',"value":[]', "é"),
});

Deno.test("writePage() agrees with JSON.parse() in each format, and gives the same result when random pages arrive in random chunks", () => {
  const numRuns = pages / 5;
  let accepted = 0;
  fc.assert(
    fc.property(
      page,
      fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(edit, { maxLength: 2 })),
      fc.array(fc.nat(1_000), { maxLength: 8 }),
      ({ json }, edits, places) => {
        const bytes = [...encoder.encode(json)];
        for (const { at, removed, inserted } of edits) {
          const from = Math.floor(at / 1_000 * bytes.length);
          bytes.splice(from, removed, ...encoder.encode(inserted));
        }
        const edited = Uint8Array.from(bytes);
        const message = JSON.stringify(decoder.decode(edited));
        const cuts = places.map((place) => Math.floor(place / 1_000 * edited.length));
        assertSameInChunks(edited, [cuts.toSorted((a, b) => a - b)], message);
        if (places.length === 0) assertAgreement(edited, message);
        if (readStrictly(edited) !== "SyntaxError") accepted++;
      },
    ),
    { numRuns, seed },
  );
  assert(accepted > numRuns / 4 && accepted < numRuns, `${accepted} valid pages`);
});
