// The spelling of flags, values and requests for help.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { VERSION } from "../../../src/version.ts";
import { weir } from "../../helpers/run_weir.ts";

const urlOf = async (...flags: string[]) => {
  const { code, output, errors } = await weir(["url", "records", ...flags]);
  assertEquals([code, errors], [0, []]);
  return new URL(output).searchParams;
};

const spelled: [row: string, spellings: string[][]][] = [
  ["limits the rows", [["-q", "-n2"], ["-q", "-n=2"], ["-q", "-n", "2"], ["-q", "--limit", "2"]]],
  ["reads each letter", [["-qn2"], ["-qn", "2"], ["-qn2", "-o-"], ["-qn2", "-o", "-"]]],
];
for (const [does, spellings] of spelled) {
  for (const flags of spellings) {
    Deno.test(`run() ${does} when given ${flags.join(" ")}`, async () => {
      const line = ["locations", "--sandbox", "--select=Id", ...flags];
      const { code, output, errors } = await weir(line);
      assertEquals([code, output, errors], [0, "Id\r\n1001\r\n1008\r\n", []]);
    });
  }
}

for (const output of [["-oz.xlsx"], ["-o=z.xlsx"], ["-qoz.xlsx"], ["-o", "z.xlsx"]]) {
  Deno.test(`run() takes z.xlsx as the file's name when given ${output.join(" ")}`, async () => {
    const { code, errors } = await weir(["records", "--sandbox", ...output]);
    assertEquals(code, 2);
    assertStringIncludes(errors[0]!, '"z.xlsx"');
  });
}

for (const command of Object.keys(COMMANDS)) {
  Deno.test(`run() prints the help of ${command} when given help as a word`, async () => {
    const { output: help } = await weir([command, "--help"]);
    assertStringIncludes(help, `weir ${command}: `);
    for (const line of [["help", command], [command, "help"], [command, "help", "more"]]) {
      const { code, output, errors } = await weir(line);
      assertEquals([code, output, errors], [0, help, []]);
    }
  });

  Deno.test(`run() prints the version when given --version after ${command}`, async () => {
    for (const flag of ["--version", "-V"]) {
      const { code, output, errors } = await weir([command, flag]);
      assertEquals([code, output, errors], [0, `${VERSION}\n`, []]);
    }
  });
}

Deno.test("run() prints help when help is asked for twice or among other flags", async () => {
  const { output: help } = await weir(["records", "--help"]);
  const spellings = [["-hh"], ["--help", "-h"], ["help", "--help"], ["-qh"], ["help", "-n5"]];
  for (const flags of spellings) {
    assertEquals((await weir(["records", ...flags])).output, help, flags.join(" "));
  }
  assertEquals((await weir(["help", "records", "-n5"])).output, help);
});

Deno.test("run() takes help as a value when it follows a flag that takes one", async () => {
  for (const flags of [["--characteristic", "help"], ["--characteristic=help"]]) {
    assertEquals((await urlOf(...flags)).get("$filter"), "CharacteristicName eq 'help'");
  }
  const { errors } = await weir(["records", "--sandbox", "--count", "--output", "help"]);
  assertStringIncludes(errors[0]!, "leave --output out");
});

Deno.test("run() takes every argument after -- as an operand", async () => {
  assertEquals((await weir(["fields", "--", "records"])).code, 0);
  const environment = { WEIR_SIGNING_SECRET: "a secret of a test, of thirty-two bytes" };
  const { code, errors } = await weir(["sign", "--", "--help"], { environment });
  assertEquals(code, 2);
  assertStringIncludes(errors[0]!, "absolute URL");
});

Deno.test("run() takes a value with an equals sign or spaces unchanged", async () => {
  const value = "DOI eq '10.25976/a=b'";
  for (const filter of [["--filter", value], [`--filter=${value}`]]) {
    assertEquals((await urlOf(...filter)).get("$filter"), value);
  }
});

const refused: [line: string[], ...said: string[]][] = [
  [["help", "recrds"], '"recrds"', 'did you mean "records"?'],
  [["help", "help"], "Wanted nothing after help"],
  [["--version", "records"], 'got "records"'],
  [["records", "--version=1"], "--version takes no value"],
  [["records", "--", "help"], 'got "help"'],
  [["records", "--", "-q"], 'got "-q"'],
  [["fields", "records", "help"], 'got "help"'],
  [["records", "-qx"], 'no flag "-x"'],
  [["records", "-q💧"], 'no flag "-💧"'],
  [["records", "-qq"], "--quiet is given twice"],
  [["records", "-n1", "--limit=2"], "--limit is given twice"],
  [["records", "-qn"], "--limit wants a value: --limit N"],
  [["records", "-n", ""], "--limit wants a value"],
  [["records", "--limit", "--", "5"], "--limit wants a value"],
  [["records", "-o", "-q"], "--output wants a value"],
  [["records", "--sandbox", "-n-5"], '--limit wants a whole number, got "-5"'],
  [["records", "--sandbox", "-n", "-5"], '--limit wants a whole number, got "-5"'],
  [["records", "--doi=a", "--doi="], "--doi wants a value"],
  [["records", "--quiet="], "--quiet takes no value"],
  [["records", "--=x"], 'no flag "--"'],
  [["records", "---limit"], 'no flag "---limit"'],
  [["records", "--__proto__=1"], 'no flag "--__proto__"'],
  [["records", "--toString"], 'no flag "--toString"'],
];
for (const [line, ...said] of refused) {
  Deno.test(`run() ends with 2 when given ${line.join(" ")}`, async () => {
    const { code, output, errors } = await weir(line);
    assertEquals([code, output, errors.length], [2, "", 2]);
    for (const part of said) assertStringIncludes(errors[0]!, part);
  });
}

Deno.test("run() does not print the value when a flag for a key is unknown", async () => {
  for (const key of ["--api-key=of-a-test", "-kof-a-test", "--key=of-a-test"]) {
    const { code, errors } = await weir(["records", key]);
    assertEquals([code, errors.join().includes("of-a-test")], [2, false]);
  }
});
