// The files of the task `bundle` have no dependencies, and the licences of their packages.
import { assert, assertEquals } from "@std/assert";
import { SERVER_BUNDLES } from "../../../.ci/server_bundles.ts";
import { runProgramWith } from "../../helpers/programs.ts";
import { importsOf, PROJECT } from "../../helpers/project.ts";

Deno.test("deno task bundle writes files without dependencies, with the licences of their packages", async () => {
  const args = ["task", "--quiet", "bundle"];
  const { code, stdout, stderr } =
    (await runProgramWith({ cwd: PROJECT }, Deno.execPath(), ...args))!;
  assertEquals([code, stderr], [0, ""]);
  const { HOME = "/root" } = Deno.env.toObject();
  const localPaths = [PROJECT, HOME];
  const names = Object.keys(SERVER_BUNDLES);
  assertEquals(stdout.trim().split("\n"), names.map((name) => `dist/${name}`));
  for (const name of names) {
    const path = `${PROJECT}dist/${name}`;
    const text = await Deno.readTextFile(path);
    const [, licences] = /^\/\*!\n(.*?)\n\*\/\n/s.exec(text)!;
    const packages = [...licences!.matchAll(/^(@?[a-z-]+(?:\/[a-z-]+)?)(?:@[\d.]+)?$/gm)]
      .map(([, title]) => title);
    const ofNode = name === "server.mjs" ? ["@hono/node-server"] : [];
    assertEquals(packages, [
      "@weir/datastream",
      ...ofNode,
      "deno-std",
      "hono",
      "hyparquet",
      "hyparquet-writer",
      "url-template",
    ]);
    for (const local of localPaths) assert(!text.includes(local), local);
    const imports = importsOf(path).filter((specifier) => !specifier.startsWith("node:"));
    // `weir mcp` loads it, and `weir serve` does not.
    assertEquals(imports, name === "server.mjs" ? ["./mcp_library.ts"] : []);
    if (name === "worker.js") assert(!/(?:from|import\()\s*"node:/.test(text));
    // The licences of hyparquet and hyparquet-writer name nobody.
    assertEquals(licences!.match(/^Copyright /gm)!.length, packages.length - 2);
    assertEquals(licences!.match(/^Permission is hereby granted/gm)!.length >= 2, true);
  }
});
