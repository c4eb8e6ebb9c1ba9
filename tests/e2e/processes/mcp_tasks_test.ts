// What an assistant does with `weir mcp`: each task ends with an answer that helps, in at most 8 kB. The table of calls,
// bytes and results is recorded in tests/fixtures/mcp_tasks.txt.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { MAX_ANSWER } from "../../../src/cli/mcp_answer.ts";
import { KEY, withService } from "../../helpers/mcp.ts";

type Call = readonly [tool: string, args: Record<string, unknown>];

const TP = "Total Phosphorus, mixed forms";

/** The expression finds the important part of the last answer. */
const TASKS: readonly (readonly [name: string, result: RegExp, ...calls: Call[]])[] = [
  [
    "three misspelt names",
    /"unmatched":\[[^\]]*Nitrate[^\]]*mixed forms[^\]]*pH[^\]]*/,
    ["summary", { by: "characteristic", characteristic: ["Nitrates", "Total phosphorous", "Ph"] }],
  ],
  [
    "their names, and a summary",
    /"groups":3/,
    ["find_values", { field: "characteristic", search: "nitrats" }],
    ["find_values", { field: "characteristic", search: "total phosphorous" }],
    ["find_values", { field: "characteristic", search: "ph" }],
    ["summary", { by: "characteristic", characteristic: ["Nitrate", TP, "pH"] }],
  ],
  ["a synonym", /\["Total Phosphorus, mixed forms"\]/, [
    "find_values",
    { field: "characteristic", search: "TP" },
  ]],
  ["a region in French", /\["admin\.4\.ca\.pe","Prince Edward Island"\]/, [
    "find_values",
    { field: "region", search: "prince edward" },
  ]],
  ["a location by name", /"columns":.*1176/, [
    "find_values",
    { field: "location", search: "laberge" },
  ]],
  ["a box", /"locations":\d+/, ["find_locations", { bbox: "-64.5,45.9,-62,47.1" }]],
  ["a box as a list of numbers", /"locations":\d+/, [
    "find_locations",
    { bbox: [-64.5, 45.9, -62, 47.1] },
  ]],
  ["a box with south and west exchanged", /"unmatched":\["No row is inside[^\]]*/, [
    "find_locations",
    { bbox: "45.9,-64.5,47.1,-62" },
  ]],
  ["lakes, with a filter", /"MonitoringLocationType":"Lake\/Pond"/, [
    "find_locations",
    { filter: "MonitoringLocationType eq 'Lake/Pond'" },
  ]],
  ["an invented field", /"error":.*LatitudeE7.*did you mean.*/, [
    "find_locations",
    { filter: "LatitudeE7 gt 459000000" },
  ]],
  ["an invented argument", /"error":"Unknown argument.*/, ["preview", { orderby: "ResultValue" }]],
  ["non-detects: how many", /"left",.*\["?[^\]]*/, [
    "summary",
    { by: "year", characteristic: [TP], from: 2020 },
  ]],
  ["non-detects: what they look like", /\["Not Detected"[^\]]*/, [
    "preview",
    { characteristic: "Escherichia coli", limit: 50, select: ["ResultDetectionCondition"] },
  ]],
  ["units of all characteristics", /"mg\/kg"/, ["summary", { by: "characteristic", yes: true }]],
  ["the same unit for all rows", /"unit":"ug\/L"/, [
    "preview",
    { characteristic: ["Nitrate"], unit: ["Nitrate=ug/L"], limit: 5 },
  ]],
  ["days of May", /"rows_of_whole_years":\d+/, ["preview", {
    characteristic: ["pH"],
    from: "2019-05-01",
    to: "2019-05-31",
  }]],
  ["50 wide rows, which do not fit", /"left_out":\{"rows":\d+\}/, ["preview", { limit: 500 }]],
  ["citations", /"datasets":5/, ["cite", {}]],
  ["citations for LaTeX", /@misc\{/, ["cite", { characteristic: ["pH"], format: "bibtex" }]],
  ["a file", /"rows":1\d\d\d\d,"bytes":\d+,"hash":"sha256:\w+"/, [
    "download",
    { file: "ph.csv", characteristic: ["pH"], tidy: true },
  ]],
  ["the same file again", /"rows":1\d\d\d\d,"bytes":\d+,"hash":"sha256:\w+"/, [
    "download",
    { file: "ph.csv", characteristic: ["pH"], tidy: true },
  ]],
  ["a map", /"how_to_read":"geopandas[^,]*/, [
    "download",
    { file: "lakes.geojson", resource: "locations" },
  ]],
  ["a download that is too large", /"error":"Not read: pass yes[^"]*/, [
    "download",
    { file: "all.csv" },
  ]],
  ["the key in a wrong place", /"error":"An argument has the API key.*/, [
    "preview",
    { filter: `DOI eq '${KEY}'` },
  ]],
];

Deno.test("an assistant finishes 24 tasks, each answer has at most 8 kB, and the table is as recorded", async () => {
  let table = "";
  await withService([], async ({ call }, folder) => {
    const path = await Deno.realPath(folder);
    for (const [name, result, ...calls] of TASKS) {
      let [bytes, text] = [0, ""];
      for (const [tool, args] of calls) {
        const answer = await call(tool, args);
        assert(answer.bytes <= MAX_ANSWER, `${name}: ${answer.bytes} bytes`);
        text = answer.text;
        bytes += answer.bytes - path.length * (text.split(path).length - 1);
      }
      assertMatch(text, result, name);
      const [found] = result.exec(text)!;
      const tools = calls.map(([tool]) => tool).join(", ");
      table += `${name} | ${tools} | ${bytes} B | ${found.replaceAll(path, "DIR").slice(0, 200)}\n`;
    }
  }, { records: 150_000 });
  const file = new URL("../../fixtures/mcp_tasks.txt", import.meta.url);
  if (Deno.args.includes("--update")) await Deno.writeTextFile(file, table);
  assertEquals(table, await Deno.readTextFile(file), "if the change is intended: -- --update");
});
