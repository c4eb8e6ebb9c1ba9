// What an editor shows of the public names.
import { assertEquals } from "@std/assert";
import maps from "../../deno.json" with { type: "json" };
import { PROJECT } from "../helpers/project.ts";

interface Declaration {
  kind: string;
  jsDoc?: { tags?: { kind: string }[] };
}

for (const [name, entry] of Object.entries(maps.exports)) {
  Deno.test(`each value of the export "${name}" has an example`, async () => {
    const args = ["doc", "--json", PROJECT + entry];
    const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
    const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
    const [{ symbols }] = Object.values(nodes) as [
      { symbols: { name: string; declarations: Declaration[] }[] },
    ];
    const values = symbols.flatMap(({ name, declarations }) =>
      declarations.filter(({ kind }) => /^(class|function|variable)$/.test(kind))
        .map(({ jsDoc }) => ({ name, tags: jsDoc?.tags?.map(({ kind }) => kind) ?? [] }))
    );
    assertEquals(values.length > 0, true);
    assertEquals(values.filter(({ tags }) => !tags.includes("example")), []);
  });
}
