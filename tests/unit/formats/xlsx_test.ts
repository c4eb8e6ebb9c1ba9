// A workbook has the cells of CSV: identifiers and codes as text, numbers with their digits, dates as dates, and no formula.
// It has the same bytes after any interruption. Other programs read it in `tests/package/xlsx_readers_test.ts`.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type Batch, DataStream, DataStreamError, ValidationError } from "../../../mod.ts";
import { concatBytes, utf8Encoder } from "../../../src/bytes.ts";
import { createWriter } from "../../../src/formats/formats.ts";
import { writePage } from "../../../src/formats/page_writer.ts";
import { toXlsx, type XlsxOptions } from "../../../src/formats/xlsx.ts";
import { createXlsxFormat } from "../../../src/formats/xlsx_writer.ts";
import { clientOf, readAll } from "../../helpers/parquet.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { readWorkbook, textsOf, workbookOf } from "../../helpers/xlsx.ts";
import { ROOT } from "../../helpers/upstream.ts";

const sandbox = () => sandboxAndClient({ records: 450 }, { requestsPerSecond: Infinity }).client;

for (const resource of ["Metadata", "Locations", "Records"] as const) {
  Deno.test(`toXlsx() writes the cells of csv() when the rows are ${resource}`, async () => {
    const query = resource === "Records"
      ? sandbox().records({ tidy: true })
      : sandbox().query(resource);
    const csv = readCsv(await new Response(query.csv()).text());
    const { Data: data = [] } = (await workbookOf(query)).sheets;
    assert(data.length > 3);
    assertEquals(data.map((cells) => textsOf(cells, csv[0]!.length)), csv);
  });
}

/** Type, value and number format of a cell, by the JSON of a field. */
const CELLS: [member: string, type: string, value: string, format: string][] = [
  ['"MonitoringLocationID":"007"', "text", "007", "@"],
  ['"MonitoringLocationID":7', "text", "7", "@"],
  ['"ResultComment":"2-3"', "text", "2-3", "@"],
  ['"ResultComment":"1E5"', "text", "1E5", "@"],
  ['"ResultComment":"1/2"', "text", "1/2", "@"],
  ['"ActivityStartTime":"03:15:00"', "text", "03:15:00", "@"],
  ['"ResultComment":"=1+1"', "text", "=1+1", "@"],
  ['"ResultComment":"a&<b>_c_x000D_"', "text", "a&<b>_c_x000D_", "@"],
  ['"ResultComment":"_x000D_x000D_"', "text", "_x000D_x000D_", "@"],
  ['"ResultComment":" µé \\u0007\\u000b\\r\\n\\t "', "text", " µé \x07\x0b\r\n\t ", "@"],
  ['"ResultComment":"\\u0000a\\ud800b"', "text", "a\ufffdb", "@"],
  ['"ResultComment":"\ufffe\uffff\uff01"', "text", "\ufffe\uffff\uff01", "@"],
  [`"ResultComment":"${"é".repeat(256)}"`, "text", "é".repeat(256), "General"],
  ['"ResultValue":7.10', "number", "7.10", "0.00"],
  ['"ResultValue":-12', "number", "-12", "0"],
  ['"ResultValue":"7.10"', "number", "7.10", "0.00"],
  ['"ResultValue":"<0.05"', "text", "<0.05", "@"],
  ['"ResultValue":1.5e-7', "number", "1.5e-7", "General"],
  ['"ResultValue":12345678901234567', "text", "12345678901234567", "@"],
  ['"ResultValue":0.30000000000000004', "number", "0.30000000000000004", `0.${"0".repeat(17)}`],
  ['"ResultValue":0.1000000000000000000', "number", "0.1000000000000000000", `0.${"0".repeat(19)}`],
  [`"ResultValue":0.1${"0".repeat(32_000)}1`, "text", `0.1${"0".repeat(32_000)}1`, "General"],
  ['"ResultValue":1e400', "text", "1e400", "@"],
  ['"ResultValue":1e-400', "text", "1e-400", "@"],
  ['"ResultValue":5e-324', "text", "5e-324", "@"],
  ['"ResultValue":0.0', "number", "0.0", "0.0"],
  ['"ResultValue":true', "text", "true", "@"],
  ['"ActivityStartDate":"2024-02-29"', "number", "45351", "yyyy\\-mm\\-dd"],
  ['"ActivityStartDate":"1900-03-01"', "number", "61", "yyyy\\-mm\\-dd"],
  ['"ActivityStartDate":"1900-02-28"', "text", "1900-02-28", "@"],
  ['"ActivityStartDate":"2023-02-29"', "text", "2023-02-29", "@"],
  ['"ActivityStartDate":45351', "text", "45351", "@"],
];
for (const [member, type, value, format] of CELLS) {
  const name = member.length > 60 ? `${member.slice(0, 60)}…` : member;
  Deno.test(`toXlsx() writes a ${type} when a row has ${name}`, async () => {
    const [, field = ""] = /"(\w+)"/.exec(member)!;
    const query = clientOf([`{"Id":1,${member}}`]).records({ select: [field] });
    const [, cells] = (await workbookOf(query)).sheets.Data!;
    assertEquals(cells, [{ type, value, format } as typeof cells extends (infer C)[] ? C : never]);
  });
}

