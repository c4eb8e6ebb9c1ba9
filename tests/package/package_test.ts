// Tests the npm package, installed in an empty project, with Node and TypeScript.
import "../helpers/task_permissions.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { documentBlocks, programOf } from "../helpers/documents.ts";
import { PROJECT } from "../helpers/project.ts";
import { publicSymbols } from "../helpers/public_symbols.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { sandboxRequests } from "../helpers/sandbox.ts";
import { filesIn, importsOf, resolve } from "../helpers/tree.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";

/** The newest and the oldest supported TypeScript, by the names under which they are installed. */
const COMPILERS = { newest: "typescript@7", oldest: "typescript@~5.7" };
const CONSUMER = new URL("consumer/", import.meta.url);

let project: ConsumerProject;
let files: string[];
let names: string;

Deno.test.beforeAll(async () => {
  const compilers = Object.entries(COMPILERS).map(([name, version]) => `${name}@npm:${version}`);
  project = await createProject("@types/node@20", ...compilers);
  files = await Array.fromAsync(filesIn(project.installed));
  names = await reexportAllTypes();
  for await (const { name } of Deno.readDir(CONSUMER)) {
    if (/\.[cm]js$/.test(name)) await Deno.copyFile(new URL(name, CONSUMER), project.folder + name);
  }
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

Deno.test("the package has only modules, types and documents when it is installed", () => {
  const [texts, code] = [files.filter((file) => !/\.(js|d\.ts|d\.cts)$/.test(file)), modules()];
  assertEquals(
    texts.sort(),
    ["CHANGELOG.md", "LICENSE", "README.md", "package.json", "std/LICENSE"],
  );
  for (const file of files) assert(!/(^|\/)tests?\/|_test\./.test(file), file);
  const { exports, bin } = manifest();
  const reached = new Set<string>();
  const visit = (file: string) => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const name of importsOf(project.installed + file)) {
      if (name.startsWith(".")) visit(resolve(file, name));
    }
  };
  for (const { default: entry } of Object.values(exports)) visit(entry.slice(2));
  visit(bin.weir!);
  for (const file of code.filter((file) => !reached.has(file))) {
    // A module with types alone is emitted empty.
    const text = Deno.readTextFileSync(project.installed + file);
    assertEquals(text.replace(/\/\*[\s\S]*?\*\/|export *\{ *\};|\s/g, ""), "", file);
  }
});

Deno.test("the package imports only its files and dependencies when npm installs it", () => {
  const { dependencies } = manifest();
  assertEquals(Object.keys(dependencies), ["hono", "url-template"]);
  for (const file of files.filter((file) => /\.(js|d\.ts|d\.cts)$/.test(file))) {
    for (const name of importsOf(project.installed + file)) {
      const target = name.startsWith(".") ? resolve(file, name) : undefined;
      if (target) assert(files.includes(target), `${file} imports ${name}`);
      else assert(/^node:/.test(name) || name.split("/")[0]! in dependencies, `${file}: ${name}`);
    }
  }
});

Deno.test("the package has no paths of the build machine when it is installed", async () => {
  const { HOME = "/", DENO_DIR = "/" } = Deno.env.toObject();
  const paths = [PROJECT, HOME, DENO_DIR, "file:///", ".cache/deno"]
    .filter((path) => path !== "/");
  for (const file of files) {
    const text = await Deno.readTextFile(project.installed + file);
    for (const path of paths) assert(!text.includes(path), `${file} has ${path}`);
    // A path that leaves the package.
    assert(!/(\.\.\/){4}/.test(text), file);
  }
});

Deno.test("package.json has the version and license of jsr.json when the package is built", () => {
  const { version, license, engines, sideEffects, description } = manifest();
  assertEquals([version, license], [jsr.version, jsr.license]);
  assertEquals([engines.node, sideEffects], [">=20.3", false]);
  assert(description.length > 20);
});

Deno.test("import and require give the same exports when Node loads each entry point", async () => {
  const { required, imported } = JSON.parse(await output(project.folder, "node", "names.cjs"));
  const sources = await Promise.all(
    Object.values(jsr.exports).map(async (path) => Object.keys(await import(PROJECT + path))),
  );
  assertEquals(required, sources);
  assertEquals(imported, sources);
});

for (const program of ["query.mjs", "query.cjs"]) {
  Deno.test(`csv() writes every row when ${program} runs in Node`, async () => {
    const [header, ...rows] = readCsv(await output(project.folder, "node", program));
    const expected = await sandboxRequests().rows("Records", { $filter: "LocationId eq 1015" });
    assert(expected.length > 100);
    assertEquals(header, ["Id", "CharacteristicName", "ResultValue"]);
    const cell = (value: unknown) => String(value ?? "");
    assertEquals(rows, expected.map((row) => header!.map((name) => cell(row[name]))));
  });
}

