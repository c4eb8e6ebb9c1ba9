// csvFromPage(): the form of each value, the columns, the options, and malformed pages.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { csvFromPage, type CsvOptions, ValidationError } from "../../../mod.ts";
import { transcodedLines } from "./csv_paths.ts";
import { readCsv } from "../../helpers/rfc4180.ts";

const encoder = new TextEncoder();
const csvOf = (page: string, options?: CsvOptions) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(csvFromPage(encoder.encode(page), options));

// RFC 4180, numbers with the digits of the service, and nulls as empty cells.
const cells: [json: string, cell: string][] = [
  ["null", ""],
  ['""', ""],
  ["0", "0"],
  ["-0", "-0"],
  ["0.10", "0.10"],
  ["1e-7", "1e-7"],
  ["1E+21", "1E+21"],
  ["-12.500", "-12.500"],
  ["12345678901234567", "12345678901234567"],
  ["0.12345678901234567890", "0.12345678901234567890"],
  ["true", "true"],
  ["false", "false"],
  ['"a,b"', '"a,b"'],
  ['"a;b"', "a;b"],
  [String.raw`"say \"ah\""`, '"say ""ah"""'],
  [String.raw`"a\nb"`, '"a\nb"'],
  [String.raw`"a\r\nb"`, '"a\r\nb"'],
  [String.raw`"a\rb"`, '"a\rb"'],
  [String.raw`"\r"`, '"\r"'],
  [String.raw`"a\tb\b\f\/\\"`, "a\tb\b\f/\\"],
  [String.raw`"\u0041\u00e9\u20AC"`, "Aé€"],
  [String.raw`"\uD83E\uDD86 and \ud83e\udd86"`, "🦆 and 🦆"],
  [String.raw`"\u002c"`, '","'],
  [String.raw`"\u0022"`, '""""'],
  [String.raw`"\u000a"`, '"\n"'],
  [String.raw`"\ud83e"`, "\ufffd"],
  [String.raw`"\udd86\ud83e"`, "\ufffd\ufffd"],
  [String.raw`"\ud83e\ud83e\udd86"`, "\ufffd🦆"],
  [String.raw`"\ud83ex"`, "\ufffdx"],
  [String.raw`"\ud83e12dd86"`, "\ufffd12dd86"],
  ['"é 🦆 ’"', "é 🦆 ’"],
  ['" a "', " a "],
  ['"=1+1"', "=1+1"],
  ['"\ufeffx"', "\ufeffx"],
  [`"${"long text, ".repeat(20)}"`, `"${"long text, ".repeat(20)}"`],
  [`"${"longer ".repeat(20)}"`, "longer ".repeat(20)],
];
for (const [json, cell] of cells) {
  const page = `{"value":[{"a":"x","b":${json},"c":"y,z"},{"a":1,"b":2,"c":3}]}`;
  const lines = `x,${cell},"y,z"\r\n1,2,3\r\n`;
  Deno.test(`csvFromPage() writes ${JSON.stringify(cell).slice(0, 40)} for ${json.slice(0, 40)}`, () => {
    assertEquals(csvOf(page), `a,b,c\r\n${lines}`);
    assertEquals(transcodedLines(page, ["a", "b", "c"]), lines);
  });
}

const nested: [json: string, cell: string][] = [
  ['["a","b c"]', "a; b c"],
  ['["a, b", "c"]', '"a, b; c"'],
  ["[]", ""],
  ['["2012-01-09","2023-12-30"]', "2012-01-09; 2023-12-30"],
  ["[1, 2.50]", '"[1,2.50]"'],
  ['["a", null]', '"[""a"",null]"'],
  ['{"a": 1.10, "b": ["x"]}', '"{""a"":1.10,""b"":[""x""]}"'],
  ["{}", "{}"],
];
for (const [json, cell] of nested) {
  Deno.test(`csvFromPage() writes ${JSON.stringify(cell)} for ${json}`, () => {
    assertEquals(csvOf(`{"value":[{"a":1,"b":${json}}]}`), `a,b\r\n1,${cell}\r\n`);
    const page = `{"value":[{"a":1,"b":${json},"c":"x"},{"a":2,"b":3,"c":${json}}]}`;
    const lines = `1,${cell},x\r\n2,3,${cell}\r\n`;
    assertEquals(transcodedLines(page, ["a", "b", "c"]), lines);
  });
}

const formulas: [json: string, cell: string][] = [
  ['"=1+1"', "'=1+1"],
  ['"=1,2"', `"'=1,2"`],
  ['"+1"', "'+1"],
  ['"-1"', "'-1"],
  ['"@SUM"', "'@SUM"],
  [String.raw`"\tx"`, "'\tx"],
  [String.raw`"\rx"`, `"'\rx"`],
  [String.raw`"\u003dx"`, "'=x"],
  [String.raw`"=\"x\""`, `"'=""x"""`],
  ["-1", "-1"],
  ["-1e5", "-1e5"],
  ['"a=b"', "a=b"],
  ['"\'=1"', "'=1"],
  ["null", ""],
];
for (const [json, cell] of formulas) {
  Deno.test(`csvFromPage() writes ${JSON.stringify(cell)} for ${json} when it escapes formulas`, () => {
    const page = `{"value":[{"a":${json},"b":5}]}`;
    const options = { escapeFormulas: true };
    assertEquals(transcodedLines(page, ["a", "b"], options), `${cell},5\r\n`);
    assertEquals(csvOf(`{"value":[{"a":["=x"]}]}`, options), "a\r\n'=x\r\n");
    assertEquals(csvOf(`{"value":[{"=a":1}]}`, options), "'=a\r\n1\r\n");
  });
}

