// The docstrings of the public names, which editors, JSR and npm show, have examples and say where they run.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { PRE_RELEASE_PHRASES } from "../../../.ci/status.ts";
import maps from "../../../deno.json" with { type: "json" };
import { moduleDoc, publicSymbols } from "../../package/public_symbols.ts";

/** Runtimes as the section "Runtimes" of a module names them. */
const RUNTIMES = ["Deno", "Node", "Bun", "browsers", "Cloudflare Workers"];

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

  Deno.test(`the module of the export "${name}" documents its purpose, an example and its runtimes`, async () => {
    const doc = await moduleDoc(entry);
    assertMatch(doc, /^[A-Z][^#|`]*\.\s/);
    assertMatch(doc, /^```(ts|sh)\b/m);
    const runtimes = /^## Runtimes\n([^]*?)(?=^## |(?![^]))/m.exec(doc)?.[1] ?? "";
    assert(RUNTIMES.some((runtime) => runtimes.includes(runtime)), runtimes);
    // JSR shows it without the files of the repository, and only for released versions.
    assertEquals(doc.replace(/^```[^]*?^```$/gm, "").match(/!\[|<img|\]\((?!https:|#)/), null);
    assertEquals(PRE_RELEASE_PHRASES.slice(0, 3).filter((phrase) => phrase.test(doc)), []);
  });
}

function isOptions(name: string): boolean {
  return name.endsWith("Options") && name !== "MergedOptions"; // a result
}

Deno.test("deno doc --lint checks every entry point in the task doc", () => {
  const paths = maps.tasks.doc.command.split(" ").filter((word) => word.endsWith(".ts"));
  const entries = Object.values(maps.exports).map((path) => path.slice(2));
  assertEquals(paths.sort(), entries.sort());
});
