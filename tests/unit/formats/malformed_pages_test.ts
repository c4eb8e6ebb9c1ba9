// A page is scanned in bytes. Each format must reject a malformed page, and have the rows of JSON.parse() otherwise.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { csvFromPage, DataStream, DataStreamError, type Query } from "../../../mod.ts";
import { formatsOf } from "../../helpers/resources.ts";
import {
  assertAgreement,
  escapeRowsName,
  insertBytes,
  readAsCsv,
  readAsGeoJson,
  readAsJson,
  readAsNdjson,
  readStrictly,
  STRAY_BYTES,
} from "./malformed_pages.ts";
import { upstream } from "../../helpers/upstream.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Two rows alike, and one with other members; texts, names and an envelope of several bytes each. */
const PAGE = encoder.encode(
  '{"@é":"é", "value":[{"Id":1,"é":"aé","n":-1.50,"l":["x"]},\n' +
    '{"Id":2,"é":"b","n":null,"l":["y"]},{"Id":3,"o":{"p":true},"q":"\\n,"}],"z":[1,"é"]}',
);

/** Returns a page without one of its bytes. */
function without(page: Uint8Array, at: number): Uint8Array {
  return Uint8Array.from([...page.subarray(0, at), ...page.subarray(at + 1)]);
}

for (const [name, bytes] of STRAY_BYTES) {
  Deno.test(`each format agrees with JSON.parse() when a page has ${name} at any offset`, () => {
    for (let at = 0; at <= PAGE.length; at++) {
      assertAgreement(insertBytes(PAGE, at, bytes), `${name} at ${at}`);
    }
  });

  Deno.test(`each format agrees with JSON.parse() when ${name} replaces any byte of a page`, () => {
    for (let at = 0; at < PAGE.length; at++) {
      assertAgreement(insertBytes(without(PAGE, at), at, bytes), `${name} at ${at}`);
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
/** Pages, with the CSV of each, or undefined for those that must be rejected. */
const PAGES: readonly [name: string, page: string, csv: string | undefined][] = [
  [
    "a surrogate escape without its pair",
    String.raw`{"value":[{"a":"\ud83e"}]}`,
    "a\r\n\ufffd\r\n",
  ],
  [
    "surrogate escapes in the wrong order",
    String.raw`{"value":[{"a":"\udd86\ud83e"}]}`,
    "a\r\n\ufffd\ufffd\r\n",
  ],
  ["half a surrogate escape", String.raw`{"value":[{"a":"\ud83e\udd8"}]}`, undefined],
  ["an unknown escape", String.raw`{"value":[{"a":"\x41"}]}`, undefined],
  [
    "a surrogate escape without its pair in a name",
    String.raw`{"value":[{"\ud83e":1}]}`,
    "\ufffd\r\n1\r\n",
  ],
  ["a field twice in a row", '{"value":[{"a":1,"b":2,"a":3}]}', "a,b\r\n3,2\r\n"],
  ["a field twice, the last null", '{"value":[{"a":1,"b":2,"a":null}]}', "a,b\r\n,2\r\n"],
  [
    "a field twice, in two spellings",
    String.raw`{"value":[{"a":1,"\u0061":2},{"a":3}]}`,
    "a\r\n2\r\n3\r\n",
  ],
  ["a list of rows that is followed by another value", '{"value":[{"a":1}],"value":1}', undefined],
  ["a value nested 99 deep", `{"value":[{"a":${nested(99)}}]}`, `a\r\n${nested(99)}\r\n`],
  ["a value nested 500 deep", `{"value":[{"a":${nested(500)}}]}`, `a\r\n${nested(500)}\r\n`],
  [
    "a member beside the rows nested 500 deep",
    `{"x":${nested(500)},"value":[{"a":1}]}`,
    "a\r\n1\r\n",
  ],
  [
    "two lists of rows",
    '{"value":[{"a":1}],"value":[{"a":2}]}',
    undefined,
  ],
  [
    "numbers too large or too long for a double",
    `{"value":[{"a":1e999,"b":-1E-999,"c":${"9".repeat(400)},"d":0.${"1".repeat(400)}}]}`,
    `a,b,c,d\r\n1e999,-1E-999,${"9".repeat(400)},0.${"1".repeat(400)}\r\n`,
  ],
  [
    "an Id too large for a double",
    '{"value":[{"Id":1e999},{"Id":123456789012345678901}]}',
    "Id\r\n1e999\r\n123456789012345678901\r\n",
  ],
  ["a number with a leading zero", '{"value":[{"a":01}]}', undefined],
  ["a number with a plus sign", '{"value":[{"a":+1}]}', undefined],
  ["a number without a fraction", '{"value":[{"a":1.}]}', undefined],
  ["a number without an integer part", '{"value":[{"a":.5}]}', undefined],
  ["a hexadecimal number", '{"value":[{"a":0x10}]}', undefined],
  ["NaN", '{"value":[{"a":NaN}]}', undefined],
  ["Infinity", '{"value":[{"a":-Infinity}]}', undefined],
  ["a literal with a letter too many", '{"value":[{"a":nulll}]}', undefined],
  ["a literal in capitals", '{"value":[{"a":True}]}', undefined],
  ["a comma after the last row", '{"value":[{"a":1},]}', undefined],
  ["a comma after the last field", '{"value":[{"a":1,}]}', undefined],
  ["a comment", '{"value":[{"a":1}/**/]}', undefined],
  ["single quotes", "{'value':[{'a':1}]}", undefined],
  ["null in place of a row", '{"value":[{"a":1},null]}', undefined],
  ["a list in place of a row", '{"value":[{"a":1},[1]]}', undefined],
  ["a second page after it", '{"value":[{"a":1}]}{"value":[{"a":2}]}', undefined],
  ["a text after it", '{"value":[{"a":1}]}x', undefined],
  ["a bracket after it", '{"value":[{"a":1}]}]', undefined],
  ["white space after it", '{"value":[{"a":1}]} \r\n\t', "a\r\n1\r\n"],
  ["two byte order marks before it", '\ufeff\ufeff{"value":[{"a":1}]}', undefined],
  ["one byte order mark before it", '\ufeff{"value":[{"a":1}]}', "a\r\n1\r\n"],
  ["nothing in it", "", undefined],
];

for (const [name, text, csv] of PAGES) {
  Deno.test(`each format ${csv === undefined ? "rejects" : "reads"} a page with ${name}`, () => {
    const page = encoder.encode(text);
    assertAgreement(page, name);
    assertEquals(readAsCsv(page), csv ?? { error: "SyntaxError" });
  });
}

for (const depth of [1_001, 2_000, 200_000]) {
  const pages = {
    "a row's value": `{"value":[{"a":${nested(depth)}}]}`,
    "a member before the rows": `{"x":${nested(depth)},"value":[{"a":1}]}`,
    "a member after the rows": `{"value":[{"a":1}],"x":${nested(depth)}}`,
  };
  for (const [name, text] of Object.entries(pages)) {
    Deno.test(`each format rejects a page when ${name} is nested ${depth} deep`, () => {
      const page = encoder.encode(text);
      for (const given of [page, escapeRowsName(page)]) {
        for (const read of [readAsCsv, readAsNdjson, readAsJson, readAsGeoJson]) {
          assertEquals(read(given), { error: "SyntaxError" }, read.name);
        }
      }
    });
  }
}

Deno.test("each format reads a page when it has 2,000 lists outside its rows, none of them deep", () => {
  const page = encoder.encode(`{"x":[${Array(2_000).fill("[]")}],"value":[{"a":1}]}`);
  assertAgreement(page, "2,000 lists");
  assertEquals(readAsCsv(page), "a\r\n1\r\n");
});

/** Runs a query over one page, which arrives in the given chunks. */
function queryOver(chunks: readonly Uint8Array[]): Query<object> {
  const body = ReadableStream.from(chunks.map((chunk) => new Uint8Array(chunk)));
  const reply = new Response(body, { headers: { "content-type": "application/json" } });
  const client = new DataStream({ ...upstream(reply).options, requestsPerSecond: Infinity });
  return client.records({ limit: 3 });
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** Returns the kind of the error of a query, or `complete`. */
async function kindOf(result: Promise<unknown>): Promise<string> {
  try {
    await result;
    return "complete";
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    return error.kind;
  }
}

for (const format of formatsOf("Records")) {
  const read = (query: Query<object>) => query.bytes(format);

  Deno.test(`bytes("${format}") gives the same bytes when a page arrives in two chunks, split anywhere`, async () => {
    const wanted = await textOf(read(queryOver([PAGE])));
    for (let at = 0; at <= PAGE.length; at++) {
      const query = queryOver([PAGE.subarray(0, at), PAGE.subarray(at)]);
      assertEquals(await textOf(read(query)), wanted, `split at ${at}`);
    }
  });

  Deno.test(`bytes("${format}") rejects a malformed page when its stray bytes are split over chunks`, async () => {
    // Inside the text of the first row, where only well-formed characters are allowed.
    const inText = decoder.decode(PAGE).indexOf("aé") + 2;
    for (const [name, bytes] of STRAY_BYTES) {
      for (const at of [0, inText, PAGE.length]) {
        const page = insertBytes(PAGE, at, bytes);
        const chunks = Array.from(page, (byte) => Uint8Array.of(byte));
        const results = await Promise.all([
          kindOf(textOf(read(queryOver(chunks)))),
          kindOf(queryOver(chunks).toArray()),
        ]);
        const wanted = "rows" in readStrictly(page) ? "complete" : "page";
        assertEquals(results, [wanted, wanted], `${name} at ${at}`);
      }
    }
  });
}

Deno.test("csvFromPage() reads a page that is part of a larger buffer", () => {
  const larger = insertBytes(PAGE, 0, [0xff, 0xff, 0xff]);
  const page = insertBytes(larger, larger.length, [0x80, 0x22]).subarray(3, -2);
  assertEquals(csvFromPage(page), csvFromPage(PAGE));
});
