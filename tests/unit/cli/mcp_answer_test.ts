// An answer of `weir mcp` has at most 8 kB, and says what is left out of its lists.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { type Answer, toResult } from "../../../src/cli/mcp_answer.ts";

const read = (answer: Answer) => {
  const result = toResult(answer, "of-a-test");
  const [, json] = result.content[0]!.text.split("\n");
  return {
    members: JSON.parse(json!),
    bytes: new TextEncoder().encode(JSON.stringify(result)).length,
  };
};

const rows = Array.from({ length: 500 }, (_, id) => [id, "é".repeat(100)]);
const answers: [name: string, answer: Answer, leftOut: boolean][] = [
  ["a long list", { rows }, true],
  ["two long lists", { rows, citations: rows }, true],
  ["one long text", { error: "\u0007".repeat(100_000) }, false],
  [
    "long texts without a list",
    Object.fromEntries(rows.map(([id, text]) => [`m${id}`, text])),
    false,
  ],
  ["too many members", Object.fromEntries(rows.map(([id]) => [`member_${id}`, "a"])), false],
  ["a short list", { rows: rows.slice(0, 3) }, false],
];
for (const [name, answer, leftOut] of answers) {
  Deno.test(`an answer of weir mcp has at most 8 kB when it has ${name}`, () => {
    const { members, bytes } = read(answer);
    assert(bytes <= 8_000, `${bytes}`);
    assertEquals("left_out" in members, leftOut);
    if (leftOut) {
      for (const [list, count] of Object.entries<number>(members.left_out)) {
        assertEquals(members[list].length + count, 500);
      }
    }
  });
}
