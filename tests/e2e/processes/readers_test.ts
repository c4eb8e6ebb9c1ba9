// Other programs read the same cells from the CSV of a page with unusual values, also in gzip.
import { assert, assertEquals } from "@std/assert";
import { csvFromPage } from "../../../mod.ts";
import { createWriter } from "../../../src/formats/formats.ts";
import { concatBytes } from "../../../src/bytes.ts";
import { writePage } from "../../../src/formats/page_writer.ts";
import { FOLDER, testWithFiles } from "../command_line.ts";
import { runProgram } from "../../helpers/programs.ts";

const cells: [json: string, cell: string][] = [
  ["null", ""],
  ["1e-7", "1e-7"],
  ["-12345678901234567.890", "-12345678901234567.890"],
  ['" with spaces "', " with spaces "],
  ['"a,b;c\\td"', "a,b;c\td"],
  [String.raw`"say \"ah\", \"oh\""`, 'say "ah", "oh"'],
  ['"\\""', '"'],
  [String.raw`"line\nfeed"`, "line\nfeed"],
  [String.raw`"carriage\rreturn"`, "carriage\rreturn"],
  [String.raw`"both\r\nof them"`, "both\r\nof them"],
  [String.raw`"\u00e9 \ud83e\udd86"`, "é 🦆"],
  ['"Rivière-aux-Érables, à l’île nº 2"', "Rivière-aux-Érables, à l’île nº 2"],
  ["\"'quoted'\"", "'quoted'"],
  [String.raw`"nul\u0000 end"`, "nul end"],
  ['["synthetic","rivers"]', "synthetic; rivers"],
  ['{"a":[1.0,null]}', '{"a":[1.0,null]}'],
];
const names = cells.map((_, index) => `c${index}`);
const rowOf = (shift: number) => names.map((_, index) => cells[(index + shift) % cells.length]!);
/** Each cell in each column once. */
const rows = cells.map((_, shift) => rowOf(shift));

/** Every third row has its keys in reverse order, without those whose value is null. */
const objects = rows.map((row, number) => {
  const members = row.map(([json], index) => `"${names[index]}":${json}`);
  const kept = members.reverse().filter((member) => !member.endsWith(":null"));
  return `{${(number % 3 === 2 ? kept : members.reverse()).join()}}`;
});
const page = new TextEncoder().encode(`{"value":[${objects.join()}]}`);

interface Reader {
  name: string;
  /** Whether it is installed. */
  check: [program: string, ...args: string[]];
  extension: "csv" | "csv.gz";
  /** Prints the rows of a file, including the header, as JSON. */
  read(file: string): [program: string, ...args: string[]];
  /** Parses what `read` prints, if it is not an array of arrays. */
  parse?(output: string): string[][];
  /** Returns what it makes of a cell. Default: nothing else. */
  changed?(cell: string): string;
}

const checkDuckdb: Reader["check"] = ["node", "-e", 'require("@duckdb/node-api")'];

/** Prints the names of columns and the rows, with an empty text for null. */
const inDuckdb = (sql: string): Reader["check"] => [
  "node",
  "-e",
  `(async () => {
    const { DuckDBInstance } = require("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    const result = await connection.runAndReadAll(${JSON.stringify(sql)});
    const rows = result.getRowsJson().map((row) => row.map((cell) => cell ?? ""));
    console.log(JSON.stringify([result.columnNames(), ...rows]));
  })();`,
];

const readers: Reader[] = [
  {
    name: "Python's csv",
    check: ["python3", "--version"],
    extension: "csv.gz",
    read: (file) => [
      "python3",
      "-c",
      "import csv, gzip, json, sys; " +
      "file = gzip.open(sys.argv[1], 'rt', newline='', encoding='utf-8'); " +
      "print(json.dumps(list(csv.reader(file))))",
      file,
    ],
  },
  {
    name: "sqlite3 .import --csv",
    check: ["sqlite3", "--version"],
    extension: "csv",
    read: (file) => [
      "sqlite3",
      ":memory:",
      `.import --csv "${file}" t`,
      ".mode json",
      "select * from t",
    ],
    parse(output) {
      const objects: Record<string, string>[] = JSON.parse(output);
      return [Object.keys(objects[0]!), ...objects.map((row) => Object.values(row))];
    },
  },
  {
    name: "R",
    check: ["Rscript", "--version"],
    extension: "csv.gz",
    read: (file) => [
      "Rscript",
      "-e",
      `rows <- read.csv(${JSON.stringify(file)}, colClasses = "character", check.names = FALSE, ` +
      `na.strings = character(), encoding = "UTF-8"); ` +
      "hex <- function(cell) paste(charToRaw(cell), collapse = ''); " +
      "for (row in c(list(names(rows)), split(as.matrix(rows), seq_len(nrow(rows))))) " +
      "cat(paste(sapply(row, hex), collapse = ','), '\\n', sep = '')",
    ],
    parse: (output) =>
      output.trim().split("\n").map((line) =>
        line.split(",").map((hex) => new TextDecoder().decode(Uint8Array.fromHex(hex)))
      ),
    // It reads each end of a line as a line feed.
    changed: (cell) => cell.replace(/\r\n?/g, "\n"),
  },
  {
    name: "DuckDB",
    check: checkDuckdb,
    extension: "csv",
    read: (file) =>
      inDuckdb(`select * from read_csv('${file}', all_varchar = true, header = true)`),
  },
];

const gzip = createWriter("csv.gz", { resource: "Records", select: names, unchecked: true });
/** The page, by the extension of its file. */
const FILES = {
  "csv": csvFromPage(page),
  "csv.gz": concatBytes([writePage(gzip, page), await gzip.end()]),
};

for (const { name, check, extension, read, parse = JSON.parse, changed = String } of readers) {
  const isInstalled = (await runProgram(...check))?.success;
  const title = `${name} reads the same cells from .${extension} when they are unusual`;
  testWithFiles(title, async () => {
    const file = `${FOLDER}/page.${extension}`;
    await Deno.writeFile(file, FILES[extension]);
    const result = await runProgram(...read(file));
    assert(result?.success, result?.stderr);
    const wanted = rows.map((row) => row.map(([, cell]) => changed(cell)));
    assertEquals(parse(result.stdout), [names, ...wanted]);
  }, { [name]: isInstalled });
}

const hasDuckdb = (await runProgram(...checkDuckdb))?.success;
for (const text of ["Smith, Jones", 'say "ah"', "line\nfeed", 'both\r\nof, "them"']) {
  const title = `DuckDB reads ${
    JSON.stringify(text)
  } after the 20,480 rows in which it detects quotes`;
  testWithFiles(title, async () => {
    const rows = Array(25_000).fill({ a: "x" }).concat(Array(5_000).fill({ a: text }));
    const late = csvFromPage(new TextEncoder().encode(JSON.stringify({ value: rows })));
    await Deno.writeFile(`${FOLDER}/late.csv`, late);
    const sql = `select a, count(*)::int from '${FOLDER}/late.csv' group by a order by 2`;
    const result = await runProgram(...inDuckdb(sql));
    assert(result?.success, result?.stderr);
    assertEquals(JSON.parse(result.stdout).slice(1), [[text, 5_000], ["x", 25_000]]);
  }, { DuckDB: hasDuckdb });
}
