// `deno task rename` gives the package another name; the code and its documents still agree.
import { assertEquals } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { runProgramWith } from "../helpers/programs.ts";
import { copyClone } from "./copy_clone.ts";

Deno.test("deno task rename replaces the name in all files of a clone, which still passes its checks", async () => {
  const folder = await copyClone();
  const run = async (program: string, ...args: string[]) => {
    const result = (await runProgramWith({ cwd: folder }, program, ...args))!;
    assertEquals(result.code, 0, result.stdout + result.stderr);
    return result.stdout;
  };
  try {
    await run("git", "init", "--quiet");
    await run("git", "add", "--all");
    const deno = Deno.execPath();
    await run(deno, "task", "--quiet", "rename", "@acme/water-data");
    const text = await run("git", "ls-files", "-z");
    const files = text.split("\0").filter(Boolean);
    const contents = await Promise.all(files.map((path) => Deno.readTextFile(folder + path)));
    const names = [jsr.name, jsr.name.slice(1).replace("/", "-")];
    const remaining = files.filter((_, at) => names.some((name) => contents[at]!.includes(name)));
    assertEquals(remaining, []);
    await run(deno, "check", "mod.ts", "edge/app.ts", "src/cli/main.ts");
    await run(deno, "test", "-A", "--no-check", "tests/unit/project");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
