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

type Row = Record<string, unknown>;
type Writer = (page: Uint8Array) => Uint8Array | Promise<Uint8Array>;

const ROUNDS = 9;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const rowsOf = (page: Uint8Array): Row[] => JSON.parse(decoder.decode(page)).value;
const columns = [...COLUMNS];

const weir: Writer = (page) => csvFromPage(page, { columns });
const others: Record<string, Writer> = {
  "JSON.parse, @std/csv stringify": (page) =>
    encoder.encode(
      stringify([columns, ...rowsOf(page).map((row) => columns.map((name) => row[name]))]),
    ),
  "JSON.parse, @std/csv CsvStringifyStream": async (page) => {
    const rows = ReadableStream.from(rowsOf(page)).pipeThrough(new CsvStringifyStream({ columns }));
    const bytes = rows.pipeThrough(new TextEncoderStream());
    return new Uint8Array(await new Response(bytes).arrayBuffer());
  },
  "JSON.parse, csv-stringify": (page) =>
    encoder.encode(csvStringify(rowsOf(page), { columns, header: true })),
  "JSON.parse, papaparse": (page) =>
    encoder.encode(papaparse.unparse({ fields: columns, data: rowsOf(page) })),
  "JSON.parse, @json2csv/plainjs": (page) =>
    encoder.encode(new Parser({ fields: columns }).parse(rowsOf(page))),
  "JSON.parse, d3-dsv": (page) => encoder.encode(csvFormat(rowsOf(page), columns)),
};

async function time(writer: Writer, page: Uint8Array): Promise<number> {
  const start = performance.now();
  await writer(page);
  return performance.now() - start;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
const { navigator } = globalThis as { navigator?: { userAgent: string } };
const { process } = globalThis as { process?: { version: string } };

for (const [name, page] of Object.entries(await csvPages())) {
  const runtime = navigator?.userAgent ?? `Node ${process?.version}`;
  console.log(`\n${runtime}, a page ${name}: ${(page.length / 1e6).toFixed(1)} MB`);
  for (let round = 0; round < 5; round++) await time(weir, page);
  for (const [other, writer] of Object.entries(others)) {
    await time(writer, page);
    const ours: number[] = [];
    const theirs: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // Of two in a row, the second: the first pays for the garbage of the other writer.
      await time(writer, page);
      theirs.push(await time(writer, page));
      await time(weir, page);
      ours.push(await time(weir, page));
      ratios.push(theirs.at(-1)! / ours.at(-1)!);
    }
    console.log(
      `  ${other}: ${median(theirs).toFixed(0)} ms, Weir ${median(ours).toFixed(1)} ms, ` +
        `${median(ratios).toFixed(1)} times as fast`,
    );
  }
}
