// Parts that were edited, and states whose cursor was: --resume does not continue them.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readFile, writeFile } from "../command_line.ts";
import { withKillingService } from "./killing_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

/** Changes that make a cursor invalid. */
const unusableCursors: Record<string, unknown> = {
  "a fraction of a row": { rows: 1.5 },
  "a number of rows in quotes": { rows: "100" },
  "no writer": { writer: undefined },
  "a text as the shards": { shards: "[]" },
};

Deno.test("weir --resume refuses a state file whose cursor was changed", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=500", "--top=100", "--select=Id", "--output=a.csv"];
    assert(await weir.runUntilKilled(4, ...args));
    const part = await readFile("a.csv.part");
    const valid = await readFile("a.csv.part.json");
    const state = JSON.parse(valid);
    const cursors = Object.entries(unusableCursors)
      .map(([name, change]) => [name, { ...state.cursor, ...change as object }] as const);
    for (const [name, cursor] of [...cursors, ["null", null], ["a text", "{}"]] as const) {
      await writeFile("a.csv.part.json", JSON.stringify({ ...state, cursor }));
      const { code, stderr } = await weir.run(...args, "--resume");
      assertEquals([code, await readFile("a.csv.part")], [1, part], name);
      assertStringIncludes(stderr, "a.csv.part.json is missing or damaged", name);
    }
    await writeFile("a.csv.part.json", valid);
    assertEquals((await weir.run(...args, "--resume")).code, 0);
  });
});

const edits: [name: string, edit: (part: string) => string, expected: string][] = [
  ["a byte order mark before it", (part) => `\ufeff${part}`, "differ from what weir wrote"],
  [
    "6 bytes overwritten",
    (part) => `${part.slice(0, 500)}XXXXXX${part.slice(506)}`,
    "differ from what weir wrote",
  ],
  ["its last byte overwritten", (part) => `${part.slice(0, -1)}X`, "differ from what weir wrote"],
  ["its last byte missing", (part) => part.slice(0, -1), "start again with --force"],
];
for (const [name, edit, expected] of edits) {
  Deno.test(`weir --resume refuses a part file with ${name} and does not change it`, () => {
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
    return withKillingService(sandbox.fetch, async (weir) => {
      const args = ["records", "--limit=900", "--top=100", "--select=Id,DOI", "--output=a.csv"];
      assert(await weir.runUntilKilled(4, ...args));
      const edited = edit(await readFile("a.csv.part"));
      await writeFile("a.csv.part", edited);
      const state = await readFile("a.csv.part.json");
      const { code, stderr } = await weir.run(...args, "--resume");
      assertEquals([code, await readFile("a.csv.part")], [1, edited]);
      assertEquals(await readFile("a.csv.part.json"), state);
      assertStringIncludes(stderr, "a.csv.part was changed");
      assertStringIncludes(stderr, expected);
      assertStringIncludes(stderr, "start again with --force");
      assertEquals((await weir.run(...args, "--force")).code, 0);
      assertEquals((await readFile("a.csv")).split("\r\n").length, 902);
    });
  });
}
