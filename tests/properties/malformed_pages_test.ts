// The transcoder and the parser give the same rows or error as JSON.parse() for malformed pages.
import { assert } from "@std/assert";
import fc from "fast-check";
import { assertAgreement, readStrictly, STRAY_BYTES } from "../unit/formats/malformed_pages.ts";

const runs = { numRuns: 20_000, seed: 1 };

const value = fc.oneof(
  fc.constantFrom(
    "null",
    "-0",
    "1e999",
    "true",
    '"a rather long text, é"',
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

/** Removes, inserts and repeats bytes of a page. */
const edit = fc.record({
  /** Position in the page, in thousandths of its length. */
  at: fc.nat(1_000),
  removed: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(3)),
  inserted: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...STRAY_BYTES.map(([, bytes]) => bytes)) },
    fc.uint8Array({ maxLength: 3 }).map((bytes) => [...bytes]),
    fc.constantFrom('"', "[", "{", ":", "\\u", "\\ud83e", ',"value":[]', "1", "e", "-", ".")
      .map((text) => [...new TextEncoder().encode(text)]),
  ),
  repeated: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(20)),
});

Deno.test("each format agrees with JSON.parse() when the bytes of a page are edited at random", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      page,
      fc.oneof(fc.array(edit, { maxLength: 1 }), fc.array(edit, { maxLength: 3 })),
      (original, edits) => {
        let bytes = [...original];
        for (const { at, removed, inserted, repeated } of edits) {
          const from = Math.floor(at / 1_000 * bytes.length);
          const copy = bytes.slice(from, from + repeated);
          bytes = [...bytes.slice(0, from), ...inserted, ...copy, ...bytes.slice(from + removed)];
        }
        const edited = Uint8Array.from(bytes);
        if ("rows" in readStrictly(edited)) accepted++;
        assertAgreement(edited, JSON.stringify(new TextDecoder().decode(edited)));
      },
    ),
    runs,
  );
  // Both valid and invalid pages must occur.
  assert(accepted > runs.numRuns / 10 && accepted < runs.numRuns / 2, `${accepted} valid pages`);
});
