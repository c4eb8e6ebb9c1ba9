// DuckDB, arrow (parquet-wasm) and parquetjs read the cells of CSV from the same rows as Parquet, and DuckDB the points of GeoParquet.
// The unit tests read the files with hyparquet.
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { DataStream, type Query } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { needing } from "../e2e/needs.ts";
import { loadInstalled } from "./installed_package.ts";
import { cellOf, readAll } from "../helpers/parquet.ts";
import { runProgram } from "../helpers/programs.ts";
import { fieldsOf } from "../helpers/resources.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { RecordedRows } from "../bench/recorded_rows.ts";

interface Table {
  names: string[];
  rows: unknown[][];
}

const folder = await Deno.makeTempDir();
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

async function duckdb(query: string): Promise<Table> {
  const program = `const { DuckDBInstance } = require("@duckdb/node-api");
  (async () => {
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    const result = await connection.runAndReadAll(${JSON.stringify(query)});
    const rows = result.getRowsJson();
    const text = JSON.stringify({ names: result.columnNames(), rows });
    for (let at = 0; at < text.length; at += 65536) process.stdout.write(text.slice(at, at + 65536));
  })();`;
  const result = await runProgram("node", "-e", program);
  assert(result?.success, result?.stderr);
  return JSON.parse(result.stdout);
}

const hasDuckdb = (await runProgram("node", "-e", 'require("@duckdb/node-api")'))?.success ?? false;

/** The parts of the packages that the tests use. */
interface ArrowTable {
  schema: { fields: { name: string; type: unknown }[] };
  numRows: number;
  // deno-lint-ignore no-explicit-any
  getChildAt(index: number): { get(row: number): any };
}
interface ParquetJs {
  ParquetReader: {
    openBuffer(bytes: Uint8Array): Promise<{
      getSchema(): { fields: Record<string, unknown> };
      getCursor(): { next(): Promise<Record<string, unknown> | null> };
      close(): Promise<void>;
    }>;
  };
}

const arrow = loadInstalled<{ tableFromIPC(bytes: Uint8Array): ArrowTable }>("apache-arrow");
const wasm = loadInstalled<
  { readParquet(bytes: Uint8Array): { intoIPCStream(): Uint8Array } }
>("parquet-wasm/node");
const parquetjs = loadInstalled<ParquetJs>("@dsnp/parquetjs");

/** Whether each reader is installed. */
const INSTALLED: Record<string, boolean> = {
  "parquet-wasm": arrow !== undefined && wasm !== undefined,
  parquetjs: parquetjs !== undefined,
  DuckDB: hasDuckdb,
};
const READERS: Record<string, (bytes: ArrayBuffer, file: string) => Promise<Table>> = {
  "parquet-wasm": (bytes) => {
    const table = arrow!.tableFromIPC(wasm!.readParquet(new Uint8Array(bytes)).intoIPCStream());
    const names = table.schema.fields.map(({ name }) => name);
    // Arrow has days and times as milliseconds, and lists as vectors.
    const isTime = table.schema.fields.map(({ type }) => /^(Date|Timestamp)/.test(String(type)));
    const columns = names.map((_, index) => table.getChildAt(index));
    const rows = Array.from(
      { length: table.numRows },
      (_, row) =>
        columns.map((column, index) => {
          const value = column.get(row);
          if (value === null) return null;
          return isTime[index]
            ? new Date(Number(value))
            : value.toArray && !value.BYTES_PER_ELEMENT
            ? [...value]
            : value;
        }),
    );
    return Promise.resolve({ names, rows });
  },
  async parquetjs(bytes) {
    const reader = await parquetjs!.ParquetReader.openBuffer(Buffer.from(bytes));
    const names = Object.keys(reader.getSchema().fields);
    const cursor = reader.getCursor();
    // Its lists have the names of the groups in the schema.
    const plain = (value: unknown) =>
      (value as { list?: { element: unknown }[] } | null)?.list?.map(({ element }) => element) ??
        value;
    const rows: unknown[][] = [];
    for (let row; (row = await cursor.next());) rows.push(names.map((name) => plain(row[name])));
    await reader.close();
    return { names, rows };
  },
  async DuckDB(_bytes, file) {
    const { names, rows } = await duckdb(`select * from '${file}'`);
    const time = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/;
    const plain = (value: unknown) => {
      const [, day, clock] = typeof value === "string" ? time.exec(value) ?? [] : [];
      return day ? new Date(`${day}T${clock}Z`) : value;
    };
    // Its names are equal in any case, so it changes the name `ID` of Locations, which has `Id` too.
    return {
      names: names.map((name) => name.replace(/_1$/, "")),
      rows: rows.map((row) => row.map(plain)),
    };
  },
};

