/**
 * Compares the ways to read a query with `JSON.parse()` of the same pages, in the current runtime.
 *
 * The pages of 10,000 records come from memory. All ways take turns; the result is the median ratio of
 * their times.
 */
import { DataStream } from "../../mod.ts";
import { formatNumber, logProgress, median, report } from "./measurement.ts";
import { pagesOf, queriesFromMemory, QUERY_ROWS, READS, SELECTIONS } from "./query_reads.ts";

const ROUNDS = 9;

async function timeOf(read: () => unknown): Promise<number> {
  const start = performance.now();
  await read();
  return performance.now() - start;
}

const createQuery = queriesFromMemory(DataStream);
for (const [width, select] of Object.entries(SELECTIONS)) {
  const pages = await pagesOf(createQuery(select));
  const parse = () => pages.forEach((page) => JSON.parse(new TextDecoder().decode(page)));
  for (const [name, read] of Object.entries(READS)) {
    logProgress(`${name}, ${width}`);
    const ratios: number[] = [];
    for (let round = -2; round < ROUNDS; round++) {
      const parseTime = await timeOf(parse);
      const ratio = await timeOf(() => read(createQuery(select))) / parseTime;
      if (round >= 0) ratios.push(ratio);
    }
    report({
      name: `${name}, ${formatNumber(QUERY_ROWS)} rows of ${width}, compared with JSON.parse`,
      value: `${formatNumber(median(ratios))} times its time`,
    });
  }
}
