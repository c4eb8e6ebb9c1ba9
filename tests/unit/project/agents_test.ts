// SKILL.md has the form of an agent skill, is short, and lists the fields and operators of the code. docs/agents.md has
// configurations that start the server, and its tools.
// tests/e2e/examples/code_blocks_test.ts runs its commands and programs.
import { assert, assertEquals, assertMatch } from "@std/assert";
import jsr from "../../../jsr.json" with { type: "json" };
import { FILTER_FIELDS, RESOURCES } from "../../../src/odata/resources.ts";
import { OPERATORS } from "../../../src/odata/parse_filter.ts";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { createTools } from "../../../src/cli/mcp_tools.ts";
import { blocksOf, DOCUMENTS } from "../../helpers/documents.ts";
import { PROJECT } from "../../helpers/project.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";

const SKILL = DOCUMENTS.get("SKILL.md")!;
const { Records, Observations, Locations, Metadata } = RESOURCES;

function generated(): string {
  const [records, observations, locations, metadata] = [Records, Observations, Locations, Metadata]
    .map(({ fields }) => Object.keys(fields)) as [string[], string[], string[], string[]];
  const both = records.filter((name) => observations.includes(name));
  const without = (names: readonly string[], others: readonly string[]) =>
    names.filter((name) => !others.includes(name));
  const filtersOf = (names: readonly string[]) =>
    names.map((name) => `${name} (${FILTER_FIELDS[name as keyof typeof FILTER_FIELDS]})`);
  const common = Records.filters;
  const lists = {
    "Fields of Records and Observations": both,
    "Records also": without(records, both),
    "Observations also": without(observations, both),
    "Fields of Locations": locations,
    "Fields of Metadata": metadata,
    "Filters": filtersOf(common),
    "Filters of Locations also": filtersOf(without(Locations.filters, common)),
    "Filters of Metadata also": filtersOf(without(Metadata.filters, common)),
    "Operators": [...OPERATORS, "endswith(field, 'text')"],
  };
  return Object.entries(lists).map(([title, names]) => `- ${title}: ${names.join(", ")}\n`).join(
    "",
  );
}

Deno.test("SKILL.md lists the fields, filters and operators of the code", async () => {
  assertEquals(Observations.filters, Records.filters);
  const [, before, block, after] =
    /^(.*<!-- begin: [^\n]*-->\n)(.*)(<!-- end -->.*)$/s.exec(SKILL) ?? [];
  if (Deno.args.includes("--update")) {
    return await Deno.writeTextFile(`${PROJECT}SKILL.md`, `${before}\n${generated()}\n${after}`);
  }
  assertEquals(block?.trim(), generated().trim(), "deno task test THIS_FILE -- --update");
});

Deno.test("SKILL.md has the form of an agent skill, and at most 900 words", () => {
  const [, name, description] = /^---\nname: (.*)\ndescription: (.*)\n---\n/.exec(SKILL) ?? [];
  // A skill is named as its folder, here that of the npm package.
  assertEquals(name, jsr.name.split("/")[1]);
  assertMatch(description!, /^[^:<>]{1,1024}$/);
  const words = SKILL.split(/\s+/).length;
  assert(words <= 900, `${words} words`);
});

Deno.test("docs/agents.md has configurations that start the server, its tools, and at most 500 words", () => {
  const page = DOCUMENTS.get("docs/agents.md")!;
  const words = page.split(/\s+/).length;
  assert(words <= 500, `${words} words`);
  const blocks = blocksOf("", page).filter(({ language }) => language === "json");
  assertEquals(blocks.length, 2);
  for (const { code } of blocks) {
    const { mcpServers, servers } = JSON.parse(code);
    const { command, args: [yes, name, ...line] } = (mcpServers ?? servers).weir;
    assertEquals([command, yes, name], ["npx", "-y", jsr.name]);
    assertEquals(parseArguments(line, COMMANDS).command, "mcp");
  }
  const listed = readTable(sectionOf(page, "Tools"), "tool").map(([tool]) => tool);
  assertEquals(listed, Object.keys(createTools(false)).map((tool) => `\`${tool}\``));
});
