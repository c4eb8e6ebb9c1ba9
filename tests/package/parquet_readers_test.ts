// DuckDB reads the values that CSV has from Parquet, and the points of GeoParquet. The unit tests read the
// files with hyparquet, and the examples with pandas and R.
import { assert, assertEquals } from "@std/assert";
import { testNeeding } from "../e2e/needs.ts";
import { cellOf, clientOf, readAll } from "../helpers/parquet.ts";
import { runProgram } from "../helpers/programs.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { DataStream, type Query } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

const hasDuckdb = (await runProgram("node", "-e", 'require("@duckdb/node-api")'))?.success;

/** Runs SQL in DuckDB, in which TABLE is a Parquet file of the query. Returns the names of the columns, and the rows. */
async function inDuckdb(sql: string, query: Query<unknown>) {
  const file = await Deno.makeTempFile({ suffix: ".parquet" });
  try {
    await Deno.writeFile(file, new Uint8Array(await readAll(toParquet(query))));
    const program = `const { DuckDBInstance } = require("@duckdb/node-api");
    (async () => {
      const connection = await (await DuckDBInstance.create(":memory:")).connect();
      const result = await connection.runAndReadAll(${
      JSON.stringify(sql.replace("TABLE", `'${file}'`))
    });
      const rows = result.getRowsJson();
      const text = JSON.stringify({ names: result.columnNames(), rows });
      for (let at = 0; at < text.length; at += 65536) process.stdout.write(text.slice(at, at + 65536));
    })();`;
    const result = await runProgram("node", "-e", program);
    assert(result?.success, result?.stderr);
    return JSON.parse(result.stdout) as { names: string[]; rows: unknown[][] };
  } finally {
    await Deno.remove(file);
  }
}

/** JSON of values that a reader or a writer can change. */
const VALUES: Record<string, readonly string[]> = {
  LaboratoryName: [
    "null",
    '""',
    '" spaces "',
    '"Rivière-aux-Érables, à l’île nº 2"',
    String.raw`"\u00e9 \ud83e\udd86 𝄞"`,
    String.raw`"line\r\nfeed \"quoted\" \\ / \t"`,
    String.raw`"nul \u0000 end"`,
    '"a \ufeff mark"',
    `"${"long ".repeat(2_000)}"`,
  ],
  // Two texts of one number, such as 7.10 and 7.1, are two values of a dictionary.
  ResultValue: [
    "null",
    "0",
    "-0.0",
    "7.10",
    "7.1",
    "1e-7",
    "-12345678901234567.890",
    '"3.25"',
    "1.7976931348623157e308",
    "5e-324",
  ],
  ActivityStartDate: ["null", '"1970-01-01"', '"1969-12-31"', '"0001-01-01"', '"9999-12-31"'],
  LaboratorySampleID: ["null"],
};
const unusualRows = Array.from({ length: 130 }, (_, index) => {
  const members = Object.entries(VALUES).map(([name, values]) =>
    `,"${name}":${values[index % values.length]}`
  );
  return `{"Id":${index + 1}${members.join("")}}`;
});
const { apiKey, url, fetch } = createSandbox({
  hostileNames: true,
  records: 3_000,
  requestsPerSecond: Infinity,
});
const sandbox = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });

const QUERIES: Record<string, Query<unknown>> = {
  "Records, tidy": sandbox.records({ tidy: true }),
  Locations: sandbox.locations(),
  "unusual values": clientOf(unusualRows).records({
    select: ["Id", ...Object.keys(VALUES)] as ["Id"],
  }),
  Metadata: sandbox.metadata(),
  "no rows": clientOf([]).records(),
};

for (const [name, query] of Object.entries(QUERIES)) {
  const title = `DuckDB reads the cells of CSV from Parquet when the rows are ${name}`;
  testNeeding({ DuckDB: hasDuckdb }, title, async () => {
    const [header = [], ...lines] = readCsv(await new Response(query.csv()).text());
    const { names, rows } = await inDuckdb("select * from TABLE", query);
    // Its names are not case-sensitive: it would change one of `ID` and `Id`.
    assertEquals(names.filter((column) => column !== "geometry"), header);
    assertEquals(rows.length, lines.length);
    assertEquals(lines.length > 0, name !== "no rows");
    const time = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/;
    const toDate = (value: unknown) => {
      const [, day, clock] = typeof value === "string" ? time.exec(value) ?? [] : [];
      return day ? new Date(`${day}T${clock}Z`) : value;
    };
    for (const [at, line] of lines.entries()) {
      // CSV has no NUL.
      const read = (index: number, cell: string) => cellOf(toDate(rows[at]![index]), cell);
      assertEquals(line.map((cell, index) => read(index, cell).replaceAll("\0", "")), line);
    }
  });
}

testNeeding(
  { DuckDB: hasDuckdb },
  "DuckDB reads points when the rows are locations",
  async () => {
    const query = sandbox.locations();
    const points = (await query.toArray()).map((row) => [row.Longitude, row.Latitude]);
    assert(points.length > 50);
    const { rows } = await inDuckdb(
      "select typeof(geometry), geometry::varchar from TABLE",
      query,
    );
    const pointOf = (text: unknown) =>
      typeof text === "string" ? /^POINT \((\S+) (\S+)\)$/.exec(text)!.slice(1).map(Number) : null;
    const read = rows.map(([type, text]) => [type, pointOf(text)]);
    assertEquals(read, points.map((point) => ["GEOMETRY('OGC:CRS84')", point]));
  },
);
