// Tests the task `publish:check` with a JSR registry on loopback that responds or fails.
import "../helpers/task_permissions.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { sourceFiles } from "../helpers/tree.ts";
import type { ProgramResult } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import { run } from "./project.ts";

/** Stub modules of @std with the types that the sources need. */
const STD: Record<string, string> = {
  "@std/csv/stringify": `export function stringify(
    _data: readonly (readonly unknown[])[], _options?: { separator?: string }): string { return ""; }`,
  "@std/http/negotiation": `export function accepts(
    _request: Pick<Request, "headers">, ..._types: string[]): string | undefined { return ""; }`,
};

/** Runs the task with a registry that the handler implements. */
async function check(handler: (path: string) => Promise<Response>): Promise<ProgramResult> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => handler(new URL(request.url).pathname.replace(/^\/[^/]+/, "")),
  );
  // A new path avoids the cache of another registry at the same address.
  const JSR_URL = `http://127.0.0.1:${server.addr.port}/${crypto.randomUUID()}/`;
  return await run(PROJECT, { JSR_URL }, Deno.execPath(), "task", "publish:check");
}

/** Creates the handler of a registry with one version of each package of @std. */
function registry(version: string): (path: string) => Promise<Response> {
  return async (path) => {
    for (const [specifier, code] of Object.entries(STD)) {
      const [scope, name, entry] = specifier.split("/") as [string, string, string];
      const folder = `/${scope}/${name}/`;
      if (!path.startsWith(folder)) continue;
      const rest = path.slice(folder.length);
      if (rest === "meta.json") {
        return Response.json({ scope, name, latest: version, versions: { [version]: {} } });
      }
      const checksum = `sha256-${await sha256(code)}`;
      const manifest = { [`/${entry}.ts`]: { size: code.length, checksum } };
      const exports = { [`./${entry}`]: `./${entry}.ts` };
      if (rest === `${version}_meta.json`) return Response.json({ manifest, exports });
      if (rest === `${version}/${entry}.ts`) return new Response(code);
    }
    return new Response(null, { status: 404 });
  };
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the published files that the task lists. */
function listedFiles({ code, stdout, stderr }: ProgramResult): string[] {
  assertEquals(code, 0, stdout + stderr);
  return [...stdout.matchAll(/^ {3}(\S+) \([\d.]+\w+\)$/gm)].map(([, path]) => path!).sort();
}

async function expectedFiles(): Promise<string[]> {
  const texts = ["CHANGELOG.md", "LICENSE", "jsr.json"];
  return [...await sourceFiles("mod.ts", "src", "edge"), ...texts].sort();
}

Deno.test("publish:check lists the files and reports the missing check when JSR is unavailable", async () => {
  const result = await check(() => Promise.resolve(new Response(null, { status: 503 })));
  const files = listedFiles(result);
  assertEquals(files, await expectedFiles());
  for (const path of Object.values(jsr.exports)) assert(files.includes(path.slice(2)), path);
  assertEquals(files.filter((path) => /^tests\/|_test\.|^\.ci\//.test(path)), []);
  const lines = result.stdout.split("\n").filter((line) => line.startsWith("Not checked: "));
  assertEquals(lines.length, 1, result.stdout);
  assertStringIncludes(lines[0]!, "status 503");
});

Deno.test("publish:check runs all checks when JSR is available", async () => {
  const result = await check(registry("1.99.0"));
  assertEquals(listedFiles(result), await expectedFiles());
  assertEquals(result.stdout.includes("Not checked"), false);
});

Deno.test("publish:check fails when JSR lacks the required version of @std", async () => {
  const { code, stderr } = await check(registry("0.9.0"));
  assert(code !== 0);
  assertStringIncludes(stderr, "@std/");
});

Deno.test("publish:check removes its temporary files when it fails", async () => {
  const names = async () => (await Array.fromAsync(Deno.readDir(PROJECT))).map(({ name }) => name);
  const before = await names();
  await check(registry("0.9.0"));
  assertEquals((await names()).sort(), before.sort());
});
