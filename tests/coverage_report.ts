// Prints the coverage of `src/` and `edge/` and fails below the threshold in deno.json. The argument
// is the folder of profiles, which the test run wrote to DENO_COVERAGE_DIR.
import { pathToFileURL } from "node:url";
import { PROJECT, sourceFiles } from "./helpers/project.ts";

const [profiles = "coverage/profiles"] = Deno.args;
const root = pathToFileURL(PROJECT).href;
const include = `--include=^${root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(src|edge)/`;

/** Prints the table; returns whether the coverage reaches the threshold. */
async function printTable(): Promise<boolean> {
  // The scripts of the page run in Chromium, which writes no profiles.
  const args = ["coverage", include, "--exclude=/edge/page/scripts/", profiles];
  return (await new Deno.Command(Deno.execPath(), { args }).spawn().status).success;
}

async function findLoadedFiles(): Promise<Set<string>> {
  const args = ["coverage", "--lcov", include, profiles];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  return new Set(new TextDecoder().decode(stdout).match(/(?<=^SF:).*/gm));
}

/** Whether a file declares more than types, which are never loaded. */
function hasCode(path: string): boolean {
  const code = Deno.readTextFileSync(path);
  return /^(?:export )?(?:default )?(?:abstract |async )?(?:class|const|function|let)\b/m.test(
    code,
  );
}

// Tests kill programs, also while these write their profile.
for (const { name } of Deno.readDirSync(profiles)) {
  const path = `${profiles}/${name}`;
  try {
    JSON.parse(Deno.readTextFileSync(path));
  } catch {
    Deno.removeSync(path);
  }
}
const success = await printTable();
const loaded = await findLoadedFiles();
if (loaded.size === 0) Deno.exit(1);
// The table lacks files that no test loads.
const unloaded = (await sourceFiles("src", "edge"))
  .filter((path) => !loaded.has(PROJECT + path) && hasCode(path));
for (const path of unloaded) {
  console.error(`No test loads ${path}: write a test or remove the file`);
}
if (!success || unloaded.length > 0) Deno.exitCode = 1;
