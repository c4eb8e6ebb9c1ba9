/**
 * Compares `csvFromPage()` with `JSON.parse()` and other CSV libraries, in the current runtime.
 *
 * Each page has 10,000 records. Both writers take turns; the result is the median ratio of their
 * times.
 */
import { stringify } from "@std/csv/stringify";
import { CsvStringifyStream } from "@std/csv/stringify-stream";
import { Parser } from "@json2csv/plainjs";
import { stringify as csvStringify } from "csv-stringify/sync";
import { csvFormat } from "d3-dsv";
import papaparse from "papaparse";
import { csvFromPage } from "../../mod.ts";
import { COLUMNS, csvPages } from "./csv_pages.ts";
import { formatNumber, logProgress, median, report, requireAtLeast } from "./measurement.ts";

type Row = Record<string, unknown>;
type Writer = (page: Uint8Array) => Uint8Array | Promise<Uint8Array>;

const ROUNDS = 7;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const rowsOf = (page: Uint8Array): Row[] => JSON.parse(decoder.decode(page)).value;
const columns = [...COLUMNS];

const weir: Writer = (page) => csvFromPage(page, { columns });

/** Another library that writes CSV. */
interface Library {
  name: string;
  write: Writer;
  /** Minimum ratio of its time to Weir's. */
  minRatio?: number;
}

const libraries: Library[] = [
  {
    name: "@std/csv stringify (whole page)",
    minRatio: 4,
    write: (page) =>
      encoder.encode(
        stringify([columns, ...rowsOf(page).map((row) => columns.map((name) => row[name]))]),
      ),
  },
  {
    name: "@std/csv CsvStringifyStream (row by row)",
    minRatio: 15,
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

/** Returns the median ratio of a writer's time to Weir's. */
async function measureRatio(write: Writer, page: Uint8Array): Promise<number> {
  await time(write, page);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Measures the second of two calls: the first one collects the garbage of the other writer.
    await time(write, page);
    const libraryTime = await time(write, page);
    await time(weir, page);
    ratios.push(libraryTime / await time(weir, page));
  }
  return median(ratios);
}

const pages = await csvPages();
const ratios = new Map<Library, number[]>(libraries.map((library) => [library, []]));
for (const [name, page] of Object.entries(pages)) {
  for (let round = 0; round < 5; round++) await time(weir, page);
  for (const library of libraries) {
    logProgress(`page with ${name}, compared with ${library.name}`);
    ratios.get(library)!.push(await measureRatio(library.write, page));
  }
}
for (const [{ name, minRatio }, measured] of ratios) {
  report({
    name: `pages with ${Object.keys(pages).join(", ")}, compared with JSON.parse and ${name}`,
    value: `${measured.map((ratio) => formatNumber(ratio)).join(", ")} times`,
    ...minRatio && requireAtLeast(minRatio, measured),
  });
}
