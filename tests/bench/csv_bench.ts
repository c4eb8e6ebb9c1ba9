/**
 * CSV from a page's bytes beside what others make of them, in the runtime that runs this: each page
 * of 10,000 records in turns, and the median of the ratios of the rounds.
 */
import { stringify } from "@std/csv/stringify";
import { CsvStringifyStream } from "@std/csv/stringify-stream";
import { Parser } from "@json2csv/plainjs";
import { stringify as csvStringify } from "csv-stringify/sync";
import { csvFormat } from "d3-dsv";
import papaparse from "papaparse";
import { csvFromPage } from "../../mod.ts";
import { COLUMNS, csvPages } from "./csv_pages.ts";
import { atLeast, median, report, rounded, say } from "./figure.ts";

type Row = Record<string, unknown>;
type Writer = (page: Uint8Array) => Uint8Array | Promise<Uint8Array>;

const ROUNDS = 7;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const rowsOf = (page: Uint8Array): Row[] => JSON.parse(decoder.decode(page)).value;
const columns = [...COLUMNS];

const weir: Writer = (page) => csvFromPage(page, { columns });

interface Other {
  name: string;
  write: Writer;
  /** How many times as fast Weir has to be. */
  asked?: number;
}

/** What others make of a page, after JSON.parse. */
const others: Other[] = [
  {
    name: "@std/csv stringify, a page at once",
    asked: 4,
    write: (page) =>
      encoder.encode(
        stringify([columns, ...rowsOf(page).map((row) => columns.map((name) => row[name]))]),
      ),
  },
  {
    name: "@std/csv CsvStringifyStream, row by row",
    asked: 15,
    async write(page) {
      const lines = ReadableStream.from(rowsOf(page))
        .pipeThrough(new CsvStringifyStream({ columns }))
        .pipeThrough(new TextEncoderStream());
      return new Uint8Array(await new Response(lines).arrayBuffer());
    },
  },
  {
    name: "csv-stringify",
    write: (page) => encoder.encode(csvStringify(rowsOf(page), { columns, header: true })),
  },
  {
    name: "papaparse",
    write: (page) => encoder.encode(papaparse.unparse({ fields: columns, data: rowsOf(page) })),
  },
  {
    name: "@json2csv/plainjs",
    write: (page) => encoder.encode(new Parser({ fields: columns }).parse(rowsOf(page))),
  },
  { name: "d3-dsv", write: (page) => encoder.encode(csvFormat(rowsOf(page), columns)) },
];

async function time(write: Writer, page: Uint8Array): Promise<number> {
  const start = performance.now();
  await write(page);
  return performance.now() - start;
}

/** How many times as long a writer takes as Weir. */
async function ratioOf(write: Writer, page: Uint8Array): Promise<number> {
  await time(write, page);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Of two in a row, the second: the first pays for the garbage of the other writer.
    await time(write, page);
    const theirs = await time(write, page);
    await time(weir, page);
    ratios.push(theirs / await time(weir, page));
  }
  return median(ratios);
}

const pages = await csvPages();
const ratios = new Map<Other, number[]>(others.map((other) => [other, []]));
for (const [name, page] of Object.entries(pages)) {
  for (let round = 0; round < 5; round++) await time(weir, page);
  for (const other of others) {
    say(`a page ${name}, beside ${other.name}`);
    ratios.get(other)!.push(await ratioOf(other.write, page));
  }
}
for (const [{ name, asked }, found] of ratios) {
  report({
    what: `a page ${Object.keys(pages).join(", ")}, beside JSON.parse and ${name}`,
    figure: `${found.map((ratio) => rounded(ratio)).join(", ")} times`,
    ...asked && atLeast(asked, found),
  });
}
