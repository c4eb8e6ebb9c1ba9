// A download that is killed at any request and resumed writes the same file.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  fileNames,
  FOLDER,
  readFile,
  runToEnd,
  start,
  withFiles,
  writeFile,
} from "../helpers/command_line.ts";
import { largeService } from "../helpers/large_service.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/** A service that kills its client at a given request. */
class Killer {
  /** Number of the request, from 1; 0 for none. */
  at = 0;
  asked = 0;
  child: Deno.ChildProcess | undefined;

  constructor(readonly handler: Handler) {}

  async answer(request: Request): Promise<Response> {
    if (++this.asked !== this.at) return await this.handler(request);
    this.child!.kill("SIGKILL");
    return new Response(null, { status: 503 });
  }
}

interface Weir {
  /** Runs a command line to its end. */
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Runs a command line until the service kills it; returns false if it ended before. */
  runUntilKilled: (at: number, ...args: string[]) => Promise<boolean>;
  start: (...args: string[]) => Deno.ChildProcess;
}

async function withKiller(handler: Handler, test: (weir: Weir) => Promise<void>): Promise<void> {
  const killer = new Killer(handler);
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, (request) => killer.answer(request));
  const { port } = server.addr;
  const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const line = { port, hasFiles: true, environment };
  const more = [`--base-url=http://127.0.0.1:${port}/v1/odata/v4`, "--quiet"];
  await withFiles(() =>
    test({
      run(...args) {
        killer.at = 0;
        return runToEnd(line, ...args, ...more);
      },
      async runUntilKilled(at, ...args) {
        killer.at = at;
        killer.asked = 0;
        killer.child = start(line, ...args, ...more);
        const { signal } = await killer.child.output();
        return signal === "SIGKILL";
      },
      start: (...args) => start(line, ...args, ...more),
    })
  );
}

const ODD = ["--select", "Id,DatasetName,ResultValue,ResultComment"];

const downloads: [name: string, pages: number, file: string, ...args: string[]][] = [
  ["records as CSV", 6, "a.csv", "records", "--limit=550", "--top=100", ...ODD, "--bom"],
  ["records as CSV with all columns", 4, "a.csv", "records", "--limit=350", "--top=100"],
  ["records as lines of JSON", 4, "a.ndjson", "records", "--limit=350", "--top=100", ...ODD],
  ["records as one JSON document", 4, "a.json", "records", "--limit=350", "--top=100", ...ODD],
  ["locations as GeoJSON", 4, "a.geojson", "locations", "--top=17"],
  [
    "records by location",
    4,
    "a.csv",
    "records",
    "--partition=location",
    "--doi=10.25976/weir-aa00",
    "--region=hub.atlantic",
  ],
  [
    "records by year",
    4,
    "a.csv",
    "records",
    "--partition=year",
    "--from=2012",
    "--characteristic=pH",
    ...ODD,
  ],
  ["records in a box", 4, "a.csv", "records", "--bbox=-64,46,-62,47", "--top=300", "--limit=1100"],
];
for (const [name, pages, file, ...args] of downloads) {
  Deno.test(`weir --resume writes the same file when a download of ${name} is killed at any page`, () => {
    const sandbox = createSandbox({ requestsPerSecond: Infinity });
    return withKiller(sandbox.fetch, async (weir) => {
      assertEquals((await weir.run(...args, "--output", file)).code, 0);
      const whole = await readFile(file);
      let killed = 0;
      for (let at = 1;; at++) {
        await Deno.remove(`${FOLDER}/${file}`);
        const isKilled = await weir.runUntilKilled(at, ...args, "--output", file);
        if (!isKilled) break;
        killed++;
        // At the first request there may be no state yet to resume.
        const { code, stderr } = await weir.run(...args, "--output", file, "--resume");
        assertEquals(code, 0, `killed at request ${at}: ${stderr}`);
        assertEquals(await readFile(file) === whole, true, `killed at request ${at}`);
        assertEquals(await fileNames(), [file]);
      }
      assert(killed >= pages, `killed ${killed} times`);
      assertEquals(await readFile(file), whole);
    });
  });
}

Deno.test("weir --resume writes each row once when a query past a million rows is killed", () => {
  const service = largeService(1_050_000, 40);
  return withKiller((request) => service.fetch(request), async (weir) => {
    const args = ["observations", "--select=Id,LocationId", "--output=a.ndjson"];
    // During the first page, the count, the counts of the halves, and the pages of the shards.
    for (const at of [2, 3, 5, 30, 40]) {
      const resume = at === 2 ? [] : ["--resume"];
      assert(await weir.runUntilKilled(at, ...args, ...resume), `at ${at}`);
    }
    const { code, stderr } = await weir.run(...args, "--resume");
    assertEquals(code, 0, stderr);
    const seen = new Uint8Array(1_050_000);
    for (const [, id] of (await readFile("a.ndjson")).matchAll(/"Id":(\d+)/g)) {
      seen[Number(id) - 1]!++;
    }
    assert(seen.every((times) => times === 1));
  });
});