Deno.test("csvFromPage() keeps the columns when rows have other orders of fields, fewer or more fields", () => {
  const page =
    '{"value":[{"a":1,"b":2,"c":3},{"c":6,"a":4,"b":5},{"b":8},{"a":10,"b":11,"c":12,"d":0}]}';
  const lines = "1,2,3\r\n4,5,6\r\n,8,\r\n10,11,12\r\n";
  assertEquals(transcodedLines(page, ["a", "b", "c"]), lines);
  assertEquals(transcodedLines(page, ["c", "x", "a"]), "3,,1\r\n6,,4\r\n,,\r\n12,,10\r\n");
  assertEquals(csvOf(page), "a,b,c,d\r\n1,2,3,\r\n4,5,6,\r\n,8,,\r\n10,11,12,0\r\n");
});

Deno.test("csvFromPage() ignores white space between tokens", () => {
  const page =
    '\n{ "x" : [ "value", {"value": [1]} ],\t"value"\r\n: [ {"a" : 1 , "b":\n"x" }\n,\n{"a":2,"b":"y"} , { } ] , "y": {} }\n';
  const lines = "1,x\r\n2,y\r\n";
  assertEquals(csvOf(page), `a,b\r\n${lines},\r\n`);
  assertEquals(transcodedLines(page.replace(", { }", ""), ["a", "b"]), lines);
});

const similar: [name: string, other: string][] = [
  // Long names are compared eight bytes at a time, short ones by their first and last four.
  ["MonitoringLocationId", "MonitorXngLocationId"],
  ["MonitoringLocationId", "MonitoringLocationIX"],
  ["Day", "Xay"],
  ["Day", "DaX"],
];
for (const [name, other] of similar) {
  Deno.test(`csvFromPage() writes a value under ${other} when earlier rows have ${name}`, () => {
    const rows = [name, name, other, name].map((name, index) => `{"${name}":${index},"b":"x"}`);
    const page = `{"value":[${rows.join()}]}`;
    const lines = "0,,x\r\n1,,x\r\n,2,x\r\n3,,x\r\n";
    assertEquals(transcodedLines(page, [name, other, "b"]), lines);
  });
}

Deno.test("csvFromPage() tells names apart when their hashes are equal", () => {
  // The row reader hashes names by powers of 31.
  const rows = ["Aa", "BB", "Aa", "BB"].map((name, index) => `{"${name}":${index}}`);
  const page = `{"value":[{"b":9},{},${rows.join(",{},")}]}`;
  const lines = "9,,\r\n,,\r\n,0,\r\n,,\r\n,,1\r\n,,\r\n,2,\r\n,,\r\n,,3\r\n";
  assertEquals(transcodedLines(page, ["b", "Aa", "BB"]), lines);
});

Deno.test("csvFromPage() writes only the header when a page has no rows", () => {
  assertEquals(csvOf('{"value":[]}', { columns: ["a", "b"] }), "a,b\r\n");
  assertEquals(csvOf('{"value":[ ]}'), "");
  assertEquals(csvOf('{"value":[{},{}]}'), "");
});

Deno.test("csvFromPage() quotes an empty cell when it is the only cell of a line", () => {
  const page = '{"value":[{"a":1},{"a":null},{"a":""},{"b":2}]}';
  assertEquals(transcodedLines(page, ["a"]), '1\r\n""\r\n""\r\n""\r\n');
});

Deno.test("csvFromPage() quotes names in the header when they need it", () => {
  const page = String.raw`{"value":[{"a,b":1,"say \"c\"":2,"":3,"__proto__":4,"constructor":5}]}`;
  assertEquals(readCsv(csvOf(page)), [
    ["a,b", 'say "c"', "", "__proto__", "constructor"],
    ["1", "2", "3", "4", "5"],
  ]);
});

Deno.test("csvFromPage() applies separator, header, byte order mark and columns", () => {
  const page = '{"value":[{"a":"x;y","b":"1,5","c":0}]}';
  assertEquals(csvOf(page, { separator: ";" }), 'a;b;c\r\n"x;y";1,5;0\r\n');
  assertEquals(csvOf(page, { separator: "\t" }), "a\tb\tc\r\nx;y\t1,5\t0\r\n");
  assertEquals(csvOf('{"value":[{"a":"x\\ty"}]}', { separator: "\t" }), 'a\r\n"x\ty"\r\n');
  assertEquals(csvOf('{"value":[{"a":["x"],"b":"\\r"}]}', { separator: "|" }), 'a|b\r\nx|"\r"\r\n');
  assertEquals(csvOf(page, { bom: true }), '\ufeffa,b,c\r\nx;y,"1,5",0\r\n');
  assertEquals(csvOf(page, { header: false, bom: true }), '\ufeffx;y,"1,5",0\r\n');
  assertEquals(csvOf(page, { columns: ["c", ["a", "name, new"]] }), 'c,"name, new"\r\n0,x;y\r\n');
});

