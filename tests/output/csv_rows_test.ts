import { assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../mod.ts";
import { csvFromPages } from "../../src/output/csv_rows.ts";
import { readCsv } from "../helpers/rfc4180.ts";

const url = "https://upstream.invalid/v1/odata/v4/Records";

function streamOf<T>(items: T[]): ReadableStream<T> {
  return new ReadableStream({
    pull(controller) {
      const item = items.shift();
      if (item === undefined) controller.close();
      else controller.enqueue(item);
    },
  }, { highWaterMark: 0 });
}

async function csvOf(pages: object[][], columns: string[], open = false): Promise<string> {
  return await new Response(csvFromPages(streamOf(pages), { columns, open, url })).text();
}

Deno.test("csvFromPages() writes the header once, and CRLF line ends", async () => {
  const csv = await csvOf([[{ a: 1, b: "x" }], [{ a: 2, b: "y" }]], ["a", "b"]);
  assertEquals(csv, "a,b\r\n1,x\r\n2,y\r\n");
});

Deno.test("csvFromPages() writes the header also where there are no rows", async () => {
  assertEquals(await csvOf([[]], ["a", "b"]), "a,b\r\n");
  assertEquals(await csvOf([], ["a", "b"]), "a,b\r\n");
});

Deno.test("csvFromPages() passes over a page without rows, wherever it comes", async () => {
  assertEquals(await csvOf([[], [{ a: 1 }], [], [], [{ a: 2 }], []], ["a"]), "a\r\n1\r\n2\r\n");
});

const cells: [value: unknown, cell: string][] = [
  [null, ""],
  [undefined, ""],
  ["", ""],
  [0, "0"],
  [-1.5, "-1.5"],
  ["a,b", '"a,b"'],
  ['say "ah"', '"say ""ah"""'],
  ["a\nb", '"a\nb"'],
  ["a\r\nb", '"a\r\nb"'],
  ["a\rb", '"a\rb"'],
  ["\r", '"\r"'],
  ['a\r"b', '"a\r""b"'],
  ["a\r,b", '"a\r,b"'],
  ["=1+1", "=1+1"],
  ["é 🦆", "é 🦆"],
  [" a ", " a "],
];
for (const [value, cell] of cells) {
  Deno.test(`csvFromPages() writes ${JSON.stringify(value)} as ${JSON.stringify(cell)}`, async () => {
    const rows = [{ a: "x", b: value, c: "y,z" }, { a: 1, b: 2, c: 3 }];
    const csv = await csvOf([rows], ["a", "b", "c"]);
    assertEquals(csv, `a,b,c\r\nx,${cell},"y,z"\r\n1,2,3\r\n`);
  });
}

Deno.test("csvFromPages() writes no blank line, which readers skip", async () => {
  assertEquals(
    await csvOf([[{ a: null }, { a: "" }, { a: 0 }, {}]], ["a"]),
    'a\r\n""\r\n""\r\n0\r\n""\r\n',
  );
});

Deno.test("csvFromPages() keeps a cell under its column, in whatever order the keys come", async () => {
  assertEquals(
    await csvOf([[{ b: 2, a: 1 }, { b: 3 }, { a: 4 }]], ["a", "b"]),
    "a,b\r\n1,2\r\n,3\r\n4,\r\n",
  );
});

Deno.test("csvFromPages() appends new fields of the first page where columns are open", async () => {
  assertEquals(
    await csvOf([[{ a: 1, c: 3 }, { d: 4 }]], ["a", "b"], true),
    "a,b,c,d\r\n1,,3,\r\n,,,4\r\n",
  );
  assertEquals(await csvOf([[{ a: 1, c: 3 }]], ["a"], false), "a\r\n1\r\n");
});

Deno.test("csvFromPages() takes nothing that a row inherits for a cell", async () => {
  const pages: object[][] = [[{ a: 1, constructor: "x" }, { a: 2 }]];
  assertEquals(
    await csvOf(pages, ["a", "toString"], true),
    "a,toString,constructor\r\n1,,x\r\n2,,\r\n",
  );
});

Deno.test("csvFromPages() fails at a field that comes after the header, and names it", async () => {
  let cancelled = false;
  const pages = new ReadableStream<object[]>({
    pull: (controller) =>
      controller.enqueue(cancelled ? [] : [{ a: 1, ...(started && { late: 2 }) }]),
    cancel() {
      cancelled = true;
    },
  }, { highWaterMark: 0 });
  let started = false;
  const reader = csvFromPages(pages, { columns: ["a"], open: true, url }).getReader();
  await reader.read();
  started = true;
  const error = await assertRejects(() => reader.read(), DataStreamError, '"late"');
  assertEquals([error.kind, error.url], ["page", url]);
  assertEquals(cancelled, true);
});

Deno.test("csvFromPages() makes one chunk a page, when it is pulled", async () => {
  const pages = [[{ a: 1 }], [{ a: 2 }], [{ a: 3 }]];
  const reader = csvFromPages(streamOf(pages), { columns: ["a"], open: false, url }).getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "a\r\n1\r\n");
  assertEquals(pages.length, 2);
  await reader.cancel();
});

Deno.test("csvFromPages() passes a fault of the pages on", async () => {
  const fault = new Error("page lost");
  const pages = new ReadableStream<object[]>({ pull: () => Promise.reject(fault) });
  const reading = new Response(csvFromPages(pages, { columns: ["a"], open: false, url })).text();
  await assertRejects(() => reading, Error, "page lost");
});

Deno.test("csvFromPages() is read back whole, each cell to the letter", async () => {
  const values = cells.map(([value]) => value);
  const [header, row] = readCsv(await csvOf([[{ ...values }]], Object.keys(values)));
  assertEquals(header, Object.keys(values));
  assertEquals(row, values.map((value) => String(value ?? "")));
});
