// Each format rejects a malformed page, and has the rows of JSON.parse() otherwise.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import {
  assertAgreement,
  escapeRowsName,
  insertBytes,
  readAsCsv,
  readAsGeoJson,
  readAsJson,
  readAsNdjson,
  STRAY_BYTES,
} from "./malformed_pages.ts";

const encoder = new TextEncoder();

/** Two rows of one shape and one of another; values, names and other members have characters of several bytes. */
const PAGE = encoder.encode(
  '{"@é":"é", "value":[{"Id":1,"é":"aé","n":-1.50,"l":["x"]},\n' +
    '{"Id":2,"é":"b","n":null,"l":["y"]},{"Id":3,"o":{"p":true},"q":"\\n,"}],"z":[1,"é"]}',
);

/** Returns a page without one of its bytes. */
function without(page: Uint8Array, at: number): Uint8Array {
  return Uint8Array.from([...page.subarray(0, at), ...page.subarray(at + 1)]);
}

for (const [name, bytes] of STRAY_BYTES) {
  Deno.test(`each format agrees with JSON.parse() when a page has ${name} at any offset, or in place of any byte`, () => {
    for (let at = 0; at <= PAGE.length; at++) {
      assertAgreement(insertBytes(PAGE, at, bytes), `${name} at ${at}`);
      assertAgreement(insertBytes(without(PAGE, at), at, bytes), `${name} in place of ${at}`);
    }
  });
}

Deno.test("each format agrees with JSON.parse() when a page lacks any byte or has it twice", () => {
  for (let at = 0; at < PAGE.length; at++) {
    assertAgreement(without(PAGE, at), `no byte ${at}`);
    assertAgreement(insertBytes(PAGE, at, [PAGE[at]!]), `byte ${at} twice`);
  }
});

const nested = (depth: number) => "[".repeat(depth) + "1" + "]".repeat(depth);
const NINES = "9".repeat(400);

/** Unusual pages that are well-formed, with their CSV. */
const ACCEPTED: Record<string, readonly [page: string, csv: string]> = {
  "a lone surrogate": [String.raw`{"value":[{"a":"\ud83e"}]}`, "a\r\n\ufffd\r\n"],
  "surrogates in the wrong order": [
    String.raw`{"value":[{"a":"\udd86\ud83e"}]}`,
    "a\r\n\ufffd\ufffd\r\n",
  ],
  "a lone surrogate in a name": [String.raw`{"value":[{"\ud83e":1}]}`, "\ufffd\r\n1\r\n"],
  "a field twice in a row": ['{"value":[{"a":1,"b":2,"a":3}]}', "a,b\r\n3,2\r\n"],
  "a field twice, the last null": ['{"value":[{"a":1,"b":2,"a":null}]}', "a,b\r\n,2\r\n"],
  "a field in two spellings": [
    String.raw`{"value":[{"a":1,"\u0061":2},{"a":3}]}`,
    "a\r\n2\r\n3\r\n",
  ],
  "a value nested 900 deep": [`{"value":[{"a":${nested(900)}}]}`, `a\r\n${nested(900)}\r\n`],
  "a member nested 900 deep": [`{"x":${nested(900)},"value":[{"a":1}]}`, "a\r\n1\r\n"],
  "2,000 lists outside its rows": [
    `{"x":[${Array(2_000).fill("[]")}],"value":[{"a":1}]}`,
    "a\r\n1\r\n",
  ],
  "numbers too large or long for a double": [
    `{"value":[{"Id":1e999,"b":-1E-999,"c":${NINES},"d":0.${NINES}}]}`,
    `Id,b,c,d\r\n1e999,-1E-999,${NINES},0.${NINES}\r\n`,
  ],
  "white space after it": ['{"value":[{"a":1}]} \r\n\t', "a\r\n1\r\n"],
  "a byte order mark before it": ['\ufeff{"value":[{"a":1}]}', "a\r\n1\r\n"],
};
for (const [name, [text, csv]] of Object.entries(ACCEPTED)) {
  Deno.test(`each format reads a page with ${name}`, () => {
    const page = encoder.encode(text);
    assertAgreement(page, name);
    assertEquals(readAsCsv(page), csv);
  });
}

const REJECTED: Record<string, string> = {
  "half a surrogate": String.raw`{"value":[{"a":"\ud83e\udd8"}]}`,
  "an unknown escape": String.raw`{"value":[{"a":"\x41"}]}`,
  "an escape with another letter as its first digit": String.raw`{"value":[{"a":"\ug041"}]}`,
  "an escape with another letter as its second digit": String.raw`{"value":[{"a":"\u0g41"}]}`,
  "an escape with another letter as its last digit": String.raw`{"value":[{"a":"\u004g"}]}`,
  "another value after the rows": '{"value":[{"a":1}],"value":1}',
  "another value before the rows": '{"value":null,"value":[{"a":1}]}',
  "an empty list of rows, then another value": '{"value":[],"value":null}',
  "two lists of rows": '{"value":[{"a":1}],"value":[{"a":2}]}',
  "two lists of rows, one with an escaped name": String
    .raw`{"value":[{"a":1}],"val\u0075e":[{"a":2}]}`,
  "a value nested 1,001 deep": `{"value":[{"a":${nested(1_001)}}]}`,
  "a member before the rows nested 1,001 deep": `{"x":${nested(1_001)},"value":[{"a":1}]}`,
  "a member after the rows nested 1,001 deep": `{"value":[{"a":1}],"x":${nested(1_001)}}`,
  "a number with a leading zero": '{"value":[{"a":01}]}',
  "a number with a plus sign": '{"value":[{"a":+1}]}',
  "a number without a fraction": '{"value":[{"a":1.}]}',
  "a number without an integer part": '{"value":[{"a":.5}]}',
  "a hexadecimal number": '{"value":[{"a":0x10}]}',
  "NaN": '{"value":[{"a":NaN}]}',
  "Infinity": '{"value":[{"a":-Infinity}]}',
  "a literal with a letter too many": '{"value":[{"a":nulll}]}',
  "a literal in capitals": '{"value":[{"a":True}]}',
  "a comma after the last row": '{"value":[{"a":1},]}',
  "a comma after the last field": '{"value":[{"a":1,}]}',
  "a comment": '{"value":[{"a":1}/**/]}',
  "single quotes": "{'value':[{'a':1}]}",
  "null in place of a row": '{"value":[{"a":1},null]}',
  "a list in place of a row": '{"value":[{"a":1},[1]]}',
  "a list in place of the page": "[]",
  "no rows": '{"x":1}',
  "a second page after it": '{"value":[{"a":1}]}{"value":[{"a":2}]}',
  "a text after it": '{"value":[{"a":1}]}x',
  "a bracket after it": '{"value":[{"a":1}]}]',
  "two byte order marks before it": '\ufeff\ufeff{"value":[{"a":1}]}',
  "a byte order mark in it": '{"value":[{"a":1}]\ufeff}',
  "nothing in it": "",
};
for (const [name, text] of Object.entries(REJECTED)) {
  Deno.test(`each format rejects a page with ${name}`, () => {
    for (const page of [encoder.encode(text), escapeRowsName(encoder.encode(text))]) {
      for (const read of [readAsCsv, readAsNdjson, readAsJson, readAsGeoJson]) {
        assertEquals(read(page), { error: "SyntaxError" }, read.name);
      }
    }
  });
}