const withoutEscapes = (text: string) =>
  text.split("").filter((unit) => unit > " " && !'"\\'.includes(unit)).join("");

Deno.test("toXlsx() writes each UTF-16 code unit so that a reader has it again", async () => {
  const units = Array.from({ length: 0xffff }, (_, index) => String.fromCharCode(index + 1));
  const rows: string[] = [];
  for (let at = 0; at < units.length; at += 100) {
    const text = `x${units.slice(at, at + 100).join("_")}x`;
    // A reader of XML ends lines with a line feed.
    rows.push(`{"Id":${at},"ResultComment":${JSON.stringify(text)}}`);
    rows.push(
      `{"Id":${at + 1},"ResultComment":${JSON.stringify(withoutEscapes(text))}}`,
    );
  }
  const query = clientOf(rows).records({ select: ["ResultComment"] });
  const { Data: [, ...data] = [] } = (await workbookOf(query)).sheets;
  assertEquals(
    data.map(([cell]) => cell!.value),
    rows.map((row) => JSON.parse(row).ResultComment.toWellFormed()),
  );
});

Deno.test("toXlsx() writes a sheet of citations and one of meanings, in English and in French", async () => {
  const client = sandbox();
  const query = client.records({ limit: 3, select: ["DOI", "ResultValue"] });
  const citations = () => client.citations();
  const cited = await citations();
  const sheetNames = { en: ["Citations", "Columns"], fr: ["Citations", "Colonnes"] };
  for (const language of ["en", "fr"] as const) {
    const { sheets, parts } = await workbookOf(query, { citations, language });
    const names = ["Data", ...sheetNames[language]];
    assertEquals(Object.keys(sheets), names);
    const [first, ...others] = sheets[names[1]!]!.map((row) => row.map((cell) => cell?.value));
    assertEquals(first!.length, 5);
    const { citation, doi, version, published, licence } = cited[0]!;
    assertEquals(others.filter(([, text]) => text?.startsWith("10.")).length, 1);
    assertEquals(others[0], [citation, doi, version, published, licence]);
    assert(others.some((row) => row[1] === query.url.replace("&%24top=3", "")));
    const links = parts.get("xl/worksheets/_rels/sheet2.xml.rels")!;
    assert(links.includes(`Target="https://doi.org/${doi}" TargetMode="External"`));
    const columns = sheets[names[2]!]!.map((row) => row.map((cell) => cell?.value));
    assertEquals(columns.map(([name]) => name).slice(1), ["DOI", "ResultValue"]);
    const described = {
      en: ["ResultValue", "Value", undefined, "in ResultUnit"],
      fr: ["ResultValue", "Valeur", undefined, "dans ResultUnit"],
    };
    assertEquals(columns[2]!.with(2, undefined), described[language]);
  }
  const { sheets, parts } = await workbookOf(query);
  assertEquals(sheets.Citations![1]![0]!.value.slice(0, 31), "No dataset is listed here. Cite");
  const [, embedded] = /<vt:lpwstr>(.*)<\/vt:lpwstr>/s.exec(parts.get("docProps/custom.xml")!)!;
  const { resources: [{ rows, format }] } = JSON.parse(embedded!.replaceAll("&amp;", "&"));
  assertEquals([rows, format], [3, "xlsx"]);
  const data = parts.get("xl/worksheets/sheet1.xml")!;
  assert(
    data.includes('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'),
  );
  assert(data.includes('</sheetData><autoFilter ref="A1:B4"/>'));
});

