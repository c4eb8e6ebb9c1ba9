// Each folder imports only lower ones, without a cycle, and test files are what the runner of the tests expects.
import { assert, assertEquals } from "@std/assert";
import { importsOf, resolve, sourceFiles } from "../../helpers/project.ts";

/** Folders that each folder may import; `src` is only the files directly in it. */
const MAY_IMPORT: Record<string, string> = {
  "mod.ts": "src src/client src/endpoint src/odata src/formats",
  src: "",
  "src/endpoint": "src",
  "src/odata": "src",
  "src/formats": "src src/odata",
  "src/client": "src src/endpoint src/odata src/formats",
  "src/sandbox": "src src/odata",
  "src/files": "src src/client src/formats src/odata",
  "src/sync": "src src/client src/files src/odata src/formats",
  "src/cli":
    "src src/client src/files src/sync src/endpoint src/odata src/formats src/sandbox src/signing",
  "src/signing": "src",
  "edge/http": "src src/client src/odata src/formats src/signing",
  "edge/downloads": "src src/client src/odata src/formats src/signing edge/http",
  "edge/page": "src src/client src/endpoint src/odata src/formats src/signing edge/http " +
    "edge/downloads edge/page/data edge/page/scripts",
  "edge/page/scripts": "",
  "edge/server":
    "src src/client src/odata src/formats src/sandbox edge/http edge/downloads edge/page",
  "edge/server/cloudflare": "src src/client edge/server",
  "edge/server/deno": "src src/client",
  edge: "src src/formats src/signing edge/http edge/server edge/server/cloudflare",
};
/** Modules that may import a folder that their own folder may not. */
const EXCEPTIONS: Record<string, string> = {
  // The command that starts the server. It loads the module when it runs.
  "src/cli/serve.ts": "edge/server",
};
/** Modules of some runtimes, which may use their globals and modules. */
const ENTRIES = [
  "edge/demo.ts",
  "edge/server/deno/kv_rate_limiter.ts",
  "edge/server/node.ts",
  "edge/server/server_process.ts",
  "edge/server/start.ts",
];

const files = await sourceFiles("mod.ts", "src", "edge");
const localImports = (path: string) =>
  importsOf(path).filter((name) => name.startsWith(".")).map((name) => resolve(path, name));
const folderOf = (path: string) => path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;

/** Returns the globals and modules of a file that some runtimes lack. */
function runtimeSpecificNames(path: string): string[] {
  if (/^src\/(cli|files|sync)\//.test(path) || ENTRIES.includes(path)) return [];
  const code = Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
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
      ![folder, EXCEPTIONS[path], ...MAY_IMPORT[folder]!.split(" ")].includes(folderOf(target))
    );
    return [
      ...upward.map((target) => `${path} imports ${target}`),
      ...new Set(runtimeSpecificNames(path).map((name) => `${path} uses ${name}`)),
    ];
  });
  assertEquals(violations, []);
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

Deno.test("each test file says what it promises; unit tests have no permissions, and time nothing", async () => {
  for (const path of (await sourceFiles("tests")).filter((path) => path.endsWith("_test.ts"))) {
    assert(/^(?:\/\/ |\/\*\*)/.test(Deno.readTextFileSync(path)), `${path}: begin with a comment`);
    if (!path.startsWith("tests/unit/")) continue;
    const imports = importsOf(path);
    const isRestricted = imports.some((name) => /\/(no_permission|golden)\.ts$/.test(name));
    assert(
      isRestricted || path.startsWith("tests/unit/project/"),
      `${path}: import no_permission.ts`,
    );
    // The gate runs these files one after another.
    const isTimed = imports.some((name) => name.endsWith("/assert_linear.ts"));
    assert(
      !isTimed || path.endsWith("/linear_time_test.ts"),
      `${path}: name it linear_time_test.ts`,
    );
  }
});
