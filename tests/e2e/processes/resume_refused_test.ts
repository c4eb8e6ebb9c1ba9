// Part files and state files that --resume does not continue.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readFile, writeFile } from "../../helpers/command_line.ts";
import { withKillingService } from "../../helpers/killing_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test("another question does not go on with a part, nor does one whose state is lost", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=500", "--top=100", "--select=Id,DOI", "--output=a.csv"];
    assert(await weir.runUntilKilled(3, ...args));
    const part = await readFile("a.csv.part");
    const changed: string[][] = [
      ["--limit=600"],
      ["--select=Id"],
      ["--doi=10.25976/weir-aa00"],
      ["--bom"],
      ["--format=ndjson"],
      ["--partition=location"],
      ["--bbox=-64,46,-62,47"],
    ];
    for (const change of changed) {
      const [name] = change[0]!.split("=");
      const others = args.filter((arg) => !arg.startsWith(`${name}=`));
      const { code, stderr } = await weir.run(...others, ...change, "--resume");
      assertEquals([code, await readFile("a.csv.part")], [1, part], change.join());
      assertStringIncludes(stderr, "is of another query");
      assertEquals(stderr.includes("sandbox"), false); // the key
    }
    // The page size is not the question.
    await writeFile("a.csv.part", part.slice(0, 5));
    const short = await weir.run(...args, "--resume");
    assertEquals(short.code, 1);
    assertStringIncludes(
      short.stderr,
      `a.csv.part was changed: it has 5 bytes, weir wrote ${part.length}: start again with --force`,
    );
    await writeFile("a.csv.part.json", "{");
    const lost = await weir.run(...args, "--resume");
    assertEquals(lost.code, 1);
    assertStringIncludes(lost.stderr, "does not say how far");
    const other = args.map((arg) => arg === "--top=100" ? "--top=250" : arg);
    assertEquals((await weir.run(...other, "--force")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 502);
  });
});

const state = {
  version: 2,
  owner: "an earlier run",
  question: "q",
  force: false,
  bytes: 5,
  sha256: "0".repeat(64),
  next: [],
  after: 0,
  slot: 0,
  rows: 1,
  writer: { isBegun: true },
};
const unusable: [name: string, state: unknown][] = [
  ["null", null],
  ["an empty object", {}],
  ["a later version", { ...state, version: 3 }],
  ["a negative length", { ...state, bytes: -5 }],
  ["a leg without clauses", { ...state, next: [{}] }],
  ["a number of rows in quotes", { ...state, rows: "1" }],
  ["no writer", { ...state, writer: undefined }],
  ["a length alone", { version: 2, question: "q", force: false, bytes: 5 }],
  ["a negative number of legs", { ...state, after: -1 }],
  ["no SHA-256", { ...state, sha256: undefined }],
  ["a negative number of datasets", { ...state, datasets: -1 }],
  ["a negative number of missing rows", { ...state, missingRows: -1 }],
  ["a fraction of a row", { ...state, rows: 1.5 }],
  ["a third list of legs", { ...state, slot: 2 }],
  ["no list of legs", { ...state, slot: undefined }],
  ["a leg with a number as its position", { ...state, next: [{ clauses: [], skipToken: 5 }] }],
  ["null as a leg", { ...state, next: [null] }],
  ["a text as the next legs", { ...state, next: "[]" }],
  ["no question", { ...state, question: undefined }],
  ["a text instead of whether to overwrite", { ...state, force: "false" }],
  ["a writer without its state", { ...state, writer: {} }],
];
Deno.test("weir --resume compares the query of a state file when the file is valid", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify(state));
    const { code, stderr } = await weir.run("locations", "--output=a.csv", "--resume");
    // Each state of the next test differs from this one in one member alone.
    assertEquals([code, stderr.includes("is of another query (q)")], [1, true]);
  });
});

for (const [name, content] of unusable) {
  Deno.test(`weir --resume refuses a state file with ${name}`, () => {
    const sandbox = createSandbox({ requestsPerSecond: Infinity });
    return withKillingService(sandbox.fetch, async (weir) => {
      await writeFile("a.csv.part", "Id\r\n1001\r\n");
      await writeFile("a.csv.part.json", JSON.stringify(content));
      const { code, stderr } = await weir.run(
        "locations",
        "--select=Id",
        "--output=a.csv",
        "--resume",
      );
      assertEquals([code, await readFile("a.csv.part")], [1, "Id\r\n1001\r\n"]);
      assertStringIncludes(stderr, "does not say how far");
    });
  });
}

Deno.test("weir --resume refuses the state file of an earlier version and says how to start again", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--output=a.csv"];
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify({ ...state, version: 1 }));
    const { code, stderr } = await weir.run(...args, "--resume");
    assertEquals([code, await readFile("a.csv.part")], [1, "Id\r\n1001\r\n"]);
    assertStringIncludes(
      stderr,
      "a.csv.part.json was written by an earlier version of weir: start again with --force",
    );
    assertEquals((await weir.run(...args, "--force")).code, 0);
  });
});

const edits: [name: string, edit: (part: string) => string, said: string][] = [
  ["a byte order mark before it", (part) => `\ufeff${part}`, "are not those that weir wrote"],
  [
    "6 bytes overwritten",
    (part) => `${part.slice(0, 500)}XXXXXX${part.slice(506)}`,
    "are not those that weir wrote",
  ],
  ["its last byte overwritten", (part) => `${part.slice(0, -1)}X`, "are not those that weir wrote"],
  ["its last byte missing", (part) => part.slice(0, -1), "start again with --force"],
];
for (const [name, edit, said] of edits) {
  Deno.test(`weir --resume refuses a part file with ${name} and leaves it as it is`, () => {
    const sandbox = createSandbox({ requestsPerSecond: Infinity });
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
      assertStringIncludes(stderr, said);
      assertStringIncludes(stderr, "start again with --force");
      assertEquals((await weir.run(...args, "--force")).code, 0);
      assertEquals((await readFile("a.csv")).split("\r\n").length, 902);
    });
  });
}
