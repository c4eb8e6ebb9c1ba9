// Compares the ways to read a query, in turns, with `JSON.parse()` of the same pages of 10,000
// records in memory, and prints median ratios. CSV with the columns of `tidy` is compared with CSV
// of the same fields.
import { DataStream, type Query } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { formatNumber, logProgress, median, report } from "./measurement.ts";
import { pagesOf, queriesFromMemory, QUERY_ROWS, READS, SELECTIONS } from "./query_reads.ts";

const ROUNDS = 9;

async function timeOf(read: () => unknown): Promise<number> {
  const start = performance.now();
  await read();
  return performance.now() - start;
}

const drain = (bytes: ReadableStream) => bytes.pipeTo(new WritableStream());
const ways: Record<string, (query: Query<unknown>) => Promise<unknown>> = {
  ...READS,
  "toParquet()": (query) => drain(toParquet(query)),
};
const createQuery = queriesFromMemory(DataStream);
for (const [width, select] of Object.entries(SELECTIONS)) {
  const pages = await pagesOf(createQuery(select));
  const parse = () => pages.forEach((page) => JSON.parse(new TextDecoder().decode(page)));
  for (const [name, read] of Object.entries(ways)) {
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

const ratios: number[] = [];
for (let round = -2; round < ROUNDS; round++) {
  const csvTime = await timeOf(() => drain(createQuery(undefined).csv()));
  const ratio = await timeOf(() => drain(createQuery(undefined).tidy().csv())) / csvTime;
  if (round >= 0) ratios.push(ratio);
}
report({
  name: `csv() with tidy, ${formatNumber(QUERY_ROWS)} rows of 44 fields, compared with csv()`,
  value: `${formatNumber(median(ratios))} times its time`,
});