const invalid: [options: object, option: string, message: string][] = [
  [{ separator: "" }, "separator", 'or a tab, got ""'],
  [{ separator: ",," }, "separator", 'got ",,"'],
  [{ separator: '"' }, "separator", "must be one punctuation mark"],
  [{ separator: "\n" }, "separator", "must be one punctuation mark"],
  [{ separator: "." }, "separator", "must be one punctuation mark"],
  [{ separator: "5" }, "separator", "must be one punctuation mark"],
  [{ separator: "é" }, "separator", "must be one punctuation mark"],
  [{ separator: [","] }, "separator", "got Array"],
  [{ columns: [] }, "columns", "must not be empty: omit it to write all columns"],
  [{ columns: ["a", ["a", "b"]] }, "columns", 'must name each field once, got "a" twice'],
  [{ columns: "a" }, "columns", 'must be an array, got "a"'],
  [{ columns: [["a"]] }, "columns", "must be fields or [field, header] pairs, got Array"],
  [{ columns: [5] }, "columns", "must be fields or [field, header] pairs, got 5"],
];
for (const [options, option, message] of invalid) {
  Deno.test(`csvFromPage() throws a ValidationError when the options are ${JSON.stringify(options)}`, () => {
    const error = assertThrows(() => csvOf('{"value":[]}', options), ValidationError, message);
    assertEquals(error.option, option);
  });
}

Deno.test("csvFromPage() suggests the nearest option when it does not know one", () => {
  const options = { seperator: ";" } as CsvOptions;
  assertThrows(() => csvOf('{"value":[]}', options), ValidationError, 'did you mean "separator"?');
});

const brokenBytes: [name: string, bytes: number[]][] = [
  ["a lone continuation byte", [0x80]],
  ["a truncated character of two bytes", [0xc3]],
  ["a truncated character of three bytes", [0xe2, 0x82]],
  ["an overlong form", [0xc0, 0xaf]],
  ["an overlong form of three bytes", [0xe0, 0x80, 0xaf]],
  ["an encoded surrogate", [0xed, 0xa0, 0x80]],
  ["a character above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
  ["the byte 0xFF", [0xff]],
];
for (const [name, bytes] of brokenBytes) {
  Deno.test(`csvFromPage() throws a SyntaxError when text contains ${name}`, () => {
    const [before, after] = ['{"value":[{"a":"x"},{"a":"', '"}]}'].map((text) =>
      encoder.encode(text)
    );
    const page = new Uint8Array([...before!, ...bytes, ...after!]);
    assertThrows(() => csvFromPage(page), SyntaxError, "broken JSON");
  });
}

Deno.test("csvFromPage() uses the last member of a name in a row, as JSON.parse() does", () => {
  assertEquals(csvOf('{"x":"value","value":[{"a":1,"a":2}]}'), "a\r\n2\r\n");
});

Deno.test("csvFromPage() accepts a Buffer of Node.js", () => {
  const page = '{"value":[{"a":1,"long name":"x"},{"a":2,"long name":"y"}]}';
  const lines = "a,long name\r\n1,x\r\n2,y\r\n";
  assertEquals(new TextDecoder().decode(csvFromPage(Buffer.from(page))), lines);
  const csv = csvFromPage(Buffer.from(page), { columns: ["a"], header: false });
  assertEquals(new TextDecoder().decode(csv), "1\r\n2\r\n");
});

Deno.test("csvFromPage() accepts a page that is part of a larger buffer", () => {
  const page = encoder.encode('xx{"value":[{"a":1}]}yy');
  assertEquals(csvFromPage(page.subarray(2, -2)), encoder.encode("a\r\n1\r\n"));
});

Deno.test("csvFromPage() writes the UTF-8 bytes of a character at each boundary of its length, escaped or not", () => {
  const codes = [0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff];
  for (const code of codes) {
    const escape = `\\u${code.toString(16).padStart(4, "0")}`;
    assertEquals(csvOf(`{"value":[{"a":"${escape}"}]}`), `a\r\n${String.fromCharCode(code)}\r\n`);
  }
  for (const code of [...codes, 0x10000, 0x10ffff]) {
    const text = String.fromCodePoint(code);
    assertEquals(csvOf(`{"value":[{"a":"${text}"}]}`), `a\r\n${text}\r\n`);
  }
});

Deno.test("csvFromPage() throws a SyntaxError when a digit of an escape is not hexadecimal", () => {
  for (const digits of ["g041", "0g41", "00g1", "004g"]) {
    const page = new TextEncoder().encode(`{"value":[{"a":"\\u${digits}"}]}`);
    assertThrows(() => csvFromPage(page), SyntaxError);
  }
});
