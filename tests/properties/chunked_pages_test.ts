// Random pages in random chunks give the same result as the page in one chunk, and the rows of JSON.parse().
import { assert } from "@std/assert";
import fc from "fast-check";
import { assertSameInChunks } from "../unit/formats/chunked_pages.ts";
import { assertAgreement, readStrictly } from "../unit/formats/malformed_pages.ts";

/** Number of pages. `deno task test FILE -- 100000 7` sets this number and a seed. */
const runs = { numRuns: Number(Deno.args[0] ?? 10_000), seed: Number(Deno.args[1] ?? 1) };

const value = fc.oneof(
  fc.constantFrom(
    "null",
    "-0",
    "1e999",
    "true",
    '"=a rather long text of more than forty-eight bytes, é"',
    String.raw`"\ud83e"`,
    String.raw`"a\"\\\u000a"`,
    '["x", "é"]',
    '{"n":[ ]}',
    "7",
    '"7"',
  ),
  fc.string({ unit: "grapheme", maxLength: 4 }).map((text) => JSON.stringify(text)),
);
const name = fc.constantFrom("Id", "é", "l", "q", "value", "", "DOI", "Longitude", "Latitude");
const row = fc.oneof(
  fc.tuple(fc.nat(9), value, value).map(([id, a, b]) => `{"Id":${id},"é":${a},"DOI":${b}}`),
  fc.array(fc.tuple(name, value), { maxLength: 4 }).map((members) =>
    `{${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`
  ),
);
const page = fc.tuple(fc.array(row, { maxLength: 5 }), value, fc.boolean(), fc.boolean()).map(
  ([rows, other, isBefore, isCompact]) => {
    const members = [`"value":[${rows.join(isCompact ? "," : " ,\n")}]`, `"@é":${other}`];
    return new TextEncoder().encode(`{${(isBefore ? members.reverse() : members).join()}}`);
  },
);
/** A change at a position in the page, in thousandths of its length. */
const edit = fc.record({
  at: fc.nat(1_000),
  removed: fc.nat(3),
  inserted: fc.constantFrom('"', "[", "{", "}", "]", ",", "\\", ":", "\0", "1", ',"value":[]', "é")
    .map((text) => [...new TextEncoder().encode(text)]),
});

Deno.test("each writer gives the same result when random pages arrive in random chunks", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      page,
      fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(edit, { maxLength: 2 })),
      fc.array(fc.nat(1_000), { maxLength: 8 }),
      (original, edits, places) => {
        let bytes = [...original];
        for (const { at, removed, inserted } of edits) {
          const from = Math.floor(at / 1_000 * bytes.length);
          bytes = [...bytes.slice(0, from), ...inserted, ...bytes.slice(from + removed)];
        }
        const edited = Uint8Array.from(bytes);
        const message = JSON.stringify(new TextDecoder().decode(edited));
        const cuts = places.map((place) => Math.floor(place / 1_000 * edited.length));
        assertSameInChunks(edited, [cuts.toSorted((a, b) => a - b)], message);
        if (places.length === 0) assertAgreement(edited, message);
        if ("rows" in readStrictly(edited)) accepted++;
      },
    ),
    runs,
  );
  assert(accepted > runs.numRuns / 4 && accepted < runs.numRuns, `${accepted} valid pages`);
});
