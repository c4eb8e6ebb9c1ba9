// Compares the ways to read a query, in turns, with `JSON.parse()` of the same pages of 10,000
// records in memory, and prints median ratios. CSV with the columns of `tidy` is compared with CSV
// of the same fields.
import { DataStream } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { formatNumber, logProgress, median, report } from "./measurement.ts";
import {
  drain,
  pagesOf,
  queriesFromMemory,
  QUERY_ROWS,
  type Read,
  READS,
  SELECTIONS,
} from "./query_reads.ts";

const ROUNDS = 9;

async function timeOf(read: () => unknown): Promise<number> {
  const start = performance.now();
  await read();
  return performance.now() - start;
}

const ways: Record<string, Read> = {
  ...READS,
  "toParquet()": (query) => drain(toParquet(query)),
};
const createQuery = queriesFromMemory(DataStream);
/** Reports the median ratio of the time of one function to that of another. */
async function reportRatio(
  name: string,
  read: () => unknown,
  compared: string,
  reference: () => unknown,
): Promise<void> {
  logProgress(name);
  const ratios: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const time = await timeOf(reference);
    const ratio = await timeOf(read) / time;
    if (round >= 0) ratios.push(ratio);
  }
  report({
    name: `${name}, compared with ${compared}`,
    value: `${formatNumber(median(ratios))} times its time`,
  });
}

const rows = `${formatNumber(QUERY_ROWS)} rows`;
for (const [width, select] of Object.entries(SELECTIONS)) {
  const pages = await pagesOf(createQuery(select));
  const parse = () => pages.forEach((page) => JSON.parse(new TextDecoder().decode(page)));
  for (const [name, read] of Object.entries(ways)) {
    const way = `${name}, ${rows} of ${width}`;
    await reportRatio(way, () => read(createQuery(select)), "JSON.parse", parse);
  }
}
const csv = (isTidy: boolean) => {
  const query = createQuery(undefined);
  return drain((isTidy ? query.tidy() : query).csv());
};
const tidy = `csv() with tidy, ${rows} of 44 fields`;
await reportRatio(tidy, () => csv(true), "csv()", () => csv(false));