Deno.test("toXlsx() writes no link when a licence or a DOI is no address", async () => {
  const cited = { doi: "a b", link: "javascript:alert(1)", name: "=n", citation: "=1+1" };
  const citation = { ...cited, organization: "", version: "", published: "", licence: 'none"<' };
  const query = clientOf([]).records({ select: ["ResultValue"] });
  const { sheets, parts } = await workbookOf(query, { citations: [citation] });
  assertEquals(sheets.Citations![1]!.map((cell) => cell?.value), [
    "=1+1",
    "a b",
    undefined,
    undefined,
    'none"<',
  ]);
  assert(!parts.get("xl/worksheets/_rels/sheet2.xml.rels")!.includes("Target"));
});

Deno.test("toXlsx() names the row and the field when a text is too long for a cell, and cuts it when that is allowed", async () => {
  const cells: [text: string, cut: string][] = [
    ["é".repeat(32_768), "é".repeat(32_767)],
    [`${"a".repeat(32_766)}\u{1f4a7}`, "a".repeat(32_766)],
    ["é".repeat(32_767), "é".repeat(32_767)],
  ];
  const rows = cells.map(([text], index) =>
    `{"Id":${index},"ResultComment":${JSON.stringify(text)}}`
  );
  const query = clientOf(rows).records({ select: ["ResultComment"] });
  const error = await assertRejects(() => readAll(toXlsx(query)), DataStreamError);
  assertEquals(error.option, "invalidValues");
  assert(
    error.message.includes(
      "The row with Id 0 has ResultComment with 32768 characters, more than the 32767 that a cell",
    ),
    error.message,
  );
  const { sheets, parts } = await workbookOf(query, { invalidValues: "cut" });
  assertEquals(sheets.Data!.slice(1).map(([cell]) => cell!.value), cells.map(([, cut]) => cut));
  assert(parts.get("docProps/custom.xml")!.includes('"cutTexts":2'));
});

Deno.test("toXlsx() names a column of tidy when its text is too long for a cell", async () => {
  const rows = [`{"Id":1,"ResultValue":1,"ResultUnit":"${"m".repeat(40_000)}"}`];
  const query = clientOf(rows).records({ select: ["Id"], tidy: true });
  const error = await assertRejects(() => readAll(toXlsx(query)), DataStreamError);
  assert(error.message.includes("has unit with 40000 characters"), error.message);
});

Deno.test("toXlsx() fails after the first page when more rows are counted than a sheet has", async () => {
  const link = `${ROOT}/Records?$skiptoken=Id:1`;
  const requests: string[] = [];
  const client = new DataStream({
    baseUrl: ROOT,
    fetch({ url }) {
      requests.push(url);
      const isCount = new URL(url).searchParams.has("$count");
      const page = { value: [{ Id: 1 }], "@odata.nextLink": link };
      return Promise.resolve(Response.json(isCount ? { value: 1_048_576 } : page));
    },
  });
  const error = await assertRejects(() => readAll(toXlsx(client.records())), DataStreamError);
  assertEquals([error.kind, error.option, error.expectedRows], [
    "too-many-rows",
    "format",
    1_048_576,
  ]);
  assert(error.message.includes("more than 1048575:"), error.message);
  assertEquals(requests.length, 2);
});

const ROWS = Array.from(
  { length: 3_000 },
  (_, id) =>
    `{"Id":${id},"ResultValue":${(id * 7919 % 1000) / 8},"ResultComment":"${
      "text ".repeat(id % 90)
    }${id}"}`,
);

Deno.test("toXlsx() gives the same bytes when it is continued after any batch", async () => {
  const format = createXlsxFormat({}, { time: new Date(0) });
  const read = async (after?: Batch<Uint8Array>["cursor"], count = Infinity) => {
    const query = clientOf(ROWS).records({ select: ["ResultValue", "ResultComment"], top: 300 });
    const found: Batch<Uint8Array>[] = [];
    for await (const batch of query.batches({ format, after })) {
      if (found.push(batch) === count) break;
    }
    return found;
  };
  const toBytes = (batches: readonly Batch<Uint8Array>[]) =>
    concatBytes(batches.map(({ data }) => data));
  const whole = await read();
  assertEquals(whole.length, 11);
  for (let count = 1; count < whole.length; count++) {
    const first = await read(undefined, count);
    const cursor = JSON.parse(JSON.stringify(first.at(-1)!.cursor));
    const rest = await read(cursor);
    assertEquals(toBytes([...first, ...rest]), toBytes(whole));
  }
  assert(readWorkbook(toBytes(whole)).sheets.Data!.length === ROWS.length + 1);
});

