// The Python code of the page gives the texts of the file, also in pandas 2 and later, which takes None for missing.
import { assert, assertEquals } from "@std/assert";
import { createCodeSnippets } from "../../../edge/page/code_snippets.ts";
import { csvFromPage } from "../../../mod.ts";
import { runProgramWith } from "../../helpers/programs.ts";
import { testNeeding } from "../needs.ts";
import { hasPandas2, python } from "./interpreters.ts";

const ROWS = [
  [1, "0012", "None", 7.1, "1E5", "007"],
  [2, null, null, null, null, null],
  [3, "B", "mg/L", 0.5, "A", "NA"],
];
const COLUMNS = [
  "Id",
  "MonitoringLocationID",
  "ResultUnit",
  "ResultValue",
  "ResultAnalyticalMethodID",
  "LaboratorySampleID",
];

for (const access of ["public", "token"] as const) {
  const title =
    `the Python code of the page for ${access} access keeps the unit None, and identifiers as text`;
  testNeeding({ "Python with pandas 2 or later": hasPandas2 }, title, async () => {
    const value = ROWS.map((row) => Object.fromEntries(row.map((cell, at) => [COLUMNS[at], cell])));
    const csv = csvFromPage(new TextEncoder().encode(JSON.stringify({ value })));
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      ({ headers }) => {
        const isAllowed = access === "public" || headers.get("authorization") === "Bearer a-token";
        return new Response(csv, { status: isAllowed ? 200 : 401 });
      },
    );
    const url = `http://127.0.0.1:${server.addr.port}/Records.csv`;
    const { code } = createCodeSnippets(access, { csv: url, parquet: url }, "data")
      .find(({ id }) => id === "python")!;
    const program = `${code}\nprint(data.to_json(orient="values"))`;
    const ran = await runProgramWith({ env: { WEIR_TOKEN: "a-token" } }, python!, "-c", program);
    assert(ran?.success, ran?.stderr);
    assertEquals(JSON.parse(ran.stdout), ROWS);
  });
}
