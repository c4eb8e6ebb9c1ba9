// The tables of docs/ list what the code has: commands, flags, options, members, variables, formats and resources.
import { assert, assertEquals, assertMatch } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { ACCESS_MODES, DEFAULT_HOST, DEFAULT_PORT, VARIABLES } from "../../../edge/http/options.ts";
import { DOWNLOAD_PARAMETERS } from "../../../edge/http/parameters.ts";
import { UNAVAILABLE_CAUSES } from "../../../edge/http/problem.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { RETRY_OPTIONS, TIMEOUT_OPTIONS } from "../../../src/client/options.ts";
import { type Assumption, ASSUMPTIONS } from "../../../src/sandbox/assumptions.ts";
import { FORMATS } from "../../../src/formats/formats.ts";
import { RESOURCE_NAMES, RESOURCES } from "../../../src/odata/resources.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";
import { DOCUMENTS } from "../../helpers/documents.ts";
import { PROJECT, sourceFiles } from "../../helpers/project.ts";
import { publicSymbols } from "../../package/public_symbols.ts";

const pageOf = (name: string) => DOCUMENTS.get(`docs/${name}.md`)!;
const textOf = (cell = "") => cell.replaceAll("`", "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");

/** Returns what each match of an expression captures in the code of folders. */
async function capturesIn(expression: RegExp, folder: string): Promise<string[]> {
  return (await sourceFiles(folder)).flatMap((path) => {
    const matches = Deno.readTextFileSync(PROJECT + path).matchAll(expression);
    return [...matches].map(([, ...groups]) => groups.find(Boolean)!);
  });
}

const symbols = new Map<string, Awaited<ReturnType<typeof publicSymbols>>>();
for (const entry of [".", "./endpoint", "./sandbox"] as const) {
  symbols.set(entry, await publicSymbols(deno.exports[entry]));
}

/** Returns the names of the members of interfaces and classes, without inherited ones. */
function membersOf(types: string, except: string[] = [], entry = ".", prefix = ""): string[] {
  return types.split(" ").flatMap((type) => {
    const { declarations = [] } = symbols.get(entry)!.find(({ name }) => name === type) ?? {};
    const members = declarations.flatMap(({ def }) => [
      ...def?.properties ?? [],
      ...def?.methods ?? [],
    ]);
    assert(members.length > 0, `${type} has no members`);
    return members.map(({ name }) => name).filter((name) => !except.includes(name))
      .map((name) => prefix + name);
  });
}

const defaultsOf = (prefix: string, rules: Record<string, { default: number }>) =>
  Object.entries(rules).map(([name, rule]) => [`${prefix}.${name}`, undefined, `${rule.default}`]);
const errorKinds = JSON.stringify(
  symbols.get(".")!.find(({ name }) => name === "DataStreamErrorKind")!.declarations[0]!.def,
);

/** Texts that other tests compare with the output. */
const recorded = (name: string) => Deno.readTextFile(`${PROJECT}tests/fixtures/${name}.txt`);

const operandOf = (name = "") => name.includes("|") ? "RESOURCE" : name;

/**
 * Rows by page, heading and first header of the table: the cell of the first column, or those of several. A cell that is
 * `undefined` is not compared.
 */
