// Identifiers: one meaning for each name.
import { assertEquals } from "@std/assert";
import { sourceFiles } from "../../helpers/project.ts";

/** In formatted code, only declarations at the top level start without indentation. */
const DECLARATION =
  /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;

Deno.test("a top-level name is declared in one module when src and edge are read", async () => {
  const modules = new Map<string, Set<string>>();
  for (const path of await sourceFiles("src", "edge")) {
    for (const [, name] of Deno.readTextFileSync(path).matchAll(DECLARATION)) {
      modules.set(name!, (modules.get(name!) ?? new Set()).add(path));
    }
  }
  const repeated = [...modules].filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name}: ${[...paths].join(", ")}`);
  assertEquals(repeated, []);
});
