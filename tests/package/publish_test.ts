// `publish:check` lists the files for JSR, which are all sources and no tests, and says what it cannot check without JSR.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { filesIn, PROJECT } from "../helpers/project.ts";
import { run } from "./project.ts";

Deno.test("publish:check lists the files and reports the missing check when JSR is unavailable", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: 503 }),
  );
  const JSR_URL = `http://127.0.0.1:${server.addr.port}/`;
  const task = [Deno.execPath(), "task", "publish:check"] as const;
  const { code, stdout, stderr } = await run(PROJECT, { JSR_URL }, ...task);
  assertEquals(code, 0, stdout + stderr);
  assertStringIncludes(/^Not checked: .*$/m.exec(stdout)![0], "status 503");
  const listed = [...stdout.matchAll(/^ {3}(\S+) \([\d.]+\w+\)$/gm)].map(([, path]) => path!);
  const expected = ["CHANGELOG.md", "LICENSE", "SKILL.md", "jsr.json", "mod.ts"];
  for (const folder of ["src/", "edge/"]) {
    for await (const file of filesIn(PROJECT + folder)) expected.push(folder + file);
  }
  assertEquals(listed.sort(), expected.sort());
  for (const path of Object.values(jsr.exports)) assert(listed.includes(path.slice(2)), path);
});
