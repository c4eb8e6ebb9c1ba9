// Compares the transcoder, the parser, and JSON.parse() with @std/csv. Pages have random white space,
// escape sequences, fields and orders of fields.
// Tests `CsvWriter` directly, to compare its two paths: a query chooses one of them.
import { assert, assertEquals } from "@std/assert";
import { stringify } from "@std/csv/stringify";
import fc from "fast-check";
import type { CsvOptions } from "../../mod.ts";
import { checkCsvOptions, CsvWriter } from "../../src/formats/csv.ts";
import { writePage } from "../../src/formats/page_writer.ts";
import { ParsedCsvWriter, parsedLines, transcodedLines } from "../unit/formats/csv_paths.ts";
import { readCsv } from "../helpers/rfc4180.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Number of pages. `deno task test FILE -- 1000000 7` sets this number and a seed. */
const pages = Number(Deno.args[0] ?? 20_000);
const runs = { numRuns: pages, seed: Number(Deno.args[1] ?? 1) };
const columns = ["a", "b", "é c", 'd"', "e,"];

interface Value {
  json: string;
  cell: string;
}

/** Text in which each character has a random JSON spelling. */
const character = fc.oneof(
  fc.constantFrom(
    "\r",
    "\n",
    ",",
    ";",
    '"',
    "\\",
    "x",
    " ",
    "é",
    "🦆",
    "\t",
    "=",
    "-",
    "\0",
    "\u2028",
  ),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
);
const text: fc.Arbitrary<Value> = fc.array(fc.tuple(character, fc.nat(2)), { maxLength: 12 })
  .map((spelled) => ({
    cell: spelled.map(([char]) => char).join(""),
    json: `"${
      spelled.map(([char, way]) => {
        if (way === 0) return JSON.stringify(char).slice(1, -1);
        if (way === 1 && char === "/") return "\\/";
        const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
        const hex = units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
        return way === 1 ? hex : hex.replace(/[a-f]/g, (digit) => digit.toUpperCase());
      }).join("")
    }"`,
  }));
const number: fc.Arbitrary<Value> = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/),
).map((digits) => ({ json: digits, cell: digits }));
const literal: fc.Arbitrary<Value> = fc.constantFrom(
  { json: "null", cell: "" },
  { json: "true", cell: "true" },
  { json: "false", cell: "false" },
);
const flat = fc.oneof({ weight: 4, arbitrary: text }, { weight: 3, arbitrary: number }, literal);
const list: fc.Arbitrary<Value> = fc.array(text, { maxLength: 3 }).map((items) => ({
  json: `[${items.map(({ json }) => json).join(" , ")}]`,
  cell: items.map(({ cell }) => cell).join("; "),
}));

type Row = [name: string, value: Value][];
const rowOf = (value: fc.Arbitrary<Value>): fc.Arbitrary<Row> =>
  fc.oneof(
    fc.tuple(...columns.map(() => value)).map((values) =>
      values.map((value, index) => [columns[index]!, value] as [string, Value])
    ),
    fc.uniqueArray(fc.tuple(fc.constantFrom(...columns, "other"), value), {
      minLength: 1,
      selector: ([name]) => name,
    }),
  );
const gap = fc.constantFrom("", "", "", " ", "\n  ", "\t", "\r\n");

/** A page whose rows have equal or different white space. */
const pageOf = (value: fc.Arbitrary<Value>) =>
  fc.tuple(fc.array(rowOf(value), { maxLength: 6 }), fc.array(gap, { minLength: 4, maxLength: 9 }))
    .map(([rows, gaps]) => {
      let at = 0;
      const space = () => gaps[at++ % gaps.length]!;
      const objects = rows.map((row) =>
        `{${
          row.map(([name, { json }]) =>
            `${space()}${JSON.stringify(name)}${space()}:${space()}${json}`
          ).join(`${space()},`)
        }${space()}}`
      );
      return {
        rows,
        json: `{"@context":"\\"value\\":[",${space()}"value":${space()}[${space()}${
          objects.join(`${space()},${space()}`)
        }${space()}],"@odata.nextLink":"x"}`,
      };
    });

const cellsOf = (rows: Row[]) =>
  rows.map((row) => columns.map((name) => row.find(([other]) => other === name)?.[1].cell ?? ""));

let compared = 0;

const options = fc.record<CsvOptions>({
  separator: fc.constantFrom(",", ";", "\t", "|", ":"),
  escapeFormulas: fc.boolean(),
});

