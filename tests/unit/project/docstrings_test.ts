// The docstrings of the public names, which editors show, and the tables of docs/ that list the same names.
import { assert, assertEquals, assertMatch } from "@std/assert";
import maps from "../../../deno.json" with { type: "json" };
import { RETRY_OPTIONS, TIMEOUT_OPTIONS } from "../../../src/client/options.ts";
import { RESOURCES } from "../../../src/odata/resources.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";
import { PROJECT } from "../../helpers/project.ts";
import { moduleDoc, publicSymbols } from "../../package/public_symbols.ts";

for (const [name, entry] of Object.entries(maps.exports)) {
  Deno.test(`each value and interface of options of the export "${name}" has an example`, async () => {
    const documented = (await publicSymbols(entry)).flatMap(({ name, declarations }) =>
      declarations
        .filter(({ kind }) =>
          /^(class|function|variable)$/.test(kind) || (kind === "interface" && isOptions(name))
        )
        .map(({ jsDoc }) => ({ name, tags: jsDoc?.tags?.map(({ kind }) => kind) ?? [] }))
    );
    assertEquals(documented.length > 0, true);
    assertEquals(documented.filter(({ tags }) => !tags.includes("example")), []);
  });
}

function isOptions(name: string): boolean {
  return name.endsWith("Options") && name !== "MergedOptions"; // a result
}

/** Runtimes as the section "Runtimes" of a module names them. */
const RUNTIMES = ["Deno", "Node", "Bun", "browsers", "Cloudflare Workers"];

