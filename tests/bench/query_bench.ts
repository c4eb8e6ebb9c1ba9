// Compares the ways to read a query with `JSON.parse()` of the same pages of 10,000 records in memory,
// and CSV with the columns of `tidy` with CSV of the same fields. A ratio is a multiple of that time.
import { DataStream } from "../../mod.ts";
import { toParquet } from "../../src/formats/parquet.ts";
import { compare } from "./measurement.ts";
import { drain, pagesOf, queriesFromMemory, type Read, READS, SELECTIONS } from "./query_reads.ts";

const ways: Record<string, Read> = {
  ...READS,
  "toParquet()": (query) => drain(toParquet(query)),
};
const createQuery = queriesFromMemory(DataStream);
for (const [width, select] of Object.entries(SELECTIONS)) {
  const pages = await pagesOf(createQuery(select));
  const parse = () => pages.forEach((page) => JSON.parse(new TextDecoder().decode(page)));
  for (const [name, read] of Object.entries(ways)) {
    const title = `${name} of ${width}, compared with JSON.parse`;
    await compare(title, () => () => read(createQuery(select)), () => parse);
  }
}
await compare(
  "csv() with tidy, compared with csv()",
  () => () => drain(createQuery(undefined, true).csv()),
  () => () => drain(createQuery(undefined).csv()),
);