Deno.test("createWriter() writes the same workbook when long pages are rejected and written again", async () => {
  const format = createXlsxFormat({}, { time: new Date(0) });
  const select = ["Id", "ResultValue", "ResultComment"];
  const rows = [0, 1, 2, 3].flatMap((copy) =>
    ROWS.map((row) => row.replace('"Id":', `"Id":${copy + 1}`))
  );
  const toPages = (length: number) =>
    Array.from(
      { length: rows.length / length },
      (_, page) =>
        utf8Encoder.encode(`{"value":[${rows.slice(page * length, (page + 1) * length)}]}`),
    );
  const write = async (pages: readonly Uint8Array[], rejects: boolean) => {
    const writer = createWriter(format, { resource: "Records", select });
    const parts = pages.map((page) => {
      const before = JSON.stringify(writer.state);
      for (const share of rejects ? [0.9, 0.5] : []) {
        const rejected = writer.openPage();
        rejected.feed(page.subarray(0, share * page.length));
        // The rows before are compressed.
        assert(rejected.takeableLength < 1.1 * 2 ** 20, `${rejected.takeableLength} bytes`);
        assertEquals(JSON.stringify(writer.state), before);
      }
      return writePage(writer, page);
    });
    // The file can also end after a page that was rejected.
    if (rejects) writer.openPage().feed(pages[0]!);
    return concatBytes([...parts, await writer.end()]);
  };
  const short = await write(toPages(100), false);
  assertEquals(readWorkbook(short).sheets.Data!.length, rows.length + 1);
  for (const length of [6_000, 12_000]) {
    assertEquals(await write(toPages(length), false), short);
    assertEquals(await write(toPages(length), true), short);
  }
});

Deno.test("createWriter() adds no column to a workbook after a megabyte of rows", () => {
  const write = (count: number) => {
    const writer = createWriter(createXlsxFormat({}), { resource: "Records" });
    const row = `{"ResultComment":"${"x".repeat(1_000)}"}`;
    return writePage(
      writer,
      utf8Encoder.encode(`{"value":[${Array(count).fill(row)},{"New":1}]}`),
    );
  };
  assertEquals(write(900).length > 0, true);
  assertThrows(() => write(1_100), Error, 'Field "New" first appears after the header was written');
});

Deno.test("toXlsx() adds a column when rows of the first page have a field that Weir does not know", async () => {
  const rows = ['{"Id":1}', '{"Id":2,"New":1.50}', '{"Id":3,"New":"1.50"}'];
  const { Data: data = [] } = (await workbookOf(clientOf(rows).records({}))).sheets;
  assertEquals(data[0]!.at(-1)!.value, "New");
  assertEquals(data.slice(1).map((cells) => cells[44]), [
    undefined,
    { type: "number", value: "1.50", format: "0.00" },
    { type: "text", value: "1.50", format: "@" },
  ]);
  const message = 'Field "New" first appears after the header was written';
  const late = clientOf(rows).records({ top: 1 });
  await assertRejects(() => readAll(toXlsx(late)), DataStreamError, message);
  const tidy = clientOf(rows).records({ tidy: true });
  await assertRejects(() => readAll(toXlsx(tidy)), DataStreamError, message);
});

Deno.test("toXlsx() writes the header when there are no rows", async () => {
  const { sheets: { Data: data = [] } } = await workbookOf(clientOf([]).records());
  assertEquals([data.length, data[0]!.length], [1, 44]);
});

Deno.test("toXlsx() rejects an unknown option, and bytes() the name of the format", () => {
  const query = clientOf([]).records();
  const invalid: unknown[] = [{ invalidValues: "null" }, { language: "de" }, { sheet: "a" }, {
    citations: 5,
  }, { time: 1 }];
  for (const options of invalid) {
    assertThrows(() => toXlsx(query, options as XlsxOptions), ValidationError);
  }
  assertThrows(() => query.bytes("xlsx" as never), ValidationError, "@weir/datastream/xlsx");
});
