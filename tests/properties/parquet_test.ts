// Parquet of generated rows: the cells of CSV, or the fault of the first value that does not fit its column.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../mod.ts";
import { cellsOf, clientOf, parquetOf } from "../helpers/parquet.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { Random } from "./random.ts";

/** JSON of values that fit a column of text, and how to read them. */
function text(random: Random): string {
  const length = random.int(0, 12);
  const pieces = ["a", "é", "🦆", " ", ",", ";", '"', "\n", "\\", "\u0001", "\ufffd", "0"];
  const value = Array.from({ length }, () => random.pick(pieces)).join("");
  const json = JSON.stringify(value);
  // Some services escape all characters above ASCII.
  if (!random.chance(0.3)) return json;
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(/[^ -~]/g, escape);
}

const number = (random: Random): string => {
  const digits = random.int(1, 20);
  const whole = String(random.int(1, 9)) +
    Array.from({ length: digits - 1 }, () => random.int(0, 9)).join("");
  const fraction = random.chance(0.5) ? `.${whole}` : "";
  const exponent = random.chance(0.1) ? `e${random.int(-30, 30)}` : "";
  return `${random.chance(0.3) ? "-" : ""}${random.chance(0.2) ? 0 : whole}${fraction}${exponent}`;
};

const date = (random: Random): string =>
  `"${new Date(random.int(-6e13, 2.5e14)).toISOString().replace(/^[+-]\d\d/, "").slice(0, 10)}"`;

const KINDS: Record<string, (random: Random) => string> = {
  DOI: text,
  ResultUnit: text,
  ActivityStartTime: text,
  LaboratoryName: text,
  ResultComment: text,
  ResultValue: number,
  ActivityDepthHeightMeasure: number,
  ActivityStartDate: date,
  AnalysisStartDate: date,
};

const SELECT = ["Id", ...Object.keys(KINDS)];

/** JSON of values that do not fit a column of numbers or of dates. */
const MISFITS = [
  '"<0.05"',
  '" "',
  "true",
  "[1]",
  "{}",
  '"2023-02-29"',
  '"2023-2-1"',
  '"1e"',
  "1e400",
];

/** JSON of a row, and of the same row with null in place of the values that do not fit. */
function rowOf(random: Random, id: number, share: number, misfit: number): [string, string] {
  const rows: [string, string] = ["", ""];
  for (const [name, generate] of Object.entries(KINDS)) {
    if (!random.chance(share)) continue;
    const isInvalid = generate !== text && random.chance(misfit);
    const value = isInvalid ? random.pick(MISFITS) : generate(random);
    rows[0] += `,"${name}":${value}`;
    rows[1] += `,"${name}":${isInvalid ? null : value}`;
  }
  return [`{"Id":${id}${rows[0]}}`, `{"Id":${id}${rows[1]}}`];
}

const queryOf = (rows: readonly string[], top: number) =>
  clientOf(rows).records({ select: SELECT, top });

Deno.test("toParquet() writes the cells of csv(), or the first row with a value that does not fit, for 200 documents", async () => {
  let cells = 0;
  let invalid = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const share = random.pick([0, 0.1, 0.5, 1]);
    const misfit = random.pick([0, 0.02]);
    const rows = Array.from(
      { length: random.int(0, 120) },
      (_, index) => rowOf(random, index + 1, share, misfit),
    );
    const top = random.int(1, 200);
    const query = queryOf(rows.map(([row]) => row), top);
    const csv = await new Response(queryOf(rows.map(([, kept]) => kept), top).csv()).text();
    const file = await parquetOf(query, { invalidValues: "null" });
    assertEquals(cellsOf(file.rows, csv), readCsv(csv), `seed ${seed}`);
    const isInvalid = ([row, kept]: [string, string]) => row !== kept;
    const count = rows.filter(isInvalid).length;
    assertEquals(JSON.parse(file.metadata.weir!).notes?.invalidValues ?? 0, count, `seed ${seed}`);
    if (count > 0) {
      const error = await assertRejects(() => parquetOf(query), DataStreamError);
      const first = rows.findIndex(isInvalid) + 1;
      assert(error.message.includes(`The row with Id ${first} has `), error.message);
    }
    cells += file.rows.length * SELECT.length;
    invalid += count;
  }
  assert(cells > 50_000 && invalid > 100, `${cells} cells, ${invalid} invalid values`);
});