const TABLES: Record<string, readonly (string | readonly (string | undefined)[])[]> = {
  "cli | Commands | command": Object.entries(COMMANDS).map(([name, { operand }]) =>
    `${name} ${operandOf(operand?.name)}`.trim()
  ),
  "cli | Exit codes | code": /^Exit codes: (.*)\.$/m.exec(await recorded("transcripts/help"))![1]!
    .split(", ").map((code) => code.split(" ")[0]!),
  "edge | Formats | format": Object.entries(FORMATS).map(([name, { mediaType }]) => [
    name,
    `.${name}`,
    mediaType,
  ]),
  "edge | URL parameters | parameter": [...DOWNLOAD_PARAMETERS],
  // The status of a problem, and a key of the titles of problems.
  "edge | Errors | status": await capturesIn(
    /^ *(?:.*\bstatus: )?(4\d\d|50\d)(?:,|: ")/gm,
    "edge",
  ),
  "deploying | Metrics | cause of 503": UNAVAILABLE_CAUSES,
  "deploying | Access modes | WEIR_ACCESS": [...ACCESS_MODES],
  "deploying | Environment variables | variable": VARIABLES.map((
    { variable, help, defaultText },
  ) => [variable, help, defaultText]),
  "architecture | Dependencies | package": Object.keys(deno.imports).map((name) =>
    /^(@[^/]+\/)?[^/]+/.exec(name)![0]
  ),
  "assumptions | Checks | check": Object.entries<Assumption>(ASSUMPTIONS).map((
    [check, { text, source, otherwise, isHandled }],
  ) => [check, textOf(text), source, textOf(otherwise), isHandled ? "yes" : "no"]),
  "client | Resources | method": RESOURCE_NAMES.map((name) => [
    `client.${name.toLowerCase()}()`,
    undefined,
    String(Object.keys(RESOURCES[name].fields).length),
    String(RESOURCES[name].pageSize),
  ]),
  "client | Query options | option": membersOf("QueryOptions AnyResourceQuery"),
  "client | Query results | member": membersOf(
    "Query LocationsQuery",
    ["[Symbol.asyncIterator]"],
    ".",
    "query.",
  ),
  "client | Client options | option": membersOf("DataStreamOptions"),
  "client | CSV options | option": membersOf("CsvOptions"),
  "client | Citations | option": membersOf("CitationOptions"),
  "client | Resuming a query | option": membersOf("BatchOptions"),
  "client | The sandbox | option": membersOf("SandboxOptions", [], "./sandbox"),
  "client | The sandbox | member": membersOf("Sandbox", [], "./sandbox", "sandbox."),
  "endpoint | Options | option": [
    ...membersOf("EndpointOptions", ["mediaType"], "./endpoint"),
    ...membersOf("MediaType", [], "./endpoint", "mediaType."),
  ],
  "errors-and-limits | Properties of `ValidationError` | property": membersOf(
    "ValidationError",
    ["name"],
  ),
  "errors-and-limits | Properties of `DataStreamError` | property": membersOf(
    "DataStreamError",
    ["name", "cause"],
  ),
  "errors-and-limits | Kinds of `DataStreamError` | kind": [
    ...errorKinds.matchAll(/"repr":"([\w-]+)"/g),
  ].map(([, kind]) => kind!),
  "errors-and-limits | Retries | option": [
    ...defaultsOf("retry", RETRY_OPTIONS),
    ...defaultsOf("timeouts", TIMEOUT_OPTIONS),
  ],
};

for (const [table, expected] of Object.entries(TABLES)) {
  const [page, heading, header] = table.split(" | ") as [string, string, string];
  Deno.test(`docs/${page}.md lists each ${header} of the code under "${heading}"`, () => {
    const rows = expected.map((row) => typeof row === "string" ? [row] : row);
    const listed = readTable(sectionOf(pageOf(page), heading), header)
      .map((row) => rows[0]!.map((cell, column) => cell && textOf(row[column])))
      // The tables of members have calls, loops, functions, rows for all other keys, and inherited members.
      .map(([name, ...cells]) => [
        /^(?:query|sandbox|mediaType)\.\w+/.exec(name!)?.[0] ?? name,
        ...cells,
      ])
      .filter(([name]) => !/^(for await|any other|toParquet|toXlsx|cause)/.test(name!));
    const unique = (rows: readonly (readonly (string | undefined)[])[]) =>
      [...new Set(rows.map((row) => row.join(" | ")))].sort();
    assertEquals(unique(listed), unique(rows));
  });
}

const FLAGS = Object.assign(
  {},
  ...Object.values(COMMANDS).map(({ flags }) => flags),
) as typeof COMMANDS[string]["flags"];

Deno.test("docs/cli.md names each flag, and its tables have the letters and values of the flags", () => {
  const unnamed = Object.keys(FLAGS).filter((name) => !["help", "version"].includes(name))
    .filter((name) => !new RegExp(`[^-]--${name}\\b(?!-)`).test(pageOf("cli")));
  assertEquals(unnamed, []);
  const listed = ["Filters", "Flags", "Server"].flatMap((section) =>
    readTable(sectionOf(pageOf("cli"), section), "flag").map(([cell]) => textOf(cell))
  );
  const forms = Object.entries(FLAGS).map(([name, { letter, value }]) =>
    `${letter ? `-${letter}, ` : ""}--${name}${value ? ` ${value}` : ""}`
  );
  assertEquals(listed.filter((flag) => !forms.includes(flag)), []);
});

Deno.test("docs/cli.md lists each environment variable that the command line reads", async () => {
  const reads = /\benvironment(?:IfAllowed)?\("([A-Z_]+)"\)|\benv\.([A-Z_]+)/g;
  // The others are read through a condition, and by the runtime.
  const names = new Set(["HOME", "NO_PROXY", ...await capturesIn(reads, "src/cli")]);
  const rows = readTable(sectionOf(pageOf("cli"), "Environment variables"), "variable");
  const listed = rows.flatMap(([cell]) => textOf(cell).split(", "));
  assertEquals(listed.sort(), [...names].sort());
});

Deno.test("weir serve --help and docs/cli.md have the defaults of the server", () => {
  for (const [flag, value] of [["host", DEFAULT_HOST], ["port", DEFAULT_PORT]] as const) {
    const row = readTable(sectionOf(pageOf("cli"), "Server"), "flag")
      .find(([name]) => name!.includes(`--${flag} `));
    for (const text of [COMMANDS.serve!.flags[flag]!.help, textOf(row?.[1])]) {
      assertMatch(text, new RegExp(`else ${value}(?!\\d)`));
    }
  }
});

Deno.test("docs/deploying.md shows a log line with the members of the server's", async () => {
  const membersOf = (line = "") => Object.keys(JSON.parse(line));
  const line = (await recorded("edge/log")).split("\n").find((line) =>
    line.startsWith("{") && line.includes('"outcome":"complete"')
  );
  const [, example] = /```json\n(.*)\n```/.exec(sectionOf(pageOf("deploying"), "Log"))!;
  assertEquals(membersOf(example), membersOf(line));
});

Deno.test("docs/deploying.md names only metrics that the server has", async () => {
  const names = (await recorded("edge/metrics")).match(/(?<=^# TYPE )\S+/gm)!;
  const known = names.flatMap((name) => [name, ...["sum", "count"].map((end) => `${name}_${end}`)]);
  const named = new Set(pageOf("deploying").match(/\b(weir|process)_[a-z_]+/g));
  assertEquals([...named].filter((name) => !known.includes(name)), []);
});
