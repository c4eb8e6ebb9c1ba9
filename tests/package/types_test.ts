// Compiles programs that use the npm package, and those of the documents and docstrings, in each setting
// of TypeScript that a reader may have.
import "../helpers/task_permissions.ts";
import { assert, assertEquals } from "@std/assert";
import { docstringBlocks, documentBlocks, programOf } from "../helpers/documents.ts";
import { PROJECT } from "../helpers/project.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";

/** Versions of TypeScript: the oldest supported one, the last two of the compiler in JavaScript, the newest. */
const COMPILERS = ["5.7.3", "5.9.3", "6.0.3", "7.0.2"];
/** Versions of `@types/node`; `undefined` without it. */
const NODE_TYPES = [undefined, 20, 22, 24] as const;
/** The option `lib`; `undefined` means the default, which contains `dom`. */
const LIBS = { default: undefined, dom: ["es2022", "dom"], esnext: ["esnext"] };

/** A setting of TypeScript. */
interface Setting {
  compiler: string;
  node: typeof NODE_TYPES[number];
  lib: keyof typeof LIBS;
}

const SETTINGS: Setting[] = COMPILERS.flatMap((compiler) =>
  NODE_TYPES.flatMap((node) =>
    Object.keys(LIBS).map((lib) => ({ compiler, node, lib: lib as Setting["lib"] }))
  )
).filter(({ compiler, node, lib }) =>
  // Without `@types/node`, only `dom` has streams. The compilers in JavaScript are slow: 22 differs little
  // from 24.
  (node !== undefined || lib !== "esnext") && (compiler === "7.0.2" || node !== 22)
);

const nameOf = ({ compiler, node, lib }: Setting) =>
  `TypeScript ${compiler}, ${node ? `@types/node ${node}` : "no @types/node"} and lib ${lib}`;

let project: ConsumerProject;
/** Results of the compilers by the name of their setting. */
const results = new Map<string, Promise<string>>();

Deno.test.beforeAll(async () => {
  const compilers = COMPILERS.map((version) => `${aliasOf(version)}@npm:typescript@${version}`);
  project = await createProject(...compilers);
  await Promise.all(NODE_TYPES.map(createFolder));
  // One process for each processor, in the order of the tests.
  const waiting = SETTINGS.map((setting) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    promise.catch(() => {});
    results.set(nameOf(setting), promise);
    return { setting, resolve, reject };
  });
  const work = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      await compile(job.setting).then(job.resolve, job.reject);
    }
  };
  for (let count = 0; count < navigator.hardwareConcurrency; count++) void work();
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

for (const setting of SETTINGS) {
  Deno.test({
    name: `tsc accepts all programs with ${nameOf(setting)}`,
    // The compilers run while earlier tests wait.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => assertEquals(await results.get(nameOf(setting)), ""),
  });
}

function aliasOf(version: string): string {
  return `typescript-${version.replace(/\W/g, "")}`;
}

function folderOf(node: Setting["node"]): string {
  return `${project.folder}node-${node ?? "none"}`;
}

/** Creates a folder with the programs and one version of `@types/node`. */
async function createFolder(node: Setting["node"]): Promise<void> {
  const folder = folderOf(node);
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/package.json`, `{ "private": true, "type": "module" }`);
  if (node !== undefined) {
    const flags = ["install", "--no-audit", "--no-fund", "--no-package-lock"];
    await output(folder, "npm", ...flags, `@types/node@${node}`);
  }
  const programs = new Map<string, string>();
  const names = ["web_streams.ts", ...(node === undefined ? [] : ["node_streams.ts"])];
  for (const name of names) {
    const code = await Deno.readTextFile(`${PROJECT}tests/package/consumer/${name}`);
    programs.set(name, code);
  }
  const documents = documentBlocks();
  const docstrings = await docstringBlocks("mod.ts", "src", "edge");
  for (const block of [...documents, ...docstrings]) {
    const code = programOf(block, block.file.endsWith(".ts") ? docstrings : documents);
    const isOurs = /^[jt]s$/.test(block.language) && block.note === "" &&
      /from "@weir\/datastream/.test(code);
    // Programs for Deno, and those that import packages which the reader installs.
    const others = /\bDeno\.|from "(?:npm:|jsr:|hono|@hono|\.)/.test(code);
    const needsNode = /from "node:|\bprocess\.|\brequire\(/.test(code);
    if (!isOurs || others || needsNode && node === undefined) continue;
    const name = `${block.file.replace(/[/.]+/g, "_")}_${block.line}.ts`;
    // A module, although it may have no export.
    programs.set(name, `${code}\nexport {};\n`);
  }
  assert(programs.size > 20);
  programs.set("std.d.ts", await Deno.readTextFile(`${PROJECT}tests/std.d.ts`));
  for (const [name, code] of programs) await Deno.writeTextFile(`${folder}/${name}`, code);
  for (const [lib, value] of Object.entries(LIBS)) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2022",
      module: "nodenext",
      types: node === undefined ? [] : ["node"],
      ...(value && { lib: value }),
    };
    const config = { compilerOptions, files: [...programs.keys()] };
    await Deno.writeTextFile(`${folder}/tsconfig.${lib}.json`, JSON.stringify(config));
  }
}

/** Compiles the programs. Returns the errors of the compiler. */
async function compile({ compiler, node, lib }: Setting): Promise<string> {
  const tsc = `${project.folder}node_modules/${aliasOf(compiler)}/bin/tsc`;
  const args = [tsc, "--pretty", "false", "-p", `tsconfig.${lib}.json`];
  const { code, stdout, stderr } = await run(folderOf(node), {}, "node", ...args);
  return code === 0 ? "" : stdout + stderr;
}
