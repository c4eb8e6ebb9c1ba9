// Programs read the cells of CSV from a workbook, also unusual ones. What a program changes by itself is listed.
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv/parse";
import { DataStream, type Query } from "../../mod.ts";
import { toXlsx } from "../../src/formats/xlsx.ts";
import { valueTypeOf } from "../../src/odata/field_meanings.ts";
import { fieldNames, RESOURCE_NAMES } from "../../src/odata/resources.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { testNeeding } from "../e2e/needs.ts";
import { clientOf, readAll } from "../helpers/parquet.ts";
import { runProgram, runProgramWith } from "../helpers/programs.ts";
import { readCsv } from "../helpers/rfc4180.ts";

/** JSON of values that a spreadsheet changes in CSV, or that a program can change. */
const VALUES: Record<string, readonly string[]> = {
  MonitoringLocationID: ['"007"', '"7"', '"2-3"', '"1E5"', '"1/2"', '"3:15"', '"=1+1"', '"TRUE"'],
  ResultComment: [
    '"12345678901234567"',
    '"+1"',
    '"-1"',
    '"@A1"',
    '"µ é 水 \u{1f4a7}"',
    String.raw`"a\u0000b"`,
    String.raw`"\ud800"`,
    String.raw`"bell \u0007"`,
    String.raw`"line\r\nfeed"`,
    '"_x000D_"',
    '" <a&b>\\"quoted\\" "',
    `"${"long ".repeat(6_000)}"`,
  ],
  ResultValue: [
    "null",
    "7.10",
    "0.0",
    "-12",
    "1e-7",
    "0.123456789012345",
    "12345678901234567",
    "1e400",
    "1e-400",
    '"<0.05"',
    '"7.10"',
  ],
  ActivityStartDate: [
    '"2024-02-29"',
    '"1900-03-01"',
    '"1900-02-28"',
    '"9999-12-31"',
    '"2023-02-29"',
  ],
  ActivityStartTime: ['"09:30:00"', '"24:00:00"', "null"],
};
const unusualRows = Array.from({ length: 130 }, (_, index) => {
  const members = Object.entries(VALUES).map(([name, values]) =>
    `,"${name}":${values[index % values.length]}`
  );
  return `{"Id":${index + 1}${members.join("")}}`;
});
const options = { hostileNames: true, records: 2_000, requestsPerSecond: Infinity };
const { apiKey, url, fetch } = createSandbox(options);
const sandbox = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
const QUERIES: Record<string, Query<unknown>> = {
  "Records, tidy": sandbox.records({ tidy: true }),
  Locations: sandbox.locations(),
  "unusual values": clientOf(unusualRows).records({
    select: ["Id", ...Object.keys(VALUES)] as ["Id"],
  }),
};

const PYTHON = "/usr/bin/python3";

/** A program that reads `FILE`, and prints the sheet with the rows as CSV, with dates as in ISO 8601. */
interface Reader {
  command: (file: string, folder: string) => [program: string, ...args: string[]];
  /** File with the CSV. Default: standard output. */
  output?: string;
  /** Returns what the program makes of a cell of CSV. Default: the same. */
  changes?: (cell: string) => string;
}

/** openpyxl leaves escapes as they are. */
const withEscapes = (cell: string) =>
  cell.replace("_x000D_", "_x005F_x000D_").replace("\r", "_x000D_").replace("\x07", "_x0007_");

const R_TEXTS = `
  invisible(Sys.setlocale("LC_ALL", "C.UTF-8"))
  text <- function(x) {
    if (is.null(x) || length(x) == 0 || is.na(x)) NA_character_
    else if (inherits(x, "POSIXct") || inherits(x, "Date")) format(x, "%Y-%m-%d")
    else if (is.logical(x)) tolower(as.character(x))
    else if (is.numeric(x)) sprintf("%.17g", x)
    else x
  }
  save <- function(rows) {
    cells <- as.data.frame(lapply(rows, function(column) vapply(column, text, NA_character_)), check.names = FALSE)
    write.csv(cells, row.names = FALSE, na = "", eol = "\\r\\n")
  }`;

