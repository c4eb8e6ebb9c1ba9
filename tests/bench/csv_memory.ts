/**
 * How much more memory a process needs at its peak that makes a page into CSV than one that only
 * holds the page, in pages. Run it as `deno task bench:csv`.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { csvFromPage } from "../../mod.ts";
import { COLUMNS, csvPages } from "./csv_pages.ts";

const [, , mode, file] = process.argv;
if (mode === undefined) {
  const runner = process.versions.deno ? ["run", "--allow-all", "--config", "tests/deno.json"] : [];
  for (const [name, page] of Object.entries(await csvPages())) {
    const path = "coverage/csv_memory_page.json";
    writeFileSync(path, page);
    const peak = (mode: string) => {
      const args = [...runner, fileURLToPath(import.meta.url), mode, path];
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
      if (status !== 0) throw new Error(stderr);
      return Number(stdout);
    };
    const growths = Array.from({ length: 5 }, () => peak("convert") - peak("hold"));
    const growth = growths.sort((a, b) => a - b)[2]!;
    console.log(`a page ${name}: peak memory grows by ${(growth / page.length).toFixed(2)} pages`);
  }
} else {
  const page = readFileSync(file!);
  const kept = mode === "convert" ? csvFromPage(page, { columns: COLUMNS }) : page;
  if (kept.length === 0) throw new Error("no page");
  // Not maxRSS: what the parent held when it started this process counts there.
  const [, kibibytes] = /VmHWM:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))!;
  console.log(Number(kibibytes) * 1024);
}
