// The layers of the code: which part may import which others.
import { assert, assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { importsOf, resolve, sourceFiles } from "../../helpers/tree.ts";

/** Folders that each folder may import; `src` is only the files directly in it. */
const MAY_IMPORT: Record<string, string[]> = {
  "mod.ts": ["src", "src/client", "src/endpoint", "src/odata", "src/formats"],
  src: [],
  "src/endpoint": ["src"],
  "src/odata": ["src"],
  "src/formats": ["src", "src/odata"],
  "src/client": ["src", "src/endpoint", "src/odata", "src/formats"],
  "src/sandbox": ["src", "src/odata"],
  "src/cli": ["src", "src/client", "src/odata", "src/formats", "src/sandbox", "src/signing"],
  "src/signing": ["src"],
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
/** Entry points of one runtime, which may use its globals and modules. */
const ENTRIES = ["edge/demo.ts", "edge/serve.ts", "edge/node.ts"];

const files = await sourceFiles("mod.ts", "src", "edge");
const localImports = (path: string) =>
  importsOf(path).filter((name) => name.startsWith(".")).map((name) => resolve(path, name));
const folderOf = (path: string) => path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;

const codeOf = (path: string) =>
  Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

/** Returns the globals and modules of a file that some runtimes lack. */
function runtimeSpecificNames(path: string): string[] {
  if (path.startsWith("src/cli/") || ENTRIES.includes(path)) return [];
  const code = codeOf(path);
  return [
    ...(code.match(/\b(Deno|process|Buffer|require)\b(?=[.(])/g) ?? []),
    ...importsOf(path).filter((name) => name.startsWith("node:")),
    ...(path.startsWith("src/") ? code.match(/\bconsole\b/g) ?? [] : []),
  ];
}

Deno.test("modules import only lower layers and use only portable globals when they are portable", () => {
  const violations = files.flatMap((path) => {
    const folder = folderOf(path);
    const upward = localImports(path).filter((target) =>
      folderOf(target) !== folder && !MAY_IMPORT[folder]?.includes(folderOf(target))
    );
    return [
      ...upward.map((target) => `${path} imports ${target}`),
      ...new Set(runtimeSpecificNames(path).map((name) => `${path} uses ${name}`)),
    ];
  });
  assertEquals(violations, []);
});

/** Names that a file imports or re-exports from the client, such as `src/client/query.ts Query`. */
function clientNames(path: string): string[] {
  const statements = codeOf(path).matchAll(/^(?:im|ex)port (?:type )?\{([^}]*)\} from "([^"]*)"/gm);
  return [...statements].flatMap(([, list, specifier]) => {
    const names = list!.split(",").map((name) => name.trim().replace(/^type /, ""));
    return names.filter((name) => name !== "").map((name) =>
      `${resolve(path, specifier!)} ${name}`
    );
  }).filter((name) => name.startsWith("src/client/"));
}

Deno.test("src/cli and edge import from src/client only what mod.ts exports", () => {
  const isPublic = new Set(clientNames("mod.ts"));
  assert(isPublic.has("src/client/datastream.ts DataStream"));
  const faults = files.filter((path) => /^(src\/cli|edge)\//.test(path)).flatMap((path) =>
    clientNames(path).filter((name) => !isPublic.has(name)).map((name) => `${path} imports ${name}`)
  );
  assertEquals(faults, []);
});

Deno.test("no imports form a cycle", () => {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, importers: string[]) => {
    const start = importers.indexOf(path);
    if (start >= 0) cycles.push([...importers.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const target of localImports(path)) visit(target, [...importers, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
  assertEquals(cycles, []);
});

Deno.test("modules have no top-level await when an entry point imports them", () => {
  // `require()` cannot load such modules.
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const target of localImports(path)) visit(target);
  };
  for (const entry of Object.values(deno.exports)) visit(entry.slice(2));
  // In formatted code, only top-level statements start without indentation.
  assertEquals([...seen].filter((path) => /^(?:\S.*\b)?await\b/m.test(codeOf(path))), []);
});

Deno.test("mod.ts has only re-exports when it is read", () => {
  const code = Deno.readTextFileSync("mod.ts").replace(/\/\*[\s\S]*?\*\//g, "");
  const left = code.replace(/export (type )?\{[^}]*\} from "[^"]*";/g, "").trim();
  assertEquals(left, "");
});

Deno.test("tests/unit has a folder for each folder of src and edge when it is read", async () => {
  const tests = await sourceFiles("tests");
  const sources = [...new Set(files.map(folderOf))].filter((folder) =>
    folder !== "mod.ts" && folder !== "src"
  );
  const folders = sources.map((folder) => `tests/unit/${folder.replace(/^src\//, "")}/`);
  assertEquals(folders.filter((folder) => !tests.some((path) => path.startsWith(folder))), []);
});

Deno.test("unit tests import a helper that revokes permissions when they are not about the project", async () => {
  const tests = (await sourceFiles("tests/unit"))
    .filter((path) => path.endsWith("_test.ts") && !path.startsWith("tests/unit/project/"));
  const wrong = tests.filter((path) =>
    !importsOf(path).some((name) => /\/(no_permission|reads_fixtures)\.ts$/.test(name))
  );
  assertEquals(wrong, []);
});

Deno.test("unit tests measure time only when their file is named linear_time_test.ts", async () => {
  // The task `test:time` runs these files one after another.
  const wrong = (await sourceFiles("tests/unit")).filter((path) =>
    !path.endsWith("/linear_time_test.ts") &&
    importsOf(path).some((name) => name.endsWith("/doubling.ts"))
  );
  assertEquals(wrong, []);
});