const READERS: Record<string, Reader> = {
  openpyxl: {
    command: (file) => [
      PYTHON,
      "-c",
      `import csv, datetime, openpyxl, sys
sys.stdout.reconfigure(encoding="utf-8", newline="")
sheet = openpyxl.load_workbook(${JSON.stringify(file)}).worksheets[0]
def text(value):
    if isinstance(value, bool): return str(value).lower()
    if isinstance(value, datetime.datetime): return value.strftime("%Y-%m-%d")
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
csv.writer(sys.stdout).writerows([[text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)])`,
    ],
    changes: withEscapes,
  },
  pandas: {
    command: (file) => [
      PYTHON,
      "-c",
      `import csv, pandas, sys
sys.stdout.reconfigure(encoding="utf-8", newline="")
rows = pandas.read_excel(${JSON.stringify(file)}, header=None, dtype=object, keep_default_na=False)
def text(value):
    if isinstance(value, bool): return str(value).lower()
    if hasattr(value, "strftime"): return value.strftime("%Y-%m-%d")
    return repr(value) if isinstance(value, float) else str(value)
csv.writer(sys.stdout).writerows([[text(cell) for cell in row] for row in rows.values.tolist()])`,
    ],
    changes: withEscapes,
  },
  readxl: {
    command: (file) => [
      "Rscript",
      "-e",
      `${R_TEXTS}
      save(readxl::read_excel(${
        JSON.stringify(file)
      }, col_types = "list", trim_ws = FALSE, .name_repair = "minimal"))`,
    ],
  },
  openxlsx: {
    command: (file) => [
      "Rscript",
      "-e",
      `${R_TEXTS}
      save(openxlsx::read.xlsx(${
        JSON.stringify(file)
      }, sheet = 1, detectDates = TRUE, skipEmptyCols = FALSE, sep.names = " "))`,
    ],
    // It does not read XML: it leaves its escapes, and takes an attribute for text.
    changes(cell) {
      const text = withEscapes(cell).replaceAll("&", "&amp;").replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;");
      return /^\s|\s$/.test(text) ? `xml:space="preserve">${text}` : text;
    },
  },
  SheetJS: {
    command: (file) => [
      "node",
      "-e",
      `const XLSX = require("xlsx");
      const { Sheets, SheetNames: [name] } = XLSX.readFile(${
        JSON.stringify(file)
      }, { cellNF: true });
      const sheet = Sheets[name];
      for (const cell of Object.values(sheet)) {
        if (cell.t === "n" && /yyyy/.test(cell.z)) {
          Object.assign(cell, { t: "s", v: new Date((cell.v - 25569) * 864e5).toISOString().slice(0, 10) });
        }
      }
      const quote = (cell) => '"' + String(cell ?? "").replaceAll('"', '""') + '"';
      const rows = XLSX.utils.sheet_to_json(sheet, { header: 1, raw: true });
      const text = rows.map((row) => Array.from(row, quote).join() + "\\r\\n").join("");
      for (let at = 0; at < text.length; at += 65536) process.stdout.write(text.slice(at, at + 65536));`,
    ],
  },
};

const has: Record<string, boolean | undefined> = {
  openpyxl: (await runProgram(PYTHON, "-c", "import openpyxl"))?.success,
  pandas: (await runProgram(PYTHON, "-c", "import openpyxl, pandas"))?.success,
  readxl: (await runProgram("Rscript", "-e", "library(readxl)"))?.success,
  openxlsx: (await runProgram("Rscript", "-e", "library(openxlsx)"))?.success,
  SheetJS: (await runProgram("node", "-e", 'require("xlsx")'))?.success,
};

