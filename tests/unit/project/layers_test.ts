// Imports point down only; DESIGN's picture of the parts, held against the code.
import { assert, assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { importsOf, resolve, sourceFiles } from "../../helpers/tree.ts";

/** Which other parts each part may import; "src" stands for the files in src itself. */
const MAY_IMPORT: Record<string, string[]> = {
  "mod.ts": ["src", "src/client", "src/endpoint", "src/odata", "src/formats"],
  src: [],
  "src/endpoint": ["src"],
  "src/odata": ["src"],
  "src/formats": ["src", "src/odata"],
  "src/client": ["src", "src/endpoint", "src/odata", "src/formats"],
  "src/sandbox": ["src", "src/odata"],
  "src/cli": ["src", "src/client", "src/odata", "src/formats", "src/sandbox", "src/signing"],
  "src/signing": [],
  edge: [
    "src",
    "src/client",
    "src/odata",
    "src/formats",
    "src/sandbox",
    "src/signing",
    "edge/page",
  ],
  "edge/page": [
    "src",
    "src/client",
    "src/endpoint",
    "src/odata",
    "src/formats",
    "src/signing",
    "edge",
  ],
};
/** The entry files, which alone may use what only some runtimes have. */
const ENTRIES = ["edge/demo.ts", "edge/serve.ts", "edge/node.ts"];

const files = await sourceFiles("mod.ts", "src", "edge");
const local = (path: string) =>
  importsOf(path).filter((name) => name.startsWith(".")).map((name) => resolve(path, name));
const partOf = (path: string) => path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;

const codeOf = (path: string) =>
  Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

for (const path of files) {
  Deno.test(`${path} imports down only`, () => {
    const part = partOf(path);
    for (const target of local(path)) {
      const other = partOf(target);
      assert(other === part || MAY_IMPORT[part]?.includes(other), `${path} imports ${target}`);
    }
  });

  Deno.test(`${path} runs in every runtime`, () => {
    if (path.startsWith("src/cli/") || ENTRIES.includes(path)) return;
    const statements = codeOf(path);
    assert(!/\b(Deno|process|Buffer|require)\b[.(]/.test(statements), "a runtime's own global");
    assert(!importsOf(path).some((name) => name.startsWith("node:")), "a module of Node");
    assert(!path.startsWith("src/") || !/\bconsole\b/.test(statements), "a library has no console");
  });
}

Deno.test("there is no circle of imports", () => {
  const done = new Set<string>();
  const visit = (path: string, way: string[]) => {
    assert(!way.includes(path), `a circle: ${[...way, path].join(" → ")}`);
    if (done.has(path)) return;
    for (const target of local(path)) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
});

Deno.test("no module of an entry awaits at its top: require() could not load it", () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    // The formatter indents what is inside of anything.
    assert(!/^(?:\S.*\b)?await\b/m.test(codeOf(path)), path);
    for (const target of local(path)) visit(target);
  };
  for (const entry of Object.values(deno.exports)) visit(entry.slice(2));
});

Deno.test("mod.ts only re-exports", () => {
  const code = Deno.readTextFileSync("mod.ts").replace(/\/\*[\s\S]*?\*\//g, "");
  const left = code.replace(/export (type )?\{[^}]*\} from "[^"]*";/g, "").trim();
  assertEquals(left, "");
});

Deno.test("there is a test file for each part", async () => {
  const tests = await sourceFiles("tests");
  const parts = [...new Set(files.map(partOf))].filter((part) =>
    part !== "mod.ts" && part !== "src"
  );
  for (const part of parts) {
    const folder = `tests/${part.replace(/^src\//, "")}/`;
    assert(tests.some((path) => path.startsWith(folder)), `no tests in ${folder}`);
  }
});
