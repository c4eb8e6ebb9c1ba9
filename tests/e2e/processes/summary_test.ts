// `weir summary` writes the same groups as CSV, NDJSON, Parquet and a workbook, atomically, and does not replace a file without --force.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { readParquet } from "../../helpers/parquet.ts";
import { readWorkbook, textsOf } from "../../helpers/xlsx.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { weir } from "../../helpers/run_weir.ts";
import { fileNames, FOLDER, readFile, testWithFiles, writeFile } from "../command_line.ts";

const summarize = (...flags: string[]) =>
  weir(["summary", "--sandbox", "--location=1008", ...flags]);

const COUNTS = ["results", "none", "left", "right", "unknown", "missing"];
const LISTS = ["units", "forms", "fractions"];

testWithFiles(
  "weir summary writes the same groups as CSV, NDJSON, Parquet and a workbook",
  async () => {
    for (const by of [[], ["--by=year"], ["--characteristic=nothing"]]) {
      const files = ["csv", "ndjson", "parquet", "xlsx"].map((extension) => `summary.${extension}`);
      for (const file of files) {
        const flags = ["--output", `${FOLDER}/${file}`, "--force", ...by];
        const { code, output, errors } = await summarize(...flags);
        assertEquals([code, output], [0, ""], errors.join());
        const [size] = errors.filter((text) => text.startsWith(`${FOLDER}/${file}: `));
        assertStringIncludes(
          size!,
          by.includes("--characteristic=nothing") ? "0 groups of " : " of ",
        );
      }
      const [csv, ndjson] = [await readFile(files[0]!), await readFile(files[1]!)];
      const [header = [], ...cells] = readCsv(csv);
      const lines = ndjson.split("\n").slice(0, -1).map((line) => JSON.parse(line));
      const { rows, types } = await readParquet(
        (await Deno.readFile(`${FOLDER}/${files[2]}`)).buffer,
      );
      const toCells = (row: Record<string, unknown>) =>
        header.map((name) => [row[name] ?? ""].flat().join("; "));
      assertEquals(lines.map(toCells), cells);
      assertEquals(rows.map(toCells), cells);
      const { sheets } = readWorkbook(await Deno.readFile(`${FOLDER}/${files[3]}`));
      assertEquals(sheets.Data!.map((row) => textsOf(row, header.length)), [header, ...cells]);
      assertEquals(sheets.Data![1]?.[header.indexOf("results")]?.type, rows[0] && "number");
      assertEquals(sheets.Columns!.map(([name]) => name!.value).slice(1), header);
      const integers = [...COUNTS, "location_id"];
      for (const name of header) {
        const type = integers.includes(name) ? "INT64" : LISTS.includes(name) ? "LIST" : "STRING";
        assertEquals(types[name], type, name);
      }
      assertEquals(Object.keys(types), header);
      assertEquals(await fileNames(), files);
    }
  },
);

testWithFiles(
  "weir summary replaces a file only with --force, and leaves it if it fails",
  async () => {
    await writeFile("s.csv", "mine");
    const output = `--output=${FOLDER}/s.csv`;
    const refused = await summarize(output);
    assertEquals([refused.code, await readFile("s.csv")], [1, "mine"]);
    assertStringIncludes(refused.errors[0]!, "s.csv already exists: pass --force to replace it");
    const stopped = AbortSignal.abort();
    const line = ["summary", "--sandbox", "--location=1008", output, "--force"];
    assertEquals((await weir(line, { signal: stopped })).code, 130);
    assertEquals([await readFile("s.csv"), await fileNames()], ["mine", ["s.csv"]]);
    assertEquals((await summarize(output, "--force", "--quiet")).errors, []);
    assertStringIncludes(await readFile("s.csv"), '"results"');
    const messages = {
      [`--output=${FOLDER}/s.geojson`]:
        "GeoJSON is not a format of summaries: use one of csv, ndjson",
      "--force": "--force needs --output FILE",
    };
    for (const [flag, message] of Object.entries(messages)) {
      const { code, errors } = await summarize(flag);
      assertEquals(code, 2);
      assertStringIncludes(errors[0]!, message);
    }
  },
);
