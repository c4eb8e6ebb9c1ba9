// Reading long command lines takes linear time.
import "../../helpers/no_permission.ts";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { readQuery } from "../../../src/cli/flags.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

const lines: Record<string, (size: number) => string[]> = {
  "n letters of one flag": (n) => [`-${"q".repeat(n)}x`],
  "n operands": (n) => Array(n).fill("a"),
  "n values of a list": (n) => Array(n).fill("--doi=https://doi.org/10.25976/xxxx-xx00"),
};
for (const [what, words] of Object.entries(lines)) {
  Deno.test(`parseArguments() and readQuery() take linear time when there are ${what}`, async () =>
    await assertLinear(
      words,
      (line) => readQuery(parseArguments(["records", ...line], COMMANDS).flags).filter,
    ));
}
