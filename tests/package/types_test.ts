// Programs that use the npm package, and those of the documents and docstrings, compile with the oldest and the newest
// TypeScript.
import { assert, assertEquals } from "@std/assert";
import { docstringBlocks, documentBlocks, programOf } from "../helpers/documents.ts";
import { PROJECT } from "../helpers/project.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";

/** The oldest supported version of TypeScript and the newest one, with versions of `@types/node`. */
const COMPILERS: Record<string, readonly (number | undefined)[]> = {
  "5.7.3": [undefined, 20],
  "7.0.2": [undefined, 24],
};

let project: ConsumerProject;

Deno.test.beforeAll(async () => {
  const compilers = Object.keys(COMPILERS)
    .map((version) => `${aliasOf(version)}@npm:typescript@${version}`);
  project = await createProject(...compilers);
  await Promise.all([...new Set(Object.values(COMPILERS).flat())].map(createFolder));
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

for (const [compiler, nodes] of Object.entries(COMPILERS)) {
  for (const node of nodes) {
    const types = node ? `@types/node ${node}` : "no @types/node";
    Deno.test(`tsc accepts all programs with TypeScript ${compiler} and ${types}`, async () => {
      assertEquals(await compile(compiler, node), "");
    });
  }
}

function aliasOf(version: string): string {
  return `typescript-${version.replace(/\W/g, "")}`;
}

function folderOf(node: number | undefined): string {
  return `${project.folder}node-${node ?? "none"}`;
}

/** Creates a folder with the programs and one version of `@types/node`. */
async function createFolder(node: number | undefined): Promise<void> {
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
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    types: node === undefined ? [] : ["node"],
  };
  const config = { compilerOptions, files: [...programs.keys()] };
  await Deno.writeTextFile(`${folder}/tsconfig.json`, JSON.stringify(config));
}

async function compile(compiler: string, node: number | undefined): Promise<string> {
  const tsc = `${project.folder}node_modules/${aliasOf(compiler)}/bin/tsc`;
  const { code, stdout, stderr } = await run(folderOf(node), {}, "node", tsc, "--pretty", "false");
  return code === 0 ? "" : stdout + stderr;
}
