// Part files and state files that --resume does not continue.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readFile, writeFile } from "../../helpers/command_line.ts";
import { withKillingService } from "../../helpers/killing_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test("weir --resume refuses a part when it belongs to another query or its state is damaged", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
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
      ["--bbox=-64,46,-62,47"],
    ];
    for (const change of changed) {
      const [name] = change[0]!.split("=");
      const others = args.filter((arg) => !arg.startsWith(`${name}=`));
      const { code, stderr } = await weir.run(...others, ...change, "--resume");
      assertEquals([code, await readFile("a.csv.part")], [1, part], change.join());
      assertStringIncludes(stderr, "belongs to another query");
      assertEquals(stderr.includes("sandbox"), false); // the key
    }
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
    assertStringIncludes(lost.stderr, "is missing or damaged");
    const other = args.map((arg) => arg === "--top=100" ? "--top=250" : arg);
    assertEquals((await weir.run(...other, "--force")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 502);
  });
});

const state = {
  version: 5,
  run: "an earlier run",
  query: { resource: "Locations" },
  force: false,
  bytes: 5,
  hash: `sha256:${"0".repeat(64)}`,
  cursor: {
    version: 2,
    query: "0123456789abcdef",
    shards: [],
    rows: 1,
    unitRows: 1,
    writer: { isBegun: true },
  },
};
const unusable: [name: string, state: unknown][] = [
  ["null", null],
  ["an empty object", {}],
  ["a later version", { ...state, version: 6 }],
  ["a negative length", { ...state, bytes: -5 }],
  ["a length alone", { version: 5, run: "", query: {}, force: false, bytes: 5, hash: "" }],
  ["no hash", { ...state, hash: undefined }],
  ["datasets of another form", { ...state, datasets: [["a", "b"]] }],
  ["no query", { ...state, query: undefined }],
  ["a text instead of whether to overwrite", { ...state, force: "false" }],
];
Deno.test("weir --resume compares the query of a state file when the file is valid", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify(state));
    const { code, stderr } = await weir.run("locations", "--output=a.csv", "--resume");
    // Each state of the next tests differs from this one in one member.
    assertEquals([code, stderr.includes("belongs to another query (service was not given")], [
      1,
      true,
    ]);
  });
});

for (const [name, content] of unusable) {
  Deno.test(`weir --resume refuses a state file with ${name}`, () => {
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
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
      assertStringIncludes(stderr, "is missing or damaged");
    });
  });
}

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

Deno.test("weir --resume refuses the state file of an earlier version and says how to start again", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--output=a.csv"];
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify({ ...state, version: 4 }));
    const { code, stderr } = await weir.run(...args, "--resume");
    assertEquals([code, await readFile("a.csv.part")], [1, "Id\r\n1001\r\n"]);
    assertStringIncludes(
      stderr,
      "a.csv.part.json was written by an earlier version of weir: start again with --force",
    );
    assertEquals((await weir.run(...args, "--force")).code, 0);
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
