// How much of `src/` and `edge/` the tests run: `deno task coverage`, or this with the folder that
// DENO_COVERAGE_DIR named. The least that there may be stands in deno.json.
import { stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";
import { PROJECT } from "./helpers/project.ts";
import { sourceFiles } from "./helpers/tree.ts";

const [profiles = "coverage/profiles"] = Deno.args;
const root = pathToFileURL(PROJECT).href;
const include = `--include=^${root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(src|edge)/`;

/** Runs `deno coverage`; its table is shown, its lcov is given back. */
async function coverage(how: "table" | "lcov"): Promise<{ success: boolean; lcov: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["coverage", ...(how === "lcov" ? ["--lcov"] : []), include, profiles],
    stdout: how === "lcov" ? "piped" : "inherit",
  });
  if (how === "table") return { success: (await command.spawn().status).success, lcov: "" };
  const { success, stdout } = await command.output();
  return { success, lcov: new TextDecoder().decode(stdout) };
}

/** Whether there is anything to run in a file: one of types alone is loaded by nobody. */
function hasCode(path: string): boolean {
  const code = stripTypeScriptTypes(Deno.readTextFileSync(path), { mode: "transform" });
  return code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|import\s*\{\s*\}\s*from\s*"[^"]*";/gm, "")
    .trim() !==
    "";
}

const { success } = await coverage("table");
const { lcov } = await coverage("lcov");
if (lcov === "") Deno.exit(1);
const loaded = new Set(lcov.match(/(?<=^SF:).*/gm));
// What no test loads is in no table.
const unloaded = (await sourceFiles("src", "edge"))
  .filter((path) => !loaded.has(PROJECT + path) && hasCode(path));
for (const path of unloaded) {
  console.error(`No test loads ${path}: write one, or take the file away`);
}
if (!success || unloaded.length > 0) Deno.exitCode = 1;
