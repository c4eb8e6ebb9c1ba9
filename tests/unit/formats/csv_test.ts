// CSV follows RFC 4180, keeps the digits of numbers, and has the columns and the form that the options say. The properties
// of `tests/properties/pages_test.ts` have the other texts, numbers, columns and orders of fields.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { csvFromPage, type CsvOptions, ValidationError } from "../../../mod.ts";

const encoder = new TextEncoder();
const csvOf = (page: string, options?: CsvOptions) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(csvFromPage(encoder.encode(page), options));
const linesOf = (page: string, columns: readonly string[]) =>
  csvOf(page, { columns, header: false });

// RFC 4180, numbers with the digits of the service, and nulls as empty cells.
const CELLS: readonly (readonly [json: string, cell: string])[] = [
  ["null", ""],
  ["0.10", "0.10"],
  ["12345678901234567", "12345678901234567"],
  ['"a,b"', '"a,b"'],
  [String.raw`"say \"ah\""`, '"say ""ah"""'],
  [String.raw`"a\r\nb"`, '"a\r\nb"'],
  [String.raw`"\u0041\u00e9\u20AC"`, "Aé€"],
  [String.raw`"\ud83e\ud83e\udd86"`, "\ufffd🦆"],
  ['"\ufeffx"', "\ufeffx"],
  [`"${"long text, ".repeat(20)}"`, `"${"long text, ".repeat(20)}"`],
  ['["a","b c"]', "a; b c"],
  ["[1, 2.50]", '"[1,2.50]"'],
  ['["a", null]', '"[""a"",null]"'],
  // NUL, at which other programs stop.
  [String.raw`"a\u0000,\u0000b"`, '"a,b"'],
  [String.raw`"\u0000"`, ""],
  [String.raw`["a\u0000"]`, "a"],
  [String.raw`{"a":"\u0000"}`, String.raw`"{""a"":""\u0000""}"`],
  ['{"a": 1.10, "b": ["x"]}', '"{""a"":1.10,""b"":[""x""]}"'],
];
for (const [json, cell] of CELLS) {
  Deno.test(`csvFromPage() writes ${JSON.stringify(cell).slice(0, 40)} for ${json.slice(0, 40)}`, () => {
    const page = `{"value":[{"a":"x","b":${json},"c":"y,z"},{"a":1,"b":2,"c":${json}}]}`;
    const lines = `x,${cell},"y,z"\r\n1,2,${cell}\r\n`;
    assertEquals(csvOf(page), `"a","b","c"\r\n${lines}`);
    assertEquals(linesOf(page, ["a", "b", "c"]), lines);
  });
}

Deno.test("csvFromPage() adds empty cells to the first rows when later rows have more fields", () => {
  const pages: [page: string, lines: string][] = [
    ['[{},{"a":1}]', '""\r\n1\r\n'],
    ['[{},{"a":1,"b":2}]', ",\r\n1,2\r\n"],
    // Quotes keep a record with one empty cell from being a blank line.
    ['[{"a":null},{"a":"x"},{"a":1,"b":2}]', ",\r\nx,\r\n1,2\r\n"],
    [
      String.raw`[{"a":"1,\"2\"\r\n"},{"b":"","c":3},{}]`,
      '"1,""2""\r\n",,\r\n,,3\r\n,,\r\n',
    ],
  ];
  for (const [rows, lines] of pages) {
    assertEquals(csvOf(`{"value":${rows}}`, { header: false }), lines, rows);
  }
});

/** A value of each option that is not its default. */
const OTHER_VALUES: Required<CsvOptions> = {
  columns: ["b", "a"],
  separator: ";",
  eol: "\n",
  header: false,
  bom: true,
  escapeFormulas: true,
};
for (const [option, value] of Object.entries(OTHER_VALUES)) {
  Deno.test(`csvFromPage() writes another file when ${option} is not the default`, () => {
    const page = '{"value":[{"a":"=x","b":null}]}';
    assert(csvOf(page, { [option]: value }) !== csvOf(page));
  });
}

const FORMULAS: readonly (readonly [json: string, cell: string])[] = [
  ['"=1,2"', `"'=1,2"`],
  [String.raw`"\rx"`, `"'\rx"`],
  [String.raw`"\u003dx"`, "'=x"],
  [String.raw`"\u0000=x"`, "'=x"],
  [String.raw`"=\"x\""`, `"'=""x"""`],
  ['["=x"]', "'=x"],
  ["-1e5", "-1e5"],
  ['"a=b"', "a=b"],
  ['"\'=1"', "'=1"],
  ['"-1"', "'-1"],
];
for (const [json, cell] of FORMULAS) {
  Deno.test(`csvFromPage() writes ${JSON.stringify(cell)} for ${json} when it escapes formulas`, () => {
    const page = `{"value":[{"=a":${json},"b":5}]}`;
    assertEquals(csvOf(page, { escapeFormulas: true }), `"'=a","b"\r\n${cell},5\r\n`);
  });
}

Deno.test("csvFromPage() writes the cells after one that is longer than its row", () => {
  const empty = Array(1_000).fill('""');
  const page = `{"value":[{"a":[${empty},1],"b":"x"}]}`;
  assertEquals(csvOf(page), `"a","b"\r\n"[${empty.map((text) => text + text)},1]",x\r\n`);
});