Deno.test("weir --resume completes a split download that is killed after every page", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = [
      "records",
      "--partition=location",
      "--characteristic=pH",
      "--region=hub.atlantic",
    ];
    await weir.run(...args, "--output=whole.csv");
    const whole = await readFile("whole.csv");
    let kills = 0;
    // Requests of the first run: locations, page, dataset versions, page; of a resumed one: dataset
    // versions, page, page. Each run that is killed at its fourth request has kept a page more.
    while (kills < 99 && await weir.runUntilKilled(4, ...args, "--output=a.csv", "--resume")) {
      kills++;
    }
    assert(kills >= 5, `${kills} kills`);
    assertEquals(await readFile("a.csv") === whole, true);
    assertEquals(await fileNames(), ["a.csv", "whole.csv"]);
  });
});

Deno.test("weir --resume truncates a part to its last committed page when a write was interrupted", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=900", "--top=100", "--output=a.csv"];
    await weir.run(...args);
    const whole = await readFile("a.csv");
    await Deno.remove(`${FOLDER}/a.csv`);
    assert(await weir.runUntilKilled(4, ...args));
    const part = await readFile("a.csv.part");
    // The files after an interrupted write of a page and of a state.
    // Longer than the remaining rows, so that bytes that are not truncated would remain.
    await writeFile("a.csv.part", `${part}${'500999,10.25976/weir-aa00,"Synth'.repeat(20_000)}`);
    await writeFile("a.csv.part.json.new", '{"fingerprint":"{');
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("weir --resume writes the same file when runs are killed at arbitrary times", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=30000", "--top=1000", "--output=a.csv"];
    await weir.run(...args);
    const whole = await readFile("a.csv");
    await Deno.remove(`${FOLDER}/a.csv`);
    for (let round = 0;; round++) {
      const child = weir.start(...args, "--resume");
      // Pages of 0.3 MB arrive within milliseconds. Each round kills the process later.
      const kill = () => {
        try {
          child.kill("SIGKILL");
        } catch {
          // The process has ended.
        }
      };
      const timer = setTimeout(kill, 150 + (round * 37) % 200 + round * 10);
      const { code, signal, stderr } = await child.output();
      clearTimeout(timer);
      if (signal !== "SIGKILL") assertEquals(code, 0, new TextDecoder().decode(stderr));
      // The process may have renamed the file before it was killed.
      if (signal !== "SIGKILL" || (await fileNames()).includes("a.csv")) break;
    }
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("weir --resume refuses a part of another query, and a part whose state is invalid", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
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
    assertStringIncludes(lost.stderr, "does not say how to continue");
    const other = args.map((arg) => arg === "--top=100" ? "--top=250" : arg);
    assertEquals((await weir.run(...other, "--force")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 502);
  });
});

const state = {
  version: 3,
  owner: "an earlier run",
  fingerprint: "q",
  force: false,
  bytes: 5,
  sha256: "0".repeat(64),
  cursor: {
    version: 1,
    query: { format: "csv" },
    remaining: [],
    rows: 1,
    writer: { isBegun: true },
  },
  laterShards: 0,
  slot: 0,
};
const unusable: [name: string, state: unknown][] = [
  ["null", null],
  ["an empty object", {}],
  ["a later version", { ...state, version: 4 }],
  ["a negative length", { ...state, bytes: -5 }],
  ["a length alone", { version: 3, owner: "", fingerprint: "q", force: false, bytes: 5 }],
  ["a negative number of shards", { ...state, laterShards: -1 }],
  ["no SHA-256", { ...state, sha256: undefined }],
  ["a negative number of datasets", { ...state, datasets: -1 }],
  ["a third list of shards", { ...state, slot: 2 }],
  ["no list of shards", { ...state, slot: undefined }],
  ["no fingerprint", { ...state, fingerprint: undefined }],
  ["no owner", { ...state, owner: undefined }],
  ["a text instead of whether to overwrite", { ...state, force: "false" }],
];
Deno.test("weir --resume compares the query of a state file when the file is valid", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify(state));
    const { code, stderr } = await weir.run("locations", "--output=a.csv", "--resume");
    // Each state of the next tests differs from this one in one member.
    assertEquals([code, stderr.includes("is of another query (q)")], [1, true]);
  });
});

for (const [name, content] of unusable) {
  Deno.test(`weir --resume refuses a state file with ${name}`, () => {
    const sandbox = createSandbox({ requestsPerSecond: Infinity });
    return withKiller(sandbox.fetch, async (weir) => {
      await writeFile("a.csv.part", "Id\r\n1001\r\n");
      await writeFile("a.csv.part.json", JSON.stringify(content));
      const { code, stderr } = await weir.run(
        "locations",
        "--select=Id",
        "--output=a.csv",
        "--resume",
      );
      assertEquals([code, await readFile("a.csv.part")], [1, "Id\r\n1001\r\n"]);
      assertStringIncludes(stderr, "does not say how to continue");
    });
  });
}