Deno.test("transcodeCsv() writes the cells of the rows, and with random options and columns the bytes of the parser", () => {
  fc.assert(
    fc.property(
      pageOf(fc.oneof({ weight: 4, arbitrary: flat }, list)),
      options,
      fc.shuffledSubarray(columns, { minLength: 1 }),
      ({ json, rows }, given, some) => {
        assertEquals(readCsv(transcodedLines(json, columns)), cellsOf(rows));
        assertEquals(transcodedLines(json, some, given), parsedLines(json, some, given));
        compared += rows.length * columns.length;
      },
    ),
    runs,
  );
  console.log(`${compared} cells compared`);
  assert(compared >= 10 * runs.numRuns);
});

Deno.test("transcodeCsv() writes the same bytes as @std/csv when doubles keep the digits", () => {
  fc.assert(
    fc.property(pageOf(flat), ({ json }) => {
      const rows: Record<string, unknown>[] = JSON.parse(json).value;
      const cells = rows.map((row) => columns.map((name) => row[name]));
      const isRight = (cell: unknown) => typeof cell !== "string" || !cell.includes("\r");
      fc.pre(cells.flat().every(isRight));
      const digits = json.replace(/"(?:[^"\\]|\\.)*"/g, "").match(/-?\d[\d.eE+-]*/g) ?? [];
      fc.pre(digits.every((text) => String(Number(text)) === text));
      assertEquals(transcodedLines(json, columns), stringify(cells));
    }),
    { ...runs, numRuns: runs.numRuns / 4 },
  );
});

/** Field names of a row: the known ones or random others, in random order, some repeated. */
const openRow = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["a", "b", "é c"]) },
  fc.shuffledSubarray(["a", "b", "é c", "new", "newer", "\u0001x", 'q"', ""]),
  fc.array(fc.constantFrom("a", "new", "newest"), { maxLength: 3 }),
);
const openPage = fc.tuple(
  fc.array(fc.tuple(openRow, fc.array(fc.oneof(flat, list), { minLength: 8, maxLength: 8 })), {
    maxLength: 8,
  }),
  fc.boolean(),
  fc.oneof({ weight: 9, arbitrary: fc.constant(Infinity) }, fc.nat(2_000)),
).map(([rows, isEscaped, cut]) => {
  // Escape sequences do not change the meaning of a name.
  const nameOf = (name: string, place: number) =>
    isEscaped && place % 2 === 0
      ? JSON.stringify(name).replaceAll("a", "\\u0061").replace("new", "\\u006eew")
      : JSON.stringify(name);
  const objects = rows.map(([names, values]) =>
    `{${names.map((name, place) => `${nameOf(name, place)}:${values[place]!.json}`).join()}}`
  );
  return `{"value":[${objects.join()}],"@odata.nextLink":"x"}`.slice(0, cut);
});

Deno.test("CsvWriter.write() gives the same bytes and errors as the parser when rows have new fields", () => {
  let [addedColumns, rejectedFields] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(openPage, { minLength: 1, maxLength: 3 }),
      fc.subarray(["a", "b", "é c", "unused"]),
      fc.boolean(),
      fc.constantFrom(",", "\t", ";"),
      fc.boolean(),
      (given, known, addsNewFields, separator, header) => {
        const csv = checkCsvOptions({ separator, header });
        const writer = new CsvWriter(csv, known, { addsNewFields });
        const reference = new ParsedCsvWriter({ separator, header }, known, addsNewFields);
        for (const text of given) {
          const bytes = new TextEncoder().encode(text);
          const ours = outcomeOf(() => decoder.decode(writePage(writer, bytes)));
          const wanted = outcomeOf(() => reference.write(text));
          // Both name the new field; the message for a malformed page is not compared.
          if (wanted.error?.includes("first appears after")) {
            assert(ours.error?.startsWith(wanted.error), text);
            rejectedFields++;
          } else {assertEquals({ ...ours, error: !!ours.error }, {
              ...wanted,
              error: !!wanted.error,
            }, text);}
          assertEquals(writer.state, reference.state, text);
        }
        if ((writer.state.fields?.length ?? 0) > known.length) addedColumns++;
      },
    ),
    { ...runs, numRuns: runs.numRuns / 2 },
  );
  assert(
    addedColumns > runs.numRuns / 50 && rejectedFields > runs.numRuns / 200,
    `${addedColumns}, ${rejectedFields}`,
  );
});

function outcomeOf(write: () => string): { text?: string; error?: string } {
  try {
    return { text: write() };
  } catch (error) {
    assert(error instanceof SyntaxError, String(error));
    return { error: error.message };
  }
}
