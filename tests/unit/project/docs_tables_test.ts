// The tables of docs/ list the commands, flags, variables and formats of the code.
import { assertEquals, assertStringIncludes } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { createApp } from "../../../edge/app.ts";
import { sandboxOptions } from "../../../edge/config.ts";
import { ACCESS_MODES, DEFAULT_HOST, DEFAULT_PORT, VARIABLES } from "../../../edge/options.ts";
import { DOWNLOAD_PARAMETERS } from "../../../edge/downloads/parameters.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { FILTER_FLAGS } from "../../../src/cli/flags.ts";
import { FORMATS } from "../../../src/formats/formats.ts";
import { RESOURCE_NAMES } from "../../../src/odata/resources.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";
import { filesIn, PROJECT } from "../../helpers/project.ts";
import { weir } from "../../helpers/run_weir.ts";

const pages: Record<string, string> = {};
for (const name of ["cli", "edge", "deploying", "architecture", "client"]) {
  pages[name] = await Deno.readTextFile(`${PROJECT}docs/${name}.md`);
}

Deno.test("docs/cli.md lists each command with its operand", () => {
  assertEquals(
    firstCells("cli", "Commands", "command"),
    Object.entries(COMMANDS).map(([name, { operand }]) => {
      if (operand === undefined) return name;
      return `${name} ${operand.name.includes("|") ? "RESOURCE" : operand.name}`;
    }),
  );
});

const FLAGS = Object.assign(
  {},
  ...Object.values(COMMANDS).map(({ flags }) => flags),
) as typeof COMMANDS[string]["flags"];

Deno.test("docs/cli.md names each flag, and its tables have the letters and values of the flags", () => {
  const unnamed = Object.keys(FLAGS).filter((name) => !["help", "version"].includes(name))
    .filter((name) => !new RegExp(`[^-]--${name}\\b(?!-)`).test(pages.cli!));
  assertEquals(unnamed, []);
  const listed = ["Filters", "Flags", "Server"].flatMap((section) =>
    firstCells("cli", section, "flag")
  );
  const forms = Object.entries(FLAGS).map(([name, { letter, value }]) =>
    `${letter ? `-${letter}, ` : ""}--${name}${value ? ` ${value}` : ""}`
  );
  assertEquals(listed.filter((flag) => !forms.includes(flag)), []);
});

Deno.test("docs/cli.md says which commands have the flags that select rows", () => {
  const commandsWith = (flag: string) =>
    Object.keys(COMMANDS).filter((name) => Object.hasOwn(COMMANDS[name]!.flags, flag));
  const downloads = ["records", "observations", "locations", "metadata"];
  const filters = sectionOf(pages.cli!, "Filters");
  assertStringIncludes(filters, "`cite`, `values`, `summary` and `url` have them too.");
  for (const flag of Object.keys(FILTER_FLAGS)) {
    assertEquals(commandsWith(flag), [...downloads, "cite", "values", "summary", "url"], flag);
  }
});

Deno.test("weir serve --help and docs/cli.md have the access modes and defaults of the server", () => {
  const { host, port, access } = COMMANDS.serve!.flags;
  assertEquals(access!.choices, ACCESS_MODES);
  assertStringIncludes(host!.help, `else ${DEFAULT_HOST})`);
  assertStringIncludes(port!.help, `else ${DEFAULT_PORT})`);
  const [hostRow, portRow, accessRow] = rowsOf("cli", "Server", "flag").map(([, text]) => text!);
  assertStringIncludes(hostRow!, `else \`${DEFAULT_HOST}\``);
  assertStringIncludes(portRow!, `else ${DEFAULT_PORT};`);
  const modes = [...accessRow!.matchAll(/`(\w+)`/g)].map(([, mode]) => mode);
  assertEquals(modes, [...ACCESS_MODES]);
});

Deno.test("docs/cli.md lists the exit codes of the help", async () => {
  const { output } = await weir(["--help"]);
  const [, codes] = /^Exit codes: (.*)\.$/m.exec(output)!;
  assertEquals(
    firstCells("cli", "Exit codes", "code"),
    codes!.split(", ").map((code) => code.split(" ")[0]),
  );
});

