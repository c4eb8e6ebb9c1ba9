// The layers of the code: which part may import which others.
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
/** The entry files, which alone may use what only some runtimes have. */
const ENTRIES = ["edge/demo.ts", "edge/serve.ts", "edge/node.ts"];

const files = await sourceFiles("mod.ts", "src", "edge");
const local = (path: string) =>
  importsOf(path).filter((name) => name.startsWith(".")).map((name) => resolve(path, name));
const partOf = (path: string) => path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;

const codeOf = (path: string) =>
  Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

/** What keeps a file from running in every runtime. */
function runtimeFaults(path: string): string[] {
  if (path.startsWith("src/cli/") || ENTRIES.includes(path)) return [];
  const code = codeOf(path);
  return [
    ...(code.match(/\b(Deno|process|Buffer|require)\b(?=[.(])/g) ?? []),
    ...importsOf(path).filter((name) => name.startsWith("node:")),
    ...(path.startsWith("src/") ? code.match(/\bconsole\b/g) ?? [] : []),
  ];
}

Deno.test("imports point down only, and all but the command line and the entries runs in every runtime", () => {
  const faults = files.flatMap((path) => {
    const part = partOf(path);
    const upward = local(path).filter((target) =>
      partOf(target) !== part && !MAY_IMPORT[part]?.includes(partOf(target))
    );
    return [
      ...upward.map((target) => `${path} imports ${target}`),
      ...new Set(runtimeFaults(path).map((name) => `${path} uses ${name}`)),
    ];
  });
  assertEquals(faults, []);
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
  const visit = (path: string, way: string[]) => {
    const start = way.indexOf(path);
    if (start >= 0) cycles.push([...way.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const target of local(path)) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
  assertEquals(cycles, []);
});

Deno.test("no module of an entry awaits at its top: require() could not load it", () => {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const target of local(path)) visit(target);
  };
  for (const entry of Object.values(deno.exports)) visit(entry.slice(2));
  // The formatter indents what is inside of anything.
  assertEquals([...seen].filter((path) => /^(?:\S.*\b)?await\b/m.test(codeOf(path))), []);
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
  const folders = parts.map((part) => `tests/unit/${part.replace(/^src\//, "")}/`);
  assertEquals(folders.filter((folder) => !tests.some((path) => path.startsWith(folder))), []);
});

Deno.test("every unit test runs without a permission, or may only read", async () => {
  const tests = (await sourceFiles("tests/unit"))
    .filter((path) => path.endsWith("_test.ts") && !path.startsWith("tests/unit/project/"));
  const wrong = tests.filter((path) =>
    !importsOf(path).some((name) => /\/(no_permission|reads_fixtures)\.ts$/.test(name))
  );
  assertEquals(wrong, []);
});

Deno.test("only files named linear_time_test.ts measure time, for the gate runs these by themselves", async () => {
  const wrong = (await sourceFiles("tests/unit")).filter((path) =>
    !path.endsWith("/linear_time_test.ts") &&
    importsOf(path).some((name) => name.endsWith("/doubling.ts"))
  );
  assertEquals(wrong, []);
});
