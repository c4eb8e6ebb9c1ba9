// The files of the task `bundle`.
import "../../helpers/task_permissions.ts";
import { assert, assertEquals } from "@std/assert";
import { SERVER_BUNDLES } from "../../../.ci/server_bundles.ts";
import { runProgramWith } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";
import { importsOf } from "../../helpers/tree.ts";

Deno.test("deno task bundle writes files without dependencies, with the licences of their packages", async () => {
  const args = ["task", "--quiet", "bundle"];
  const { code, stdout, stderr } =
    (await runProgramWith({ cwd: PROJECT }, Deno.execPath(), ...args))!;
  assertEquals([code, stderr], [0, ""]);
  const names = Object.keys(SERVER_BUNDLES);
  assertEquals(stdout.trim().split("\n"), names.map((name) => `dist/${name}`));
  for (const name of names) {
    const path = `${PROJECT}dist/${name}`;
    const text = await Deno.readTextFile(path);
    const [, licences] = /^\/\*!\n(.*?)\n\*\/\n/s.exec(text)!;
    const packages = [...licences!.matchAll(/^(@?[a-z-]+(?:\/[a-z-]+)?)(?:@[\d.]+)?$/gm)]
      .map(([, title]) => title);
    const ofNode = name === "server.js" ? ["@hono/node-server"] : [];
    assertEquals(packages, ["@weir/datastream", ...ofNode, "deno-std", "hono", "url-template"]);
    const { HOME = "/root" } = Deno.env.toObject();
    for (const local of [PROJECT, HOME, "registry.npmjs.org"]) assert(!text.includes(local), local);
    const imports = importsOf(path).filter((specifier) => !specifier.startsWith("node:"));
    assertEquals(imports, []);
    if (name === "worker.js") assert(!/(?:from|import\()\s*"node:/.test(text));
    assertEquals(licences!.match(/^Copyright /gm)!.length, packages.length);
  }
});
