// `publish:check` lists the files for JSR, and reports what JSR would refuse. A registry on loopback responds or fails.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { filesIn, PROJECT, sourceFiles } from "../helpers/project.ts";
import type { ProgramResult } from "../helpers/programs.ts";
import { startJsrRegistry } from "./jsr_registry.ts";
import { run } from "./project.ts";

/** Runs the task with a registry in JSR's role. */
function check(JSR_URL: string): Promise<ProgramResult> {
  return run(PROJECT, { JSR_URL }, Deno.execPath(), "task", "publish:check");
}

/** Runs the task with a registry that has one version of each package of @std. */
async function checkWithStd(version: string): Promise<ProgramResult> {
  await using registry = await startJsrRegistry(version);
  return await check(registry.url);
}

function listedFiles({ code, stdout, stderr }: ProgramResult): string[] {
  assertEquals(code, 0, stdout + stderr);
  return [...stdout.matchAll(/^ {3}(\S+) \([\d.]+\w+\)$/gm)].map(([, path]) => path!).sort();
}

async function expectedFiles(): Promise<string[]> {
  const texts = ["CHANGELOG.md", "LICENSE", "jsr.json"];
  for (const folder of ["src/", "edge/"]) {
    for await (const file of filesIn(PROJECT + folder)) {
      if (file.endsWith(".json")) texts.push(folder + file);
    }
  }
  return [...await sourceFiles("mod.ts", "src", "edge"), ...texts].sort();
}

Deno.test("publish:check lists the files and reports the missing check when JSR is unavailable", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: 503 }),
  );
  const result = await check(`http://127.0.0.1:${server.addr.port}/`);
  const files = listedFiles(result);
  assertEquals(files, await expectedFiles());
  for (const path of Object.values(jsr.exports)) assert(files.includes(path.slice(2)), path);
  assertEquals(files.filter((path) => /^tests\/|_test\.|^\.ci\//.test(path)), []);
  const lines = result.stdout.split("\n").filter((line) => line.startsWith("Not checked: "));
  assertEquals(lines.length, 1, result.stdout);
  assertStringIncludes(lines[0]!, "status 503");
});

Deno.test("publish:check runs all checks when JSR is available", async () => {
  const result = await checkWithStd("1.99.0");
  assertEquals(listedFiles(result), await expectedFiles());
  assertEquals(result.stdout.includes("Not checked"), false);
});

Deno.test("publish:check fails when JSR lacks the required version of @std", async () => {
  const { code, stderr } = await checkWithStd("0.9.0");
  assert(code !== 0);
  assertStringIncludes(stderr, "@std/");
});