async function withWorkbook(
  query: Query<unknown>,
  use: (file: string, folder: string, csv: string[][]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/rows.xlsx`;
    await Deno.writeFile(file, new Uint8Array(await readAll(toXlsx(query))));
    await use(file, folder, readCsv(await new Response(query.csv()).text()));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const isNumber = (cell: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(cell);

/** Columns with numbers; all others are text, dates, or true and false. */
const NUMBERS = new Set<string>(
  [
    ...RESOURCE_NAMES.flatMap((name) =>
      fieldNames(name).filter((field) => /^(integer|number)$/.test(valueTypeOf(name, field)!))
    ),
    "value",
    "lower",
    "upper",
  ],
);

/** Compares numbers by value, because programs print them in other forms. */
function assertSame(read: string[][], csv: string[][], changes = (cell: string) => cell): void {
  const [header = []] = csv;
  assertEquals(read.length, csv.length);
  for (const [row, cells] of csv.entries()) {
    const found = cells.map((cell, column) => {
      const text = read[row]![column] ?? "";
      const isEqual = NUMBERS.has(header[column]!) && isNumber(cell) && isNumber(text) &&
        Number(cell) === Number(text);
      return isEqual ? changes(cell) : text;
    });
    assertEquals(found, cells.map(changes), `row ${row}`);
  }
}

for (const [reader, { command, changes }] of Object.entries(READERS)) {
  for (const [name, query] of Object.entries(QUERIES)) {
    const title = `${reader} reads the cells of CSV from a workbook when the rows are ${name}`;
    testNeeding(
      { [reader]: has[reader] },
      title,
      () =>
        withWorkbook(query, async (file, folder, csv) => {
          const result = await runProgram(...command(file, folder));
          assert(result?.success, result?.stderr);
          assertSame(readCsv(result.stdout), csv, changes);
        }),
    );
  }
}

const hasLibreOffice = (await runProgram("soffice", "--version"))?.success;

/** Converts a workbook to CSV as LibreOffice shows it in a locale. */
async function inLibreOffice(file: string, folder: string, locale: string): Promise<string[][]> {
  const profile = `${folder}/profile-${locale}`;
  await Deno.mkdir(`${profile}/user`, { recursive: true });
  await Deno.writeTextFile(
    `${profile}/user/registrymodifications.xcu`,
    `<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">
    <item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>${locale}</value></prop></item>
    </oor:items>`,
  );
  // Separator, quote, UTF-8, first line, formats, language, quotes on all texts, as shown.
  const filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true";
  const args = ["--headless", `-env:UserInstallation=file://${profile}`, "--convert-to", filter];
  const options = { env: { HOME: folder } };
  const result = await runProgramWith(options, "soffice", ...args, "--outdir", folder, file);
  assert(result?.success, result?.stderr);
  return parse(await Deno.readTextFile(`${folder}/rows.csv`));
}

for (const [locale, point] of [["en-CA", "."], ["fr-CA", ","]] as const) {
  for (const [name, query] of Object.entries(QUERIES)) {
    const title = `LibreOffice in ${locale} shows the digits of CSV when the rows are ${name}`;
    testNeeding(
      { LibreOffice: hasLibreOffice },
      title,
      () =>
        withWorkbook(query, async (file, folder, csv) => {
          const read = await inLibreOffice(file, folder, locale);
          const [header = []] = csv;
          const toShown = (cell: string, column: number) => {
            const isBoolean = header[column] === "is_quality_control";
            if (isBoolean) {
              return (locale === "en-CA" ? cell : cell === "true" ? "vrai" : "faux").toUpperCase();
            }
            return cell.replace("\r\n", "\n");
          };
          assertEquals(read.length, csv.length);
          for (const [row, cells] of csv.entries()) {
            const found = cells.map((cell, column) => {
              const text = read[row]![column] ?? "";
              const shown = text.replace(point, ".");
              const isSame = NUMBERS.has(header[column]!) && isNumber(cell) &&
                (shown === cell || isUnformatted(cell, shown));
              return isSame ? cell : text;
            });
            const expected = row === 0 ? cells : cells.map(toShown);
            assertEquals(found, expected, `row ${row}`);
          }
        }),
    );
  }
}

/** A number with an exponent has no format of its own. */
function isUnformatted(cell: string, shown: string): boolean {
  return /e/i.test(cell) && Number(cell) === Number(shown);
}
