// The help, which is recorded, and the ways to request it.
import { assert, assertEquals } from "@std/assert";
import { assertGolden } from "../../helpers/golden.ts";
import { COMMAND_NAMES, weir } from "../../helpers/run_weir.ts";
import { record } from "./transcript.ts";
import { VERSION } from "../../helpers/project.ts";

/** The environment without an API key. */
const NO_KEY = { DATASTREAM_API_KEY: "" };

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
