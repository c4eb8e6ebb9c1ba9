// Programs that use the npm package, and all its types, compile with the oldest and the newest TypeScript, for Node and
// for bundlers, and run in Node.
import { assertEquals } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { PROJECT } from "../helpers/project.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";
import { publicSymbols } from "./public_symbols.ts";

/** A supported version of TypeScript, and the versions of `@types/node` and kinds of modules that are tested with it. */
interface Compiler {
  version: string;
  node: number;
  modules: readonly string[];
}
const COMPILERS: Record<string, Compiler> = {
  // The last one with node10 is TypeScript 6.
  oldest: { version: "5.7.3", node: 20, modules: ["node16", "preserve", "node10"] },
  newest: { version: "7.0.2", node: 24, modules: ["nodenext", "preserve"] },
};

/** Programs that load the package with `require()`, which node16 and the ECMAScript modules of node10 do not allow. */
const REQUIRING = ["program.cts", "require.cts"];
/** Output of the programs that run. */
const PRINTED: Record<string, string> = {
  "program.js": "number 200 true number 403\n",
  "program.mjs": "number 200 true number 403\n",
  "program.cjs": "number 200 true number 403\n",
  "dynamic.cjs": "4\n",
};

let project: ConsumerProject;
const programs = new Map<string, string>();

Deno.test.beforeAll(async () => {
  const compilers = Object.entries(COMPILERS)
    .map(([name, { version }]) => `${name}@npm:typescript@${version}`);
  project = await createProject(...compilers);
  await readPrograms();
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

for (const [name, { version, node, modules }] of Object.entries(COMPILERS)) {
  for (const types of [undefined, node]) {
    const platform = types ? `@types/node ${types}` : "no @types/node";
    Deno.test(`tsc accepts all programs with TypeScript ${version} and ${platform}`, async () => {
      const folder = await createFolder(`${name}-${types}`, types);
      for (const module of modules) assertEquals(await compile(folder, name, module, types), "");
      if (!modules.includes("nodenext")) return;
      for (const [file, printed] of Object.entries(PRINTED)) {
        const { stdout, stderr } = await run(folder, {}, "node", `nodenext/${file}`);
        assertEquals([stdout, stderr.includes("Warning")], [printed, false], file);
      }
    });
  }
}

async function readPrograms(): Promise<void> {
  const folder = `${PROJECT}tests/package/consumer/`;
  for await (const { name } of Deno.readDir(folder)) {
    if (/ts$/.test(name)) programs.set(name, await Deno.readTextFile(folder + name));
  }
  // As an ECMAScript module and as CommonJS, by their extensions, whatever `type` package.json has.
  for (const name of ["program.mts", "program.cts"]) {
    programs.set(name, programs.get("program.ts")!);
  }
  programs.set("names.mts", await reexportAllTypes());
  programs.set("std.d.ts", await Deno.readTextFile(`${PROJECT}tests/std.d.ts`));
}

/** Returns a module that re-exports every public symbol of every entry point as a type. */
async function reexportAllTypes(): Promise<string> {
  const lines = Object.entries(jsr.exports).map(async ([entry, path]) => {
    // Entry points share names.
    const names = (await publicSymbols(path)).map(({ name }) =>
      `${name} as ${entry.slice(2).replaceAll("-", "_")}_${name}`
    );
    return `export type { ${names.join(", ")} } from "${jsr.name}${entry.slice(1)}";`;
  });
  return (await Promise.all(lines)).join("\n");
}

/** Creates a folder with the programs and one version of `@types/node`. */
async function createFolder(name: string, node: number | undefined): Promise<string> {
  const folder = `${project.folder}${name}`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/package.json`, `{ "private": true, "type": "module" }`);
  if (node !== undefined) {
    const flags = ["install", "--no-audit", "--no-fund", "--no-package-lock"];
    await output(folder, "npm", ...flags, `@types/node@${node}`);
  }
  for (const [name, code] of programs) await Deno.writeTextFile(`${folder}/${name}`, code);
  return folder;
}

/** Compiles the programs for one kind of modules. Returns the messages of the compiler. */
async function compile(
  folder: string,
  compiler: string,
  module: string,
  node: number | undefined,
): Promise<string> {
  const files = [...programs].filter(([name, code]) =>
    (!["node16", "node10"].includes(module) || !REQUIRING.includes(name)) &&
    (node !== undefined || !/from "node:|\bprocess\.|(?<!= )\brequire\(/.test(code))
  ).map(([name]) => name);
  const compilerOptions = {
    strict: true,
    target: "es2022",
    module: module === "node10" ? "es2022" : module,
    moduleResolution: module === "preserve" ? "bundler" : module,
    rootDir: ".",
    outDir: module,
    types: node === undefined ? [] : ["node"],
  };
  const config = JSON.stringify({ compilerOptions, files });
  await Deno.writeTextFile(`${folder}/tsconfig.json`, config);
  const tsc = `${project.folder}node_modules/${compiler}/bin/tsc`;
  const { code, stdout, stderr } = await run(folder, {}, "node", tsc, "--pretty", "false");
  return code === 0 ? "" : stdout + stderr;
}
