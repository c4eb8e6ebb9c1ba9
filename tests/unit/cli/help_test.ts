// The help, which is recorded, and promises about every flag that it lists.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { assertGolden } from "../../helpers/golden.ts";
import { COMMAND_NAMES, weir } from "../../helpers/run_weir.ts";
import { record } from "./transcript.ts";
import { VERSION } from "../../helpers/project.ts";

/** The environment without an API key. */
const NO_KEY = { DATASTREAM_API_KEY: "" };

/** Flags of a command that its help lists, with the placeholder of their value. */
async function flagsOf(command: string): Promise<{ name: string; value: string | undefined }[]> {
  const { output } = await record({ line: [command, "--help"] });
  return [...output.matchAll(/^ {2}(?:-\w, )?--([\w-]+)(?: (\S+))? {2,}/gm)]
    .map(([, name, value]) => ({ name: name!, value }));
}

Deno.test("weir prints the recorded help for the program and for each command", async () => {
  const texts = [(await weir(["--help"])).output];
  for (const command of COMMAND_NAMES) texts.push((await weir([command, "--help"])).output);
  const text = texts.join("\n");
  await assertGolden(text, "transcripts/help.txt");
  assert(text.split("\n").every((line) => line.length <= 120));
});

Deno.test("weir prints the same help, and the same version, for every way to request it", async () => {
  const outputOf = async (...line: string[]) => {
    const { code, output, errors, requests } = await record({ line, environment: NO_KEY });
    assertEquals([code, errors, requests], [0, [], []], line.join(" "));
    return output;
  };
  const program = await outputOf("--help");
  for (const line of [[], ["-h"], ["help"]]) assertEquals(await outputOf(...line), program);
  const help = await outputOf("records", "--help");
  for (const line of ["help records", "records help -h", "records --debug -hh"]) {
    assertEquals(await outputOf(...line.split(" ")), help, line);
  }
  for (const line of ["--version", "-V", "records --version --version", "serve -V --help"]) {
    assertEquals(await outputOf(...line.split(" ")), `${VERSION}\n`, line);
  }
});

Deno.test("weir rejects every flag without its value, with a needless value, or given twice", async () => {
  const messageOf = async (...line: string[]) => {
    const { code, output, errors, requests } = await record({ line, environment: NO_KEY });
    assertEquals([code, output, requests], [2, "", []], line.join(" "));
    return errors[0]!;
  };
  for (const command of COMMAND_NAMES) {
    for (const { name, value } of await flagsOf(command)) {
      const flag = `--${name}`;
      if (value === undefined) {
        for (const given of ["=yes", "="]) {
          assertStringIncludes(await messageOf(command, flag + given), `${flag} takes no value`);
        }
        continue;
      }
      for (const given of [[flag], [`${flag}=`], [flag, " "], [flag, "--quiet"]]) {
        assertStringIncludes(await messageOf(command, ...given), `${flag} needs a value: ${flag} `);
      }
      if (/^(doi|characteristic|region|location|unit)$/.test(name)) continue;
      assertMatch(
        await messageOf(command, `${flag}=5`, `${flag}=5`),
        / is given twice: pass it once$| must be one of /,
      );
    }
  }
});
