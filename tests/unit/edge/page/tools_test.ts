// Each program gets a file that it reads.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { fileOf } from "./pages.ts";

/** Forms, the path of their file, and the names of its URL's parameters. */
const files: [query: string, path: string, parameters: string][] = [
  ["tool=excel", "/Records.csv", "$select tidy bom escapeFormulas"],
  ["tool=unknown", "/Records.csv", "$select tidy bom escapeFormulas"],
  ["tool=xlsx", "/Records.xlsx", "$select tidy lang"],
  ["tool=r", "/Records.csv", "$select tidy"],
  ["tool=r&tidy=0", "/Records.csv", "$select"],
  ["tool=duckdb&columns=all&tidy=0&tidy=1", "/Records.parquet", "tidy"],
  ["tool=qgis", "/Locations.geojson", ""],
  ["tool=qgis&west=-99&south=48&east=-94&north=55", "/Locations.geojson", "bbox"],
  ["tool=other", "/Records.ndjson", "$select tidy"],
  ["tool=r&file=bibtex", "/Citations.bib", ""],
];
for (const [query, path, parameters] of files) {
  Deno.test(`GET /download returns ${path} when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 3 });
    const { url: { pathname, searchParams } } = await fileOf(app, `characteristic=pH&${query}`);
    const names = [...searchParams.keys()].filter((name) => !/^(\$filter|filename)$/.test(name));
    assertEquals([pathname, names.join(" ")], [path, parameters]);
  });
}
