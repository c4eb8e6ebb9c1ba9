// Each format rejects a malformed page, and has the rows of JSON.parse() otherwise.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { csvFromPage } from "../../../mod.ts";
import { assertAgreement } from "./malformed_pages.ts";

const encoder = new TextEncoder();

/** Byte sequences that are invalid in all or some positions of JSON. */
const STRAY_BYTES: readonly (readonly [name: string, ...bytes: number[]])[] = [
  ["a lone continuation byte", 0x80],
  ["a two-byte character without its end", 0xc3],
  ["a three-byte character without its end", 0xe2, 0x82],
  ["a four-byte character without its end", 0xf0, 0x9f, 0xa6],
  ["an overlong slash of three bytes", 0xe0, 0x80, 0xaf],
  ["an overlong slash of four bytes", 0xf0, 0x80, 0x80, 0xaf],
  ["an encoded surrogate", 0xed, 0xa0, 0x80],
  ["a character above U+10FFFF", 0xf4, 0x90, 0x80, 0x80],
  ["a byte order mark", 0xef, 0xbb, 0xbf],
  ["a NUL byte", 0],
  ["a control character", 0x1f],
  ["a form feed", 0x0c],
  ["a delete character", 0x7f],
  ["a no-break space", 0xc2, 0xa0],
  ["a backslash", 0x5c],
  ["a quote", 0x22],
  ["a comma", 0x2c],
  ["a digit", 0x30],
  ["a closing brace", 0x7d],
  ["a closing bracket", 0x5d],
];

/** Two rows of one shape and one of another; values, names and other members have characters of several bytes. */
const PAGE = encoder.encode(
  '{"@é":"é", "value":[{"Id":1,"é":"aé","n":-1.50,"l":["x"]},\n' +
    '{"Id":2,"é":"b","n":null,"l":["y"]},{"Id":3,"o":{"p":true},"q":"\\n,"}],"z":[1,"é"]}',
);

/** Returns the page with bytes at an offset, in place of some of its own. */
function spliced(at: number, removed: number, bytes: readonly number[]): Uint8Array {
  return Uint8Array.from([...PAGE.subarray(0, at), ...bytes, ...PAGE.subarray(at + removed)]);
}

for (const [name, ...bytes] of STRAY_BYTES) {
  Deno.test(`each format agrees with JSON.parse() when a page has ${name} at any offset`, () => {
    for (let at = 0; at <= PAGE.length; at++) {
      assertAgreement(spliced(at, 0, bytes), `${name} at ${at}`);
    }
  });
}

Deno.test("each format agrees with JSON.parse() when a page lacks any byte, or has it twice or changed", () => {
  for (let at = 0; at < PAGE.length; at++) {
    const byte = PAGE[at]!;
    assertAgreement(spliced(at, 1, []), `no byte ${at}`);
    assertAgreement(spliced(at, 0, [byte]), `byte ${at} twice`);
    assertAgreement(spliced(at, 1, [byte ^ 1]), `byte ${at} changed`);
  }
});

const nested = (depth: number) => "[".repeat(depth) + "1" + "]".repeat(depth);
const NINES = "9".repeat(400);

/** Unusual pages that are well-formed, with their CSV. */
const ACCEPTED: Record<string, readonly [page: string, csv: string]> = {
  "a lone surrogate in a name": [String.raw`{"value":[{"\ud83e":1}]}`, '"\ufffd"\r\n1\r\n'],
  "a field twice, the last null": ['{"value":[{"a":1,"b":2,"a":null}]}', '"a","b"\r\n,2\r\n'],
  "a field in two spellings": [
    String.raw`{"value":[{"a":1,"\u0061":2},{"a":3}]}`,
    '"a"\r\n2\r\n3\r\n',
  ],
  "a value nested 900 deep": [`{"value":[{"a":${nested(900)}}]}`, `"a"\r\n${nested(900)}\r\n`],
  "2,000 lists outside its rows": [
    `{"x":[${Array(2_000).fill("[]")}],"value":[{"a":1}]}`,
    '"a"\r\n1\r\n',
  ],
  "numbers too large or long for a double": [
    `{"value":[{"Id":1e999,"b":-1E-999,"c":${NINES},"d":0.${NINES}}]}`,
    `"Id","b","c","d"\r\n1e999,-1E-999,${NINES},0.${NINES}\r\n`,
  ],
  "a byte order mark before it, and white space after it": [
    '\ufeff{"value":[{"a":1}]} \r\n\t',
    '"a"\r\n1\r\n',
  ],
  "an escape in the name of its rows": [String.raw`{"\u0076alue":[{"a":1}]}`, '"a"\r\n1\r\n'],
};
for (const [name, [text, csv]] of Object.entries(ACCEPTED)) {
  Deno.test(`each format reads a page with ${name}`, () => {
    const page = encoder.encode(text);
    assertAgreement(page, name);
    assertEquals(new TextDecoder().decode(csvFromPage(page)), csv);
  });
}

const REJECTED: Record<string, string> = {
  "half a surrogate": String.raw`{"value":[{"a":"\ud83e\udd8"}]}`,
  "an unknown escape": String.raw`{"value":[{"a":"\x41"}]}`,
  "an escape with another letter as its first digit": String.raw`{"value":[{"a":"\ug041"}]}`,
  "an escape with another letter as its last digit": String.raw`{"value":[{"a":"\u004g"}]}`,
  "another value after the rows": '{"value":[{"a":1}],"value":1}',
  "another value before the rows": '{"value":null,"value":[{"a":1}]}',
  "two lists of rows, one of them with an escaped name": String
    .raw`{"value":[{"a":1}],"val\u0075e":[{"a":2}]}`,
  "a number with a plus sign": '{"value":[{"a":+1}]}',
  "a number without a fraction": '{"value":[{"a":1.}]}',
  "a number without an integer part": '{"value":[{"a":.5}]}',
  "null in place of a row": '{"value":[{"a":1},null]}',
  "a list in place of the page": "[]",
  "no rows": '{"x":1}',
  "a second page after it": '{"value":[{"a":1}]}{"value":[{"a":2}]}',
  "two byte order marks before it": '\ufeff\ufeff{"value":[{"a":1}]}',
  "nothing in it": "",
};
for (const [name, text] of Object.entries(REJECTED)) {
  Deno.test(`each format rejects a page with ${name}`, () => {
    assertEquals(assertAgreement(encoder.encode(text), name), "SyntaxError");
  });
}

// JSON.parse() accepts them.
for (const member of ['"value":[{"a":DEEP}]', '"x":DEEP,"value":[]', '"value":[],"x":DEEP']) {
  Deno.test(`csvFromPage() rejects a page with a value nested 1,001 deep in ${member}`, () => {
    const page = encoder.encode(`{${member.replace("DEEP", nested(1_001))}}`);
    assertThrows(() => csvFromPage(page), SyntaxError);
  });
}