for (const [name, entry] of Object.entries(maps.exports)) {
  Deno.test(`the module of the export "${name}" documents its purpose, an example and its runtimes`, async () => {
    const doc = await moduleDoc(entry);
    assertMatch(doc, /^[A-Z][^#|`]*\.\s/);
    assertMatch(doc, /^```(ts|sh)\b/m);
    const runtimes = /^## Runtimes\n([^]*?)(?=^## |(?![^]))/m.exec(doc)?.[1] ?? "";
    assert(RUNTIMES.some((runtime) => runtimes.includes(runtime)), runtimes);
  });
}

Deno.test("deno doc --lint checks every entry point in the task doc", () => {
  const paths = maps.tasks.doc.command.split(" ").filter((word) => word.endsWith(".ts"));
  const entries = Object.values(maps.exports).map((path) => path.slice(2));
  assertEquals(paths.sort(), entries.sort());
});

interface Table {
  page: string;
  heading: string;
  /** First header of the table. */
  header: string;
  /** Types whose members the table lists, by the prefix that the members have in the table. */
  types: Record<string, string[]>;
  entry?: string;
  /** Members that the table does not list. */
  except?: string[];
}

const CLIENT = "docs/client.md";
const ERRORS = "docs/errors-and-limits.md";

const TABLES: Table[] = [
  {
    page: CLIENT,
    heading: "Query options",
    header: "option",
    types: { "": ["QueryOptions", "AnyResourceQuery"] },
  },
  {
    page: CLIENT,
    heading: "Query results",
    header: "member",
    types: { "query.": ["Query", "LocationsQuery"] },
    // The table has a loop in the place of the first; the second is a function of another entry.
    except: ["query.[Symbol.asyncIterator]", "toParquet"],
  },
  {
    page: CLIENT,
    heading: "Client options",
    header: "option",
    types: { "": ["DataStreamOptions"] },
  },
  { page: CLIENT, heading: "CSV options", header: "option", types: { "": ["CsvOptions"] } },
  { page: CLIENT, heading: "Citations", header: "option", types: { "": ["CitationOptions"] } },
  { page: CLIENT, heading: "Resuming a query", header: "option", types: { "": ["BatchOptions"] } },
  {
    page: "docs/endpoint.md",
    heading: "Options",
    header: "option",
    types: { "": ["EndpointOptions"], "mediaType.": ["MediaType"] },
    entry: maps.exports["./endpoint"],
    except: ["mediaType"],
  },
  {
    page: CLIENT,
    heading: "The sandbox",
    header: "option",
    types: { "": ["SandboxOptions"] },
    entry: maps.exports["./sandbox"],
  },
  {
    page: CLIENT,
    heading: "The sandbox",
    header: "member",
    types: { "sandbox.": ["Sandbox"] },
    entry: maps.exports["./sandbox"],
  },
  {
    page: ERRORS,
    heading: "Properties of `ValidationError`",
    header: "property",
    types: { "": ["ValidationError"] },
    except: ["name"],
  },
  {
    page: ERRORS,
    heading: "Properties of `DataStreamError`",
    header: "property",
    types: { "": ["DataStreamError"] },
    except: ["name", "cause"], // inherited
  },
];

for (const { page, heading, header, types, entry = maps.exports["."], except = [] } of TABLES) {
  Deno.test(`${page} lists the members of ${Object.values(types).flat().join(", ")} under "${heading}"`, async () => {
    const symbols = await publicSymbols(entry);
    const members = Object.entries(types).flatMap(([prefix, names]) =>
      names.flatMap((name) => membersOf(symbols, name)).map((member) => prefix + member)
    );
    // Skips the rows "any other key" and "for await".
    const listed = readTable(sectionOf(await readPage(page), heading), header)
      .flatMap(([cell]) => /^`([\w.]+)/.exec(cell!)?.[1] ?? [])
      .filter((name) => name !== "for" && !except.includes(name));
    const wanted = new Set(members.filter((name) => !except.includes(name)));
    assertEquals(listed.sort(), [...wanted].sort());
  });
}

/** Returns the names of the members of an interface or a class, without inherited ones. */
function membersOf(symbols: Awaited<ReturnType<typeof publicSymbols>>, name: string): string[] {
  const { declarations = [] } = symbols.find((symbol) => symbol.name === name) ?? {};
  const members = declarations.flatMap(({ def }) => [
    ...def?.properties ?? [],
    ...def?.methods ?? [],
  ]);
  assert(members.length > 0, `${name} has no members`);
  return members.map(({ name }) => name);
}

function readPage(path: string): Promise<string> {
  return Deno.readTextFile(PROJECT + path);
}

Deno.test("docs/errors-and-limits.md lists each kind of DataStreamError", async () => {
  const symbols = await publicSymbols(maps.exports["."]);
  const { declarations } = symbols.find(({ name }) => name === "DataStreamErrorKind")!;
  const kinds = [...JSON.stringify(declarations[0]!.def).matchAll(/"repr":"([\w-]+)"/g)]
    .map(([, kind]) => kind!);
  const rows = readTable(sectionOf(await readPage(ERRORS), "Kinds of `DataStreamError`"), "`kind`");
  assertEquals([...new Set(rows.map(([kind]) => kind!.replaceAll("`", "")))].sort(), kinds.sort());
});

Deno.test("docs/errors-and-limits.md has the defaults of retries and timeouts", async () => {
  const rows = readTable(sectionOf(await readPage(ERRORS), "Retries"), "option");
  const named = (prefix: string, rules: Record<string, { default: number }>) =>
    Object.entries(rules).map(([name, rule]) => [`\`${prefix}.${name}\``, String(rule.default)]);
  assertEquals(
    rows.map(([name, , value]) => [name, value]),
    [...named("retry", RETRY_OPTIONS), ...named("timeouts", TIMEOUT_OPTIONS)],
  );
});

Deno.test("docs/client.md has the resources with their numbers of fields and page sizes", async () => {
  const rows = readTable(sectionOf(await readPage(CLIENT), "Resources"), "method");
  assertEquals(
    rows.map(([method, , fields, pageSize]) => [method, fields, pageSize]),
    Object.entries(RESOURCES).map(([name, { fields, pageSize }]) => [
      `\`client.${name.toLowerCase()}()\``,
      String(Object.keys(fields).length),
      String(pageSize),
    ]),
  );
});
