// The docstrings of the public names, which editors, JSR and npm show, have examples.
import { assertEquals } from "@std/assert";
import maps from "../../../deno.json" with { type: "json" };
import { publicSymbols } from "../../package/public_symbols.ts";

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

Deno.test("deno doc --lint checks every entry point in the task doc", () => {
  const paths = maps.tasks.doc.command.split(" ").filter((word) => word.endsWith(".ts"));
  const entries = Object.values(maps.exports).map((path) => path.slice(2));
  assertEquals(paths.sort(), entries.sort());
});
