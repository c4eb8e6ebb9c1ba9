// A document in gzip is one member, whose bytes depend only on the document.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { crc32, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";
import { ValidationError } from "../../../mod.ts";
import { createWriter } from "../../../src/formats/formats.ts";
import { concatBytes } from "../../../src/bytes.ts";
import { releaseState } from "../../../src/formats/deflate_blocks.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const encoder = new TextEncoder();
/** Pages with about 2.7 MB of CSV, whose borders are not those of the blocks. */
const PAGES = Array.from({ length: 7 }, (_, page) => {
  const rows = Array.from({ length: 3_000 + page }, (_, row) => {
    const Id = page * 10_000 + row;
    return {
      Id,
      CharacteristicName: `name "${Id}"`,
      ResultValue: Id / 7,
      ResultUnit: "x".repeat(Id % 200),
    };
  });
  return encoder.encode(JSON.stringify({ value: rows }));
});
const SELECT = ["Id", "CharacteristicName", "ResultValue", "ResultUnit"];
const options = { resource: "Records", select: SELECT } as const;

/** Writes pages; before each, the state passes through JSON and a new writer continues if `continues` says so. */
function write(
  format: "csv" | "csv.gz",
  pages: readonly Uint8Array[],
  continues: (index: number) => boolean = () => false,
): Uint8Array {
  let writer = createWriter(format, options);
  const parts = pages.map((page, index) => {
    if (continues(index)) {
      const state = JSON.parse(JSON.stringify(writer.state));
      writer = createWriter(format, { ...options, state });
    }
    return writePage(writer, page);
  });
  return concatBytes([...parts, writer.end() as Uint8Array]);
}

Deno.test("createWriter() writes one gzip member with the bytes of the CSV", () => {
  for (const pages of [[], PAGES.slice(0, 1), PAGES]) {
    const [csv, gzip] = [write("csv", pages), write("csv.gz", pages)];
    assert(gunzipSync(gzip).equals(csv));
    // One member: its only header, checksum and length are those of the whole document.
    const { length } = gzip;
    const trailer = new DataView(gzip.buffer, length - 8);
    assertEquals([trailer.getUint32(0, true), trailer.getUint32(4, true)], [
      crc32(csv),
      csv.length,
    ]);
    assert(inflateRawSync(gzip.subarray(10, length - 8)).equals(csv));
    assert(length < 1.05 * gzipSync(csv, { level: 6 }).length + 100, `${length} bytes`);
  }
});

Deno.test("createWriter() writes the same gzip member whatever the pages are", () => {
  const rows = PAGES.flatMap((page) => JSON.parse(new TextDecoder().decode(page)).value);
  const whole = encoder.encode(JSON.stringify({ value: rows }));
  assertEquals(write("csv.gz", [whole]), write("csv.gz", PAGES));
});

Deno.test("createWriter() writes the same gzip member when it continues from the state after any page", () => {
  const whole = write("csv.gz", PAGES);
  assertEquals(write("csv.gz", PAGES, (index) => index === 3), whole);
  assertEquals(write("csv.gz", PAGES, () => true), whole);
});

Deno.test("createWriter() keeps the state of earlier rows unchanged while it writes", () => {
  const writer = createWriter("csv.gz", options);
  const first = writePage(writer, PAGES[0]!);
  const { state } = writer;
  const rest = () => {
    const other = createWriter("csv.gz", { ...options, state });
    return concatBytes([first, writePage(other, PAGES[1]!), other.end() as Uint8Array]);
  };
  const expected = rest();
  for (const page of PAGES.slice(1)) writePage(writer, page);
  assertEquals(rest(), expected);
  // A cursor has less than a MiB of rows, compressed.
  assert(JSON.stringify(state).length < 2 ** 19, `${JSON.stringify(state).length}`);
});

Deno.test("releaseState() frees the rows of a state, except those that a later state has", () => {
  const writer = createWriter("csv.gz", options);
  const parts = [writePage(writer, encoder.encode('{"value":[{"Id":1}]}'))];
  const first = writer.state;
  parts.push(writePage(writer, encoder.encode('{"value":[{"Id":2}]}')));
  const second = writer.state;
  releaseState(first, second); // the same block
  const other = createWriter("csv.gz", { ...options, state: second });
  const file = concatBytes([...parts, writePage(other, PAGES[0]!), other.end() as Uint8Array]);
  assertEquals(gunzipSync(file).toString().split("\r\n").length, 2 + 3_000 + 2);
  releaseState(second);
  assertThrows(() => createWriter("csv.gz", { ...options, state: second }), TypeError);
  for (const state of [undefined, { isBegun: true }, JSON.parse(JSON.stringify(other.state))]) {
    releaseState(state);
  }
});

Deno.test("createWriter() names another format when the runtime cannot compress", () => {
  const { process } = globalThis as unknown as { process: { getBuiltinModule?: unknown } };
  const { getBuiltinModule } = process;
  process.getBuiltinModule = undefined;
  try {
    const error = assertThrows(() => createWriter("csv.gz", options), ValidationError);
    assertEquals([error.option, error.hint], [
      "format",
      "use csv, or set the flag nodejs_compat in Workers",
    ]);
    createWriter("csv", options);
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
});
