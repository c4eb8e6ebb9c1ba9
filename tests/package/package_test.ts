// The npm package as a user has it: installed into an empty project, in Node and in TypeScript.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { PROJECT } from "../helpers/project.ts";
import { publicSymbols } from "../helpers/public_symbols.ts";
import { readFences } from "../helpers/readme.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { ask } from "../helpers/sandbox.ts";
import { filesIn, importsOf, resolve } from "../helpers/tree.ts";
import { createProject, output, type Project, run } from "./project.ts";

/** The newest TypeScript and the oldest one that the types are for, by the names they get. */
const COMPILERS = { newest: "typescript@7", oldest: "typescript@~5.7" };
const CONSUMER = new URL("consumer/", import.meta.url);

let project: Project;
let files: string[];
let names: string;

Deno.test.beforeAll(async () => {
  const compilers = Object.entries(COMPILERS).map(([name, version]) => `${name}@npm:${version}`);
  project = await createProject("@types/node@20", ...compilers);
  files = await Array.fromAsync(filesIn(project.installed));
  names = await everyName();
  for await (const { name } of Deno.readDir(CONSUMER)) {
    if (/\.[cm]js$/.test(name)) await Deno.copyFile(new URL(name, CONSUMER), project.folder + name);
  }
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

Deno.test("the package holds modules, their types and texts, and nothing of the tests", () => {
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
    // A module of types leaves nothing behind.
    const text = Deno.readTextFileSync(project.installed + file);
    assertEquals(text.replace(/\/\*[\s\S]*?\*\/|export *\{ *\};|\s/g, ""), "", file);
  }
});

Deno.test("every name that a file of the package imports is one that npm can resolve", () => {
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

Deno.test("no file of the package tells where it was made", async () => {
  const { HOME = "/", DENO_DIR = "/" } = Deno.env.toObject();
  const places = [PROJECT, HOME, DENO_DIR, "file:///", ".cache/deno"]
    .filter((place) => place !== "/");
  for (const file of files) {
    const text = await Deno.readTextFile(project.installed + file);
    for (const place of places) assert(!text.includes(place), `${file} names ${place}`);
    // Nor by a path that leads out of the package.
    assert(!/(\.\.\/){4}/.test(text), file);
  }
});

Deno.test("package.json says what is true of the package", () => {
  const { version, license, engines, sideEffects, description } = manifest();
  assertEquals([version, license], [jsr.version, jsr.license]);
  assertEquals([engines.node, sideEffects], [">=20.3", false]);
  assert(description.length > 20);
});

Deno.test("import and require give the same four entries in Node", async () => {
  const { required, imported } = JSON.parse(await output(project.folder, "node", "names.cjs"));
  const sources = await Promise.all(
    Object.values(jsr.exports).map(async (path) => Object.keys(await import(PROJECT + path))),
  );
  assertEquals(required, sources);
  assertEquals(imported, sources);
});

for (const program of ["query.mjs", "query.cjs"]) {
  Deno.test(`${program} gets every row as CSV`, async () => {
    const [header, ...rows] = readCsv(await output(project.folder, "node", program));
    const wanted = await ask().rows("Records", { $filter: "LocationId eq 1015" });
    assert(wanted.length > 100);
    assertEquals(header, ["Id", "CharacteristicName", "ResultValue"]);
    const cell = (value: unknown) => String(value ?? "");
    assertEquals(rows, wanted.map((row) => header!.map((name) => cell(row[name]))));
  });
}

Deno.test("the README's code for Node runs as it stands there, but for the service", async () => {
  const code = (await readFences()).filter(({ language, note }) =>
    language === "js" && note === ""
  );
  for (const [index, fence] of code.entries()) {
    await Deno.writeTextFile(`${project.folder}readme_${index}.mjs`, fence.code);
    const flags = ["--import", "./readme_service.mjs", `readme_${index}.mjs`];
    const ran = await run(project.folder, { DATASTREAM_API_KEY: "sandbox" }, "node", ...flags);
    assertEquals([ran.code, ran.stderr], [0, ""]);
    for (const [, name] of fence.code.matchAll(/createWriteStream\("([^"]+)"/g)) {
      assert(readCsv(await Deno.readTextFile(project.folder + name)).length > 2);
    }
  }
  assertEquals(code.length, 1);
});

Deno.test("clients by import and by require keep one pace", async () => {
  const { requests, parallel, tooFast } = JSON.parse(
    await output(project.folder, "node", "pace.cjs"),
  );
  assertEquals({ requests, parallel, tooFast }, { requests: 4, parallel: 0, tooFast: 0 });
});

Deno.test("npx runs the command line, and passes its exit code on", async () => {
  const help = await output(project.folder, "npx", "--no-install", "@weir/datastream", "--help");
  assertStringIncludes(help, "--sandbox");
  const five = ["records", "--sandbox", "--limit", "5"];
  const [header, ...rows] = readCsv(
    await output(project.folder, "npx", "--no-install", "weir", ...five),
  );
  assertEquals([header?.[0], rows.length], ["Id", 5]);
  const wrong = await run(project.folder, {}, "npx", "--no-install", "weir", "recrds");
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, "records");
});

/** What the compiler is told of modules, and whether a file can be CommonJS by it. */
const KINDS = [
  { module: "node16", moduleResolution: "node16", hasRequire: true },
  { module: "preserve", moduleResolution: "bundler", hasRequire: true },
  { module: "esnext", moduleResolution: "bundler", hasRequire: false },
];
/** What brings the types of the web: a browser's, or Node's. */
const PLATFORMS = {
  dom: { lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"], types: [] },
  node: { lib: ["es2023"], types: ["node"] },
};

for (const compiler of Object.keys(COMPILERS)) {
  for (const type of ["module", "commonjs"]) {
    for (const { hasRequire, ...kind } of KINDS) {
      for (const [platform, own] of Object.entries(PLATFORMS)) {
        // It is slow, and what it may not know is generic arrays, which both name.
        if (compiler === "oldest" && platform === "dom") continue;
        const name = `${compiler}-${type}-${kind.module}-${platform}`;
        Deno.test(`tsc takes the types: ${COMPILERS[compiler as "newest"]}, ${name}`, async () => {
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

/** Compiles the files of `consumer` in a project of that type. */
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

/** A module that hands on every name of every entry, types too, as the docs of the sources have. */
async function everyName(): Promise<string> {
  const lines = Object.entries(jsr.exports).map(async ([entry, path]) => {
    const names = (await publicSymbols(path)).map(({ name }) => name).join(", ");
    return `export type { ${names} } from "@weir/datastream${entry.slice(1)}";`;
  });
  return (await Promise.all(lines)).join("\n");
}

/** What the tests read of package.json. */
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
