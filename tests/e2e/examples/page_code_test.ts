// The code of the page and the documents gives the rows of the server, cell by cell: identifiers such as 007 and 7, a text
// among numbers, NA as a text, quotes and line breaks. Also with a token, which it reads from the environment.
import { assert, assertEquals } from "@std/assert";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { CREDENTIALS } from "../../../edge/http/access.ts";
import { createCode, type SnippetId } from "../../../src/formats/code_snippets.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgramWith } from "../../helpers/programs.ts";
import { FOLDER, testWithFiles } from "../command_line.ts";
import {
  hasDuckdb,
  hasPandas2,
  hasPolars,
  hasR,
  hasRPackage,
  hasSystemPandas,
  python,
  SYSTEM_PYTHON,
} from "./interpreters.ts";

const RECORDS = 3_000;
/** The only text of a column of numbers is where programs that guess types do not look. */
const RARE_ROW = 1_777;

/** Values of a field, one after another. */
const ODD_VALUES: Record<string, unknown[]> = {
  MonitoringLocationID: ["007", "7"],
  LaboratorySampleID: ["007", "7", "1E5", "0x1A", "NA", null, "TRUE", "2-3", "1_000", "1e400"],
  DatasetName: ["2019"],
  LaboratoryName: [null],
  ResultUnit: ["None", "µg/L", "é", null, "NA", "nan"],
  ResultComment: [
    ...["NA", "N/A", "null", "None", "nan", "inf", "-", "T", "F", "#", "\\", "\\N", "=1+1", "2024"],
    ...['say "ah", "oh"', '"', '""', "a,b;c\td", "'single'", " with spaces ", "\u00a0", null],
    ...["line\nfeed", "carriage\rreturn", "both\r\nof them", "\n", "Rivière-aux-Érables 🦆"],
  ],
  ResultValue: [0.1, 1e-7, -12345.678901234567, 7.38, null, 1e300, 0.30000000000000004, 12],
};

function replaceValues(row: Record<string, unknown>): Record<string, unknown> {
  const number = Number(row.Id);
  const odd = Object.entries(ODD_VALUES).map(([field, values]) =>
    [field, values[number % values.length]] as const
  );
  const method = number % RECORDS === RARE_ROW ? "Not Detected" : String(number);
  const all = { ...Object.fromEntries(odd), ResultAnalyticalMethodID: method };
  return Object.fromEntries(
    Object.entries(row).map((
      [field, value],
    ) => [field, field in all ? all[field as keyof typeof all] : value]),
  );
}

/** Serves the sandbox with odd values. */
function serve(options: Pick<AppOptions, "access" | "tokens">): Deno.HttpServer<Deno.NetAddr> {
  const sandbox = createSandbox({ records: RECORDS, requestsPerSecond: Infinity });
  const fetch: AppOptions["fetch"] = async (request) => {
    const response = await sandbox.fetch(request);
    if (!/\/(?:Records|Observations)\b/.test(request.url) || response.status !== 200) {
      return response;
    }
    const { value, ...envelope } = await response.json();
    const rows = Array.isArray(value) ? value.map(replaceValues) : value;
    return Response.json({ ...envelope, value: rows }, { headers: { "odata-version": "4.0" } });
  };
  const { apiKey, url: baseUrl } = sandbox;
  const app = createApp({
    apiKey,
    baseUrl,
    fetch,
    requestsPerSecond: Infinity,
    log() {},
    ...options,
  });
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
}

/** Tables by their name in the code. A line of `blanks` can be empty, which programs skip. */
const TABLES: Record<string, string> = {
  records: "/Records.csv",
  tidy: "/Observations.csv?$select=Id,ActivityStartDate,ResultComment&tidy=true",
  blanks: "/Records.csv?$select=ResultValue",
  texts: "/Records.csv?$select=LaboratorySampleID,ResultComment",
};

/** A cell: `-` is a missing value; `t` precedes the UTF-8 bytes of a text, `n` a number, `b` a boolean. */
function toCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return `t${new TextEncoder().encode(value).toHex()}`;
  return typeof value === "boolean" ? `b${Number(value)}` : `n${value}`;
}

/** Each prints, for each table, a line with the names of its columns, and one for each row. */
const PRINTERS = {
  r: `
    cell <- function(x) ifelse(is.na(x), "-", if (is.numeric(x)) sprintf("n%.17g", x)
      else if (is.logical(x)) paste0("b", as.integer(x))
      else paste0("t", vapply(x, function(text) paste(charToRaw(text), collapse = ""), "")))
    for (table in list(TABLES)) {
      writeLines(paste(c("table", names(table)), collapse = " "))
      writeLines(do.call(paste, unname(lapply(table, cell))))
    }`,
  python: `
def cell(value):
    if value is None or value != value: return "-"
    if isinstance(value, str): return "t" + value.encode().hex()
    return f"b{int(value)}" if isinstance(value, bool) else f"n{value!r}"
for table in [TABLES]:
    print("table", *table.columns)
    rows = table.iter_rows() if hasattr(table, "iter_rows") else table.astype(object).values.tolist()
    for row in rows: print(*map(cell, row))`,
};