/** Changes that make a cursor invalid. */
const unusableCursors: Record<string, unknown> = {
  "a negative number of missing rows": { missingRows: -1 },
  "a fraction of a row": { rows: 1.5 },
  "a number of rows in quotes": { rows: "100" },
  "no writer": { writer: undefined },
  "a writer without its state": { writer: {} },
  "a shard without clauses": { remaining: [{}] },
  "a shard with a number as its position": { remaining: [{ clauses: [], skipToken: 5 }] },
  "null as a shard": { remaining: [null] },
  "a text as the shards": { remaining: "[]" },
};

Deno.test("weir --resume refuses a state file whose cursor was changed", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
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
      assertStringIncludes(stderr, "a.csv.part.json does not say how to continue a.csv.part", name);
    }
    await writeFile("a.csv.part.json", valid);
    assertEquals((await weir.run(...args, "--resume")).code, 0);
  });
});

Deno.test("weir --resume refuses the state file of an earlier version and says how to start again", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--output=a.csv"];
    await writeFile("a.csv.part", "Id\r\n1001\r\n");
    await writeFile("a.csv.part.json", JSON.stringify({ ...state, version: 2 }));
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
    return withKiller(sandbox.fetch, async (weir) => {
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

Deno.test("weir --resume continues in the part file itself, without a copy", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=900", "--top=100", "--select=Id,DOI", "--output=a.csv"];
    assert(await weir.runUntilKilled(5, ...args));
    const { ino } = await Deno.stat(`${FOLDER}/a.csv.part`);
    assert(await weir.runUntilKilled(4, ...args, "--resume"));
    assertEquals((await Deno.stat(`${FOLDER}/a.csv.part`)).ino, ino);
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals((await Deno.stat(`${FOLDER}/a.csv`)).ino, ino);
  });
});

Deno.test("weir --resume exits with 0 and says that the file is complete when it is finished", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=300", "--top=100", "--select=Id", "--output=a.csv"];
    const cited = [...args, "--cite=c.txt"];
    assertEquals((await weir.run(...cited)).code, 0);
    const [file, citations] = [await readFile("a.csv"), await readFile("c.txt")];
    // A process that was killed just after it had renamed the part leaves its state.
    await writeFile("a.csv.part.json", "{}");
    for (const line of [args, cited]) {
      const { code, stderr } = await weir.run(...line, "--resume");
      assertEquals([code, await readFile("a.csv")], [0, file]);
      assertStringIncludes(stderr, "a.csv is complete");
    }
    assertEquals(await fileNames(), ["a.csv", "c.txt"]);
    // The citations are written after the file, so a run that is killed between them leaves none.
    await Deno.remove(`${FOLDER}/c.txt`);
    assertEquals((await weir.run(...cited, "--resume")).code, 0);
    assertEquals(await readFile("c.txt"), citations);
  });
});

Deno.test("weir --resume does not replace a file that appeared beside the part", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--top=20", "--output=a.csv"];
    assert(await weir.runUntilKilled(3, ...args));
    await writeFile("a.csv", "of another");
    const { code, stderr } = await weir.run(...args, "--resume");
    assertEquals([code, await readFile("a.csv")], [1, "of another"]);
    assertStringIncludes(stderr, "a.csv already exists");
    assertStringIncludes(stderr, "move it, then resume");
    await Deno.rename(`${FOLDER}/a.csv`, `${FOLDER}/b.csv`);
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
  });
});

Deno.test("weir --resume overwrites the file when the interrupted run had --force", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--top=20", "--output=a.csv"];
    // At the first page, the dataset versions, and the second page.
    for (const at of [1, 2, 3]) {
      await writeFile("a.csv", "of old");
      assert(await weir.runUntilKilled(at, ...args, "--force"));
      assertEquals(await readFile("a.csv"), "of old");
      assertEquals((await weir.run(...args, "--resume")).code, 0, `killed at request ${at}`);
      assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
      assertEquals(await fileNames(), ["a.csv"]);
    }
  });
});

Deno.test("weir --resume of another query keeps the file when a run with --force was killed before its first page", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--top=20", "--output=a.csv"];
    await writeFile("a.csv", "of old");
    assert(await weir.runUntilKilled(1, ...args, "--force"));
    const { code, stderr } = await weir.run(...args, "--limit=5", "--resume");
    assertEquals([code, await readFile("a.csv")], [1, "of old"]);
    assertStringIncludes(stderr, "a.csv already exists");
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
  });
});

Deno.test("weir --resume starts a download when there is no part", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const { code } = await weir.run("locations", "--select=Id", "--output=a.csv", "--resume");
    assertEquals([code, (await readFile("a.csv")).split("\r\n").length], [0, 62]);
  });
});
