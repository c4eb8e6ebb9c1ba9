// The docstrings of the public names, which editors show.
import { assertEquals } from "@std/assert";
import maps from "../../../deno.json" with { type: "json" };
import { publicSymbols } from "../../helpers/public_symbols.ts";

for (const [name, entry] of Object.entries(maps.exports)) {
  Deno.test(`each value of the export "${name}" has an example`, async () => {
    const values = (await publicSymbols(entry)).flatMap(({ name, declarations }) =>
      declarations.filter(({ kind }) => /^(class|function|variable)$/.test(kind))
        .map(({ jsDoc }) => ({ name, tags: jsDoc?.tags?.map(({ kind }) => kind) ?? [] }))
    );
    assertEquals(values.length > 0, true);
    assertEquals(values.filter(({ tags }) => !tags.includes("example")), []);
  });
}
