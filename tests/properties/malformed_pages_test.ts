// Whatever is wrong with a page, the path from bytes to bytes and the general path agree with
// `JSON.parse`: the same rows, or an error.
import { assert } from "@std/assert";
import fc from "fast-check";
import { assertAgreement, readStrictly, STRAY_BYTES } from "../helpers/malformed_pages.ts";

const runs = { numRuns: 20_000, seed: 1 };

const value = fc.oneof(
  fc.constantFrom(
    "null",
    "-0",
    "1e999",
    "true",
    '"é"',
    String.raw`"\ud83e"`,
    String.raw`"a\"\\\u000a"`,
    '["x","é"]',
    '{"n":[]}',
  ),
  fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => JSON.stringify(text)),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
);
const name = fc.constantFrom("Id", "é", "l", "q", "value", "=", "");
const row = fc.oneof(
  fc.tuple(value, value, value).map(([a, b, c]) => `{"Id":${a},"é":${b},"l":${c}}`),
  fc.array(fc.tuple(name, value), { maxLength: 4 }).map((members) =>
    `{${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`
  ),
);
const page = fc.tuple(fc.array(row, { maxLength: 4 }), value, fc.boolean()).map(
  ([rows, other, isBefore]) => {
    const members = [`"value":[${rows.join(",\n")}]`, `"@é":${other}`];
    return new TextEncoder().encode(`{${(isBefore ? members.reverse() : members).join()}}`);
  },
);

/** Changes a part of the page: its bytes are removed, replaced or repeated. */
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat(3),
  inserted: fc.oneof(
    fc.constantFrom(...STRAY_BYTES.map(([, bytes]) => bytes)),
    fc.uint8Array({ maxLength: 3 }).map((bytes) => [...bytes]),
    fc.constantFrom('"', "[", "{", ":", "\\u", "\\ud83e", ',"value":[]', "1", "e", "-", ".")
      .map((text) => [...new TextEncoder().encode(text)]),
  ),
  repeated: fc.nat(20),
});

Deno.test("each format agrees with JSON.parse() when the bytes of a page are edited at random", () => {
  let accepted = 0;
  fc.assert(
    fc.property(page, fc.array(edit, { maxLength: 3 }), (whole, edits) => {
      let bytes = [...whole];
      for (const { at, removed, inserted, repeated } of edits) {
        const from = Math.floor(at * bytes.length);
        const again = bytes.slice(from, from + (repeated > 15 ? repeated : 0));
        bytes = [...bytes.slice(0, from), ...inserted, ...again, ...bytes.slice(from + removed)];
      }
      const edited = Uint8Array.from(bytes);
      if ("rows" in readStrictly(edited)) accepted++;
      assertAgreement(edited, JSON.stringify(new TextDecoder().decode(edited)));
    }),
    runs,
  );
  // Neither only valid pages nor only invalid ones.
  assert(accepted > runs.numRuns / 10 && accepted < runs.numRuns / 2, `${accepted} valid pages`);
});