// Names of rows are compared eight bytes at a time, short ones by their first and last four. Their hashes are by powers
// of 31, so that those of Aa and BB are equal.
const SIMILAR: readonly (readonly [name: string, other: string])[] = [
  ["MonitoringLocationId", "MonitorXngLocationId"],
  ["MonitoringLocationId", "MonitoringLocationIX"],
  ["Day", "Xay"],
  ["Day", "DaX"],
  ["Aa", "BB"],
];
for (const [name, other] of SIMILAR) {
  Deno.test(`csvFromPage() writes a value under ${other} when earlier rows have ${name}`, () => {
    const rows = [name, name, other, name].map((name, index) => `{"${name}":${index},"b":"x"}`);
    const columns = [name, other, "b"];
    const lines = "0,,x\r\n1,,x\r\n,2,x\r\n3,,x\r\n";
    assertEquals(linesOf(`{"value":[${rows.join()}]}`, columns), lines);
    // After an empty row, a row is read by its names.
    const apart = lines.replaceAll("\r\n", "\r\n,,\r\n");
    assertEquals(linesOf(`{"value":[${rows.map((row) => `${row},{}`).join()}]}`, columns), apart);
  });
}

Deno.test("csvFromPage() writes only the header when a page has no rows", () => {
  assertEquals(csvOf('{"value":[]}', { columns: ["a", "b"] }), '"a","b"\r\n');
  assertEquals(csvOf('{"value":[ ]}'), "");
  assertEquals(csvOf('{"value":[{},{}]}'), "");
});

Deno.test("csvFromPage() quotes each name in the header", () => {
  const page = String
    .raw`{"value":[{"a,b":1,"say \"c\"":2,"\u0000":3,"__proto__":4,"constructor":5}]}`;
  assertEquals(csvOf(page), '"a,b","say ""c""","","__proto__","constructor"\r\n1,2,3,4,5\r\n');
});

Deno.test("csvFromPage() names ID apart from Id, unless columns or another field have the name", () => {
  const page = '{"value":[{"Id":1,"ID":"a","MonitoringLocationID":"b"}]}';
  assertEquals(csvOf(page.replace(/,"M.*"b"/, "")), '"Id","MonitoringLocationID"\r\n1,a\r\n');
  assertEquals(csvOf(page), '"Id","ID","MonitoringLocationID"\r\n1,a,b\r\n');
  assertEquals(csvOf(page, { columns: ["ID", "Id"] }), '"MonitoringLocationID","Id"\r\na,1\r\n');
  assertEquals(csvOf(page, { columns: ["Id", ["ID", "ID"]] }), '"Id","ID"\r\n1,a\r\n');
});

Deno.test("csvFromPage() applies separator, header, byte order mark and columns", () => {
  const page = '{"value":[{"a":"x;y","b":"1,5","c":0}]}';
  assertEquals(csvOf(page, { separator: ";" }), '"a";"b";"c"\r\n"x;y";1,5;0\r\n');
  assertEquals(csvOf('{"value":[{"a":"x\\ty"}]}', { separator: "\t" }), '"a"\r\n"x\ty"\r\n');
  assertEquals(
    csvOf('{"value":[{"a":["x"],"b":"\\r"}]}', { separator: "|" }),
    '"a"|"b"\r\nx|"\r"\r\n',
  );
  assertEquals(csvOf(page, { header: false, bom: true }), '\ufeffx;y,"1,5",0\r\n');
  assertEquals(csvOf(page, { bom: true, eol: "\n" }), '\ufeff"a","b","c"\nx;y,"1,5",0\n');
  assertEquals(csvOf(page, { columns: ["c", ["a", "name, new"]] }), '"c","name, new"\r\n0,x;y\r\n');
});

const INVALID: readonly (readonly [options: object, option: string, message: string])[] = [
  ...["", ",,", '"', "\n", ".", "5", "é"].map((separator) =>
    [{ separator }, "separator", `or a tab, got ${JSON.stringify(separator)}`] as const
  ),
  [{ columns: [] }, "columns", "must not be empty: omit it to write all columns"],
  [{ columns: ["a", ["a", "b"]] }, "columns", 'must name each field once, got "a" twice'],
  [
    { columns: ["ID", ["a", "MonitoringLocationID"]] },
    "columns",
    'names, got "MonitoringLocationID" twice',
  ],
  [{ columns: [["a"]] }, "columns", "must be fields or [field, header] pairs, got Array"],
  [{ seperator: ";" }, "seperator", 'did you mean "separator"?'],
];
for (const [options, option, message] of INVALID) {
  Deno.test(`csvFromPage() throws a ValidationError when the options are ${JSON.stringify(options)}`, () => {
    const error = assertThrows(() => csvOf('{"value":[]}', options), ValidationError, message);
    assertEquals(error.option, option);
  });
}

Deno.test("csvFromPage() accepts a Buffer of Node.js, and a page that is part of a larger buffer", () => {
  const page = '{"value":[{"a":1,"long name":"x"},{"a":2,"long name":"y"}]}';
  const expected = encoder.encode('"a","long name"\r\n1,x\r\n2,y\r\n');
  assertEquals(csvFromPage(Buffer.from(page)), expected);
  const larger = Uint8Array.of(0xff, 0x22, ...encoder.encode(page), 0x80, 0x22);
  assertEquals(csvFromPage(larger.subarray(2, -2)), expected);
});

Deno.test("csvFromPage() writes the UTF-8 bytes of a character at each boundary of its length, escaped or not", () => {
  const codes = [0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff];
  for (const code of [...codes, 0x10000, 0x10ffff]) {
    const text = String.fromCodePoint(code);
    const escaped = text.split("").map((unit) =>
      `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
    );
    for (const json of [text, escaped.join("")]) {
      assertEquals(csvOf(`{"value":[{"a":"${json}"}]}`), `"a"\r\n${text}\r\n`);
    }
  }
});
