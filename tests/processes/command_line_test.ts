// The command line as a process: its pipe, its file, its exit codes.
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readCsv } from "../helpers/rfc4180.ts";

/** The folder that this test may write to. */
const cwd = "tests/processes";
const permissions = ["--allow-env=DATASTREAM_API_KEY", "--allow-read=.", "--allow-write=."];

function weir(...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...permissions, "../../src/cli/main.ts", ...args],
    cwd,
    stdout: "piped",
    stderr: "piped",
  });
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("weir writes CSV to its standard output", async () => {
  const { code, stdout, stderr } = await weir(
    "records",
    "--sandbox",
    "--select=Id",
    "--filter=LocationId eq 1015",
  ).output();
  assertEquals([code, text(stderr), readCsv(text(stdout)).length], [0, "", 1 + 450]);
});

Deno.test("a reader that leaves the pipe ends weir quietly, with 0", async () => {
  const child = weir("records", "--sandbox", "--top=1000").spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assert(text(value!).startsWith("Id,DOI,"));
  await reader.cancel();
  const { code } = await child.status;
  assertEquals([code, await new Response(child.stderr).text()], [0, ""]);
});

Deno.test("weir writes a file that has its name only when whole", async () => {
  const file = "written_by_a_test.csv";
  try {
    const { code } = await weir("records", "--sandbox", "--select=Id", "--output", file).output();
    assertEquals([code, readCsv(await Deno.readTextFile(`${cwd}/${file}`)).length], [0, 40_001]);
    await assertRejects(() => Deno.stat(`${cwd}/${file}.part`), Deno.errors.NotFound);
  } finally {
    await Deno.remove(`${cwd}/${file}`);
  }
});

Deno.test("a fault leaves neither the file nor a part of it", async () => {
  const file = "not_written_by_a_test.csv";
  const { code, stderr } = await weir(
    "records",
    "--sandbox",
    "--filter=LocationId eq 'x'",
    "--output",
    file,
  ).output();
  assertEquals(code, 1);
  assertStringIncludes(text(stderr), "compared with a number");
  await assertRejects(() => Deno.stat(`${cwd}/${file}`), Deno.errors.NotFound);
  await assertRejects(() => Deno.stat(`${cwd}/${file}.part`), Deno.errors.NotFound);
});

Deno.test("weir does not write where another download does", async () => {
  const file = "written_by_two.csv";
  await Deno.writeTextFile(`${cwd}/${file}.part`, "of another");
  try {
    const { code, stderr } = await weir("records", "--sandbox", "--output", file).output();
    assertEquals(code, 1);
    assertStringIncludes(text(stderr), `${file}.part is there`);
    assertEquals(await Deno.readTextFile(`${cwd}/${file}.part`), "of another");
  } finally {
    await Deno.remove(`${cwd}/${file}.part`);
  }
});

Deno.test("weir exits with 2 at a wrong command line", async () => {
  const { code, stderr } = await weir("recrds").output();
  assertEquals([code, text(stderr).split("\n").length], [2, 3]);
});
