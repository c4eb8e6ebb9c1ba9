/**
 * How much more memory a process needs at its peak that makes a page into CSV than one that only
 * holds the page, in pages, in the runtime that runs this.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { csvFromPage } from "../../mod.ts";
import { COLUMNS, csvPages } from "./csv_pages.ts";
import { atMost, median, report, RUNTIME, say } from "./figure.ts";
import { peakMemory } from "./peak_memory.ts";

const ASKED = 2;
const ROUNDS = 5;

type Mode = "hold" | "convert";

/** What such a process comes to: this file again, with arguments. */
function peakOf(mode: Mode, file: string): number {
  const self = fileURLToPath(import.meta.url);
  const runner = RUNTIME === "Deno"
    ? ["run", "--allow-all", "--config", fileURLToPath(new URL("../deno.json", import.meta.url))]
    : [];
  const args = [...runner, self, mode, file];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

async function measure(folder: string): Promise<void> {
  const pages = await csvPages();
  const growths = Object.entries(pages).map(([name, page]) => {
    say(`peak memory, a page ${name}`);
    const file = `${folder}/page.json`;
    writeFileSync(file, page);
    const rounds = Array.from(
      { length: ROUNDS },
      () => peakOf("convert", file) - peakOf("hold", file),
    );
    return median(rounds) / page.length;
  });
  report({
    what: `growth of peak memory, a page ${Object.keys(pages).join(", ")}`,
    figure: `${growths.map((growth) => Math.max(0, growth).toFixed(2)).join(", ")} pages`,
    ...atMost(ASKED, growths, " pages"),
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
  const kept = mode === "convert" ? csvFromPage(page, { columns: COLUMNS }) : page;
  const peak = peakMemory("self");
  // Asked for here, so that it is held until then.
  if (kept.length === 0) throw new Error("no page");
  console.log(peak);
}
