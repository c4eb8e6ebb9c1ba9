// Parsing long command lines takes linear time.
// Measures functions directly, because a command takes more time than they do.

import "../../helpers/no_permission.ts";
import { assertThrows } from "@std/assert";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { UsageError } from "../../../src/cli/context.ts";
import { readQuery } from "../../../src/cli/flags.ts";
import { assertLinear } from "../../helpers/doubling.ts";

const parse = (args: readonly string[]) => parseArguments(args, COMMANDS);
const many = (size: number, ...args: string[]) => Array.from({ length: size }, () => args).flat();

const wrong: Record<string, (size: number) => string[]> = {
  "a command of n characters": (n) => ["a".repeat(n)],
  "a flag of n characters": (n) => ["records", `--${"a".repeat(n)}`],
  "n letters of one flag": (n) => ["records", `-${"q".repeat(n)}x`],
  "n operands": (n) => ["records", ...many(n, "a")],
  "n values of one flag": (n) => ["records", ...many(n, "--top", "1")],
};
for (const [what, args] of Object.entries(wrong)) {
  Deno.test(`parseArguments() throws in linear time when there are ${what}`, async () => {
    await assertLinear(args, parse);
    assertThrows(() => parse(args(1_000)), UsageError);
  });
}

Deno.test("readQuery() takes linear time when --doi is given n times", async () =>
  await assertLinear(
    (n) => many(n, "--doi", "https://doi.org/10.25976/xxxx-xx00"),
    (args) => readQuery(parse(["records", ...args]).flags).filter,
  ));
