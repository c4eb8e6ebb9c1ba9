/**
 * Measures by how much the conversion of a page to CSV raises the peak memory of a process.
 *
 * Compares a process that converts a page with one that only holds it, in multiples of the page's
 * size. The measuring processes run this file with arguments.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { csvFromPage } from "../../mod.ts";
import { COLUMNS, csvPages } from "./csv_pages.ts";
import { CURRENT_RUNTIME, logProgress, median, report, requireAtMost } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";

/** Maximum growth of peak memory, in multiples of the page's size. */
const MAX_GROWTH = 2;
const ROUNDS = 5;

type Mode = "hold" | "convert";

/** Returns the peak memory in bytes of a process that holds or converts a page. */
function measurePeak(mode: Mode, file: string): number {
  const self = fileURLToPath(import.meta.url);
  const runner = CURRENT_RUNTIME === "Deno" ? ["run", "--allow-all"] : [];
  const args = [...runner, self, mode, file];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

async function measure(folder: string): Promise<void> {
  const pages = await csvPages();
  const growths = Object.entries(pages).map(([name, page]) => {
    logProgress(`peak memory, page with ${name}`);
    const file = `${folder}/page.json`;
    writeFileSync(file, page);
    const rounds = Array.from(
      { length: ROUNDS },
      () => measurePeak("convert", file) - measurePeak("hold", file),
    );
    return median(rounds) / page.length;
  });
  report({
    name: `growth of peak memory, pages with ${Object.keys(pages).join(", ")}`,
    value: `${growths.map((growth) => Math.max(0, growth).toFixed(2)).join(", ")} pages`,
    ...requireAtMost(MAX_GROWTH, growths, " pages"),
  });
}

const [, , mode, file] = process.argv;
if (mode === undefined) {
  const folder = mkdtempSync(`${tmpdir()}/csv_memory_`);
  try {
    await measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  const page = readFileSync(file!);
  const output = mode === "convert" ? csvFromPage(page, { columns: COLUMNS }) : page;
  const peak = peakMemory("self");
  // This use keeps the output in memory until the peak is read.
  if (output.length === 0) throw new Error("The page is empty");
  console.log(peak);
}