/** Runs SQL, after the Parquet files of its URLs are in the folder, because the extension httpfs is not installed. */
const RUN_SQL = `
const { DuckDBInstance } = require("@duckdb/node-api");
const { writeFileSync } = require("node:fs");
(async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const cell = (value, type) => value === null ? "-" : typeof value === "string"
    ? "t" + Buffer.from(value).toString("hex")
    : typeof value === "boolean" ? "b" + Number(value)
    : value instanceof Date
    ? "t" + Buffer.from(type === "DATE" ? value.toISOString().slice(0, 10)
      : value.toISOString().replace(".000", "")).toString("hex")
    : "n" + value;
  for (const [name, code] of Object.entries(JSON.parse(process.argv[1]))) {
    const sql = code.slice(code.indexOf("CREATE TABLE"));
    const [, url] = /'(http[^']*)'/.exec(sql);
    const headers = { authorization: "Bearer " + process.env.WEIR_TOKEN };
    writeFileSync(name + ".parquet", Buffer.from(await (await fetch(url, { headers })).arrayBuffer()));
    await connection.run(sql.replace(url, name + ".parquet"));
    const result = await connection.runAndReadAll("SELECT * FROM " + name);
    console.log(["table", ...result.columnNames()].join(" "));
    const types = result.columnTypes().map(String);
    for (const row of result.getRowsJS()) console.log(row.map((value, at) => cell(value, types[at])).join(" "));
  }
})();`;

interface Reader {
  id: SnippetId;
  /** Program or package, and whether it is installed. */
  needs: readonly [name: string, isInstalled: boolean];
  /** Program and arguments for the code of each table. */
  run(code: Record<string, string>): [program: string, ...args: string[]];
  /** What it makes of a text. Default: nothing else. */
  changed?(text: string): string;
}

const runR: Reader["run"] = (code) => [
  "Rscript",
  "-e",
  [...Object.values(code), PRINTERS.r.replace("TABLES", Object.keys(code).join())].join("\n"),
];
const runPython = (...command: [string, ...string[]]): Reader["run"] => (code) => [
  ...command,
  "-c",
  [...Object.values(code), PRINTERS.python.replace("TABLES", Object.keys(code).join())].join("\n"),
];

const READERS: readonly Reader[] = [
  {
    id: "r",
    needs: ["R", hasR],
    run: runR,
    // It reads each end of a line as a line feed.
    changed: (text) => text.replace(/\r\n?/g, "\n"),
  },
  { id: "readr", needs: ["readr", await hasRPackage("readr")], run: runR },
  { id: "data.table", needs: ["data.table", await hasRPackage("data.table")], run: runR },
  {
    id: "python",
    needs: ["pandas of the system", hasSystemPandas],
    run: runPython(...SYSTEM_PYTHON),
  },
  { id: "python", needs: ["pandas 2 or later", hasPandas2], run: runPython(python ?? "python3") },
  { id: "polars", needs: ["Polars for Python", hasPolars], run: runPython(python ?? "python3") },
  {
    id: "duckdb",
    needs: ["DuckDB", hasDuckdb],
    run: (code) => ["node", "-e", RUN_SQL, JSON.stringify(code)],
  },
];

for (const { id, needs: [needed, isInstalled], run, changed = String } of READERS) {
  for (const access of ["public", "token"] as const) {
    const title =
      `the code of the page for ${needed} gives the cells of the server, with ${access} access`;
    testWithFiles(title, async () => {
      const token = "a-token-of-thirty-two-bytes-or-more";
      await using server = serve({ access, ...(access === "token" && { tokens: [token] }) });
      const root = `http://127.0.0.1:${server.addr.port}`;
      const code = Object.entries(TABLES).map(([name, path]) => {
        const url = root + (id === "duckdb" ? path.replace(".csv", ".parquet") : path);
        return [name, createCode(id, url, name, CREDENTIALS[access])] as const;
      });
      const env = { WEIR_TOKEN: token, LC_ALL: "C.UTF-8" };
      const [program, ...args] = run(Object.fromEntries(code));
      const ran = await runProgramWith({ cwd: FOLDER, env }, program, ...args);
      assert(ran?.success, `${ran?.stderr}\n${code.map(([, text]) => text).join("\n")}`);

      const tables = ran.stdout.split(/^table /m).slice(1);
      assertEquals(tables.length, code.length);
      for (const [index, path] of Object.values(TABLES).entries()) {
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(root + path.replace(".csv", ".ndjson"), { headers });
        const rows: Record<string, unknown>[] = (await response.text()).trim().split("\n")
          .map((line) => JSON.parse(line));
        const [header = "", ...lines] = tables[index]!.trim().split("\n");
        const names = header.split(" ");
        assertEquals(lines.length, RECORDS, path);
        assertEquals(names, Object.keys(rows[0]!));
        for (const [at, line] of lines.entries()) {
          const found = line.split(" ").map((cell) =>
            cell.startsWith("n") ? toCell(Number(cell.slice(1))) : cell
          );
          const wanted = names.map((name) => {
            const value = rows[at]![name];
            return toCell(typeof value === "string" ? changed(value) : value);
          });
          if (found.join() === wanted.join()) continue;
          const first = found.findIndex((cell, column) => cell !== wanted[column]);
          assertEquals(found[first], wanted[first], `${path}, row ${at}: ${names[first]}`);
        }
      }
    }, { [needed]: isInstalled });
  }
}