Deno.test("the documents' programs for Node run unchanged when the sandbox replaces the service", async () => {
  const blocks = documentBlocks();
  const programs = blocks.filter(({ language, note }) => language === "js" && note === "");
  assert(programs.length >= 2);
  for (const [index, block] of programs.entries()) {
    const code = programOf(block, blocks);
    const name = `document_${index}.${/^import\b/m.test(code) ? "mjs" : "cjs"}`;
    await Deno.writeTextFile(project.folder + name, code);
    const environment = { DATASTREAM_API_KEY: "sandbox" };
    const flags = ["--import", "./readme_service.mjs", name];
    const { code: status, stderr } = await run(project.folder, environment, "node", ...flags);
    assertEquals([status, stderr], [0, ""], block.place);
    for (const [, path] of code.matchAll(/(?:writeFile|createWriteStream)\("([^"]+\.csv)"/g)) {
      assert(readCsv(await Deno.readTextFile(project.folder + path)).length > 2, block.place);
    }
  }
});

Deno.test("DataStream shares one rate limiter when import and require load the package", async () => {
  const { requests, parallel, tooFast } = JSON.parse(
    await output(project.folder, "node", "shared_rate_limit.cjs"),
  );
  assertEquals({ requests, parallel, tooFast }, { requests: 4, parallel: 0, tooFast: 0 });
});

Deno.test("weir returns its exit code when npx runs it", async () => {
  const help = await output(project.folder, "npx", "--no-install", "@weir/datastream", "--help");
  assertStringIncludes(help, "--sandbox");
  const args = ["records", "--sandbox", "--limit", "5"];
  const [header, ...rows] = readCsv(
    await output(project.folder, "npx", "--no-install", "weir", ...args),
  );
  assertEquals([header?.[0], rows.length], ["Id", 5]);
  const wrong = await run(project.folder, {}, "npx", "--no-install", "weir", "recrds");
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, "records");
});

/** Module settings of the compiler, and whether files can be CommonJS with them. */
const KINDS = [
  { module: "node16", moduleResolution: "node16", hasRequire: true },
  { module: "preserve", moduleResolution: "bundler", hasRequire: true },
  { module: "esnext", moduleResolution: "bundler", hasRequire: false },
];
/** Type libraries with the Web APIs: those of browsers or of Node. */
const PLATFORMS = {
  dom: { lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"], types: [] },
  node: { lib: ["es2023"], types: ["node"] },
};

for (const compiler of Object.keys(COMPILERS)) {
  for (const type of ["module", "commonjs"]) {
    for (const { hasRequire, ...kind } of KINDS) {
      for (const [platform, own] of Object.entries(PLATFORMS)) {
        // Skipped because the oldest compiler is slow; the other platform covers its differences.
        if (compiler === "oldest" && platform === "dom") continue;
        const name = `${compiler}-${type}-${kind.module}-${platform}`;
        const version = COMPILERS[compiler as "newest"];
        Deno.test(`tsc accepts the types when it is ${version} with ${name}`, async () => {
          const files = ["program.ts", "program.mts", "names.ts"];
          if (hasRequire) files.push("program.cts", "require.cts");
          await compile(compiler, name, type, files, { ...kind, ...own });
          if (kind.module !== "node16") return;
          for (const module of ["program.js", "program.mjs", "program.cjs"]) {
            const printed = await output(project.folder, "node", `${name}/out/${module}`);
            assertEquals(printed, "number 200 true number 403\n");
          }
        });
      }
    }
  }
}

/** Compiles the files of `consumer` in a folder whose package.json has the given `type`. */
async function compile(
  compiler: string,
  name: string,
  type: string,
  files: string[],
  options: Record<string, unknown>,
): Promise<void> {
  const folder = `${project.folder}${name}`;
  await Deno.mkdir(folder);
  const program = await Deno.readTextFile(new URL("program.ts", CONSUMER));
  const texts: Record<string, string> = {
    "program.ts": program,
    "program.mts": program,
    "program.cts": program,
    "require.cts": await Deno.readTextFile(new URL("require.cts", CONSUMER)),
    "names.ts": names,
    "package.json": JSON.stringify({ type }),
    "tsconfig.json": JSON.stringify({
      compilerOptions: { strict: true, target: "es2022", rootDir: ".", outDir: "out", ...options },
      files,
    }),
  };
  for (const [file, text] of Object.entries(texts)) {
    await Deno.writeTextFile(`${folder}/${file}`, text);
  }
  await output(project.folder, "node", `node_modules/${compiler}/bin/tsc`, "-p", name);
}

/** Returns a module that re-exports every public symbol of every entry point as a type. */
async function reexportAllTypes(): Promise<string> {
  const lines = Object.entries(jsr.exports).map(async ([entry, path]) => {
    const names = (await publicSymbols(path)).map(({ name }) => name).join(", ");
    return `export type { ${names} } from "@weir/datastream${entry.slice(1)}";`;
  });
  return (await Promise.all(lines)).join("\n");
}

/** Fields of package.json that the tests read. */
interface Manifest {
  version: string;
  license: string;
  description: string;
  sideEffects: boolean;
  engines: Record<string, string>;
  bin: Record<string, string>;
  exports: Record<string, { default: string }>;
  dependencies: Record<string, string>;
}

function manifest(): Manifest {
  return JSON.parse(Deno.readTextFileSync(`${project.installed}package.json`));
}

function modules(): string[] {
  return files.filter((file) => file.endsWith(".js"));
}