/** Values that a reader or a writer can change. */
const VALUES = [
  "null",
  '""',
  '"plain"',
  '" spaces "',
  '"Rivière-aux-Érables, à l’île nº 2"',
  String.raw`"\u00e9 \ud83e\udd86"`,
  '"🦆 𝄞"',
  String.raw`"line\r\nfeed \"quoted\" \\ / \t"`,
  String.raw`"nul \u0000 end"`,
  '"a \ufeff mark"',
  '"2024-02-29"',
  '"-0"',
  `"${"long ".repeat(2_000)}"`,
];
// Two texts of one number, such as 7.10 and 7.1, are two values of a dictionary.
const NUMBERS = [
  "null",
  "0",
  "-0.0",
  "7.10",
  "7.1",
  "1e-7",
  "-12345678901234567.890",
  "0.1",
  '"3.25"',
  "1.7976931348623157e308",
  "5e-324",
];
const DATES = ["1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "2024-02-29"];
const LISTS = ["null", '["a","b; c"]', '"text"', '["é"]', '[""]'];

const pick = (values: readonly string[], index: number) => values[index % values.length];

function pageOf(length: number, row: (index: number) => string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(
    `{"value":[${Array.from({ length }, (_, at) => row(at)).join()}]}`,
  );
}

const unusualPage = pageOf(130, (index) => {
  const [name, comment] = [pick(VALUES, index), pick(VALUES, index * 3 + 1)];
  const date = pick(["null", ...DATES.map((date) => `"${date}"`)], index);
  return `{"Id":${index + 1},"LaboratoryName":${name},"ResultComment":${comment},` +
    `"ResultValue":${pick(NUMBERS, index)},"ActivityStartDate":${date},"LaboratorySampleID":null}`;
});
const listPage = pageOf(
  10,
  (index) =>
    `{"Id":"00000000-0000-4000-8000-00000000000${index}","Keywords":${pick(LISTS, index)}}`,
);

const { apiKey, url, fetch } = createSandbox({
  hostileNames: true,
  records: 3_000,
  requestsPerSecond: Infinity,
});
const sandbox = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });

function clientOf(respond: (request: Request) => Response): DataStream {
  return new DataStream({
    baseUrl: "https://service.example/v1/odata/v4",
    requestsPerSecond: Infinity,
    fetch: (request: Request) => Promise.resolve(respond(request)),
  });
}

const onePage = (page: Uint8Array<ArrayBuffer>) =>
  clientOf(() => new Response(page, { headers: { "content-type": "application/json" } }));

const many = await RecordedRows.create(60_000);
const manyRows = clientOf((request) => many.respond(request)!);

const QUERIES: Record<string, Query<unknown>> = {
  "Records, tidy": sandbox.records().tidy(),
  Observations: sandbox.observations(),
  Locations: sandbox.locations(),
  Metadata: sandbox.metadata(),
  "unusual values": onePage(unusualPage).records({
    select: "Id,LaboratoryName,ResultComment,ResultValue,ActivityStartDate,LaboratorySampleID",
  }),
  lists: onePage(listPage).metadata({ select: ["Id", "Keywords"] }),
  "no rows": onePage(pageOf(0, String)).records(),
  "60,000 records in two row groups": manyRows.records({
    select: fieldsOf("Records").filter((_, index) => index % 4 === 0),
  }),
};

for (const [name, query] of Object.entries(QUERIES)) {
  const csv = await new Response(query.csv()).text();
  const [header = [], ...lines] = readCsv(csv);
  const bytes = await readAll(toParquet(query));
  const file = `${folder}/${name.replace(/\W/g, "_")}.parquet`;
  await Deno.writeFile(file, new Uint8Array(bytes));
  for (const [reader, read] of Object.entries(READERS)) {
    const title = `${reader} reads the cells of CSV from Parquet when the rows are ${name}`;
    Deno.test(needing({ [reader]: INSTALLED[reader] }, title, async () => {
      const { names, rows } = await read(bytes, file);
      assertEquals(names.filter((column) => column !== "geometry"), header);
      assertEquals([rows.length, lines.length > 0], [lines.length, name !== "no rows"]);
      for (const [at, line] of lines.entries()) {
        assertEquals(line.map((cell, index) => cellOf(rows[at]![index], cell)), line);
      }
    }));
  }
}

Deno.test(
  needing(
    { DuckDB: hasDuckdb },
    "DuckDB reads points of WGS 84 when the rows are locations",
    async () => {
      const query = sandbox.locations();
      const file = `${folder}/points.parquet`;
      await Deno.writeFile(file, new Uint8Array(await readAll(toParquet(query))));
      const points = (await query.toArray()).map((row) =>
        row.HorizontalCoordinateReferenceSystem === "WGS84" ? [row.Longitude, row.Latitude] : null
      );
      assert(points.includes(null) && points.length > 50);
      const { rows } = await duckdb(`select typeof(geometry), geometry::varchar from '${file}'`);
      const pointOf = (text: unknown) =>
        typeof text === "string"
          ? /^POINT \((\S+) (\S+)\)$/.exec(text)!.slice(1).map(Number)
          : null;
      const read = rows.map(([type, text]) => [type, pointOf(text)]);
      assertEquals(read, points.map((point) => ["GEOMETRY('OGC:CRS84')", point]));
    },
  ),
);