Deno.test("docs/cli.md lists each environment variable that the command line reads", async () => {
  const names = new Set(["HOME", "NO_PROXY"]); // read through a condition, and by the runtime
  for await (const file of filesIn("src/cli/")) {
    const code = await Deno.readTextFile(`${PROJECT}src/cli/${file}`);
    const reads = /\benvironment(?:IfAllowed)?\("([A-Z_]+)"\)|\benv\.([A-Z_]+)/g;
    for (const [, name, other] of code.matchAll(reads)) names.add((name ?? other)!);
  }
  assertEquals(
    firstCells("cli", "Environment variables", "variable").flatMap((cell) => cell.split(", "))
      .sort(),
    [...names].sort(),
  );
});

Deno.test("docs/edge.md lists each format with its extension and media type", () => {
  assertEquals(
    rowsOf("edge", "Formats", "format").map((row) => row.slice(0, 3).map(textOf)),
    Object.entries(FORMATS).map(([name, { extension, mediaType }]) => [
      name,
      `.${extension}`,
      mediaType,
    ]),
  );
});

Deno.test("docs/edge.md says which resources have which extensions", () => {
  const extensionsOf = (isForAll: boolean) =>
    Object.values(FORMATS).filter(({ resources }) =>
      (resources.length === RESOURCE_NAMES.length) === isForAll
    ).map(({ extension }) => `\`.${extension}\``);
  const text = sectionOf(pages.edge!, "URLs");
  const [last, ...others] = extensionsOf(true).reverse();
  assertStringIncludes(text, `has the extensions ${others.reverse().join(", ")} and ${last}.`);
  assertStringIncludes(text, `\`Locations\` also has ${extensionsOf(false).join(", ")}.`);
  assertEquals(FORMATS.geojson.resources, ["Locations"]);
});

Deno.test("docs/edge.md lists each URL parameter", () => {
  assertEquals(
    firstCells("edge", "URL parameters", "parameter").sort(),
    [...DOWNLOAD_PARAMETERS].sort(),
  );
});

Deno.test("docs/edge.md lists each status of an error", async () => {
  const statuses = new Set<string>();
  for await (const file of filesIn("edge/")) {
    if (!file.endsWith(".ts")) continue;
    const code = await Deno.readTextFile(`${PROJECT}edge/${file}`);
    // The status of a problem, and a key of the titles of problems.
    for (const [, status] of code.matchAll(/^ *(?:.*\bstatus: )?(4\d\d|50\d)(?:,|: ")/gm)) {
      statuses.add(status!);
    }
  }
  assertEquals(firstCells("edge", "Errors", "status"), [...statuses].sort());
});

Deno.test("docs/deploying.md lists each access mode", () => {
  assertEquals(firstCells("deploying", "Access modes", "`WEIR_ACCESS`"), [...ACCESS_MODES]);
});

Deno.test("docs/deploying.md lists each environment variable with the help and the default of the server", () => {
  const plain = (cell: string | undefined) => textOf(cell).replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  assertEquals(
    rowsOf("deploying", "Environment variables", "variable").map((row) => row.map(plain)),
    VARIABLES.map(({ variable, help, defaultText }) => [variable, help, defaultText]),
  );
});

Deno.test("docs/deploying.md shows a log line with the members of the server's", async () => {
  const lines: string[] = [];
  const app = createApp({
    ...sandboxOptions(),
    logRequests: true,
    logFormat: "json",
    log: (line) => lines.push(line),
  });
  await (await app.request("/Metadata.csv?$select=Id")).text();
  const [, example] = /```json\n(.*)\n```/.exec(sectionOf(pages.deploying!, "Log"))!;
  assertEquals(Object.keys(JSON.parse(example!)), Object.keys(JSON.parse(lines[0]!)));
});

Deno.test("docs/client.md lists each export", () => {
  assertEquals(
    firstCells("client", "Install", "entry"),
    Object.keys(deno.exports).map((name) => `${deno.name}${name.slice(1)}`),
  );
});

Deno.test("docs/architecture.md lists each package that the project imports", () => {
  const packages = Object.keys(deno.imports).map((specifier) =>
    specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")
  );
  assertEquals(
    firstCells("architecture", "Dependencies", "package").sort(),
    [...new Set(packages)].sort(),
  );
});

function rowsOf(page: string, heading: string, header: string): string[][] {
  return readTable(sectionOf(pages[page]!, heading), header);
}

function firstCells(page: string, heading: string, header: string): string[] {
  return rowsOf(page, heading, header).map(([cell]) => textOf(cell));
}

function textOf(cell = ""): string {
  return cell.replaceAll("`", "");
}
