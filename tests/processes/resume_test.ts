// A download that is killed at any place goes on to the very file of one that was not.
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

/** A service that kills whoever asks it, at the request that is told. */
class Killer {
  /** The number of the request, from 1; 0 is none. */
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
  /** Runs to the end. */
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Runs until the service kills it at a request; false where it came to its end before. */
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
  Deno.test(`${name}, killed at each page, go on to the same file`, () => {
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
        // At the first request there may be no state yet, and so nothing to go on from.
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

Deno.test("past a million rows the parts go on where they were, each row once", () => {
  const service = largeService(1_050_000, 40);
  return withKiller((request) => service.fetch(request), async (weir) => {
    const args = ["observations", "--select=Id,LocationId", "--output=a.ndjson"];
    // The first page, the count, the halves' counts, the ranges' pages: in the midst of each.
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

Deno.test("killed after every page, again and again, a split download goes on", () => {
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
    while (kills < 99 && await weir.runUntilKilled(3, ...args, "--output=a.csv", "--resume")) {
      kills++;
    }
    assert(kills >= 5, `${kills} kills`);
    assertEquals(await readFile("a.csv") === whole, true);
    assertEquals(await fileNames(), ["a.csv", "whole.csv"]);
  });
});

Deno.test("killed in the midst of writing, a part is cut back to its last whole page", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=900", "--top=100", "--output=a.csv"];
    await weir.run(...args);
    const whole = await readFile("a.csv");
    await Deno.remove(`${FOLDER}/a.csv`);
    assert(await weir.runUntilKilled(4, ...args));
    const part = await readFile("a.csv.part");
    // What a page that was half written, and a state that was, leave behind.
    // Longer than all that is to come: what is not cut back would stay.
    await writeFile("a.csv.part", `${part}${'500999,10.25976/weir-aa00,"Synth'.repeat(20_000)}`);
    await writeFile("a.csv.part.json.new", '{"question":"{');
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("killed at moments of chance, over and over, it comes to the same file", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=30000", "--top=1000", "--output=a.csv"];
    await weir.run(...args);
    const whole = await readFile("a.csv");
    await Deno.remove(`${FOLDER}/a.csv`);
    for (let round = 0;; round++) {
      const child = weir.start(...args, "--resume");
      // Pages of 0.3 MB, some milliseconds apart: from the start of the process on, ever later.
      const kill = () => {
        try {
          child.kill("SIGKILL");
        } catch {
          // It has just come to its end.
        }
      };
      const timer = setTimeout(kill, 150 + (round * 37) % 200 + round * 10);
      const { code, signal, stderr } = await child.output();
      clearTimeout(timer);
      if (signal !== "SIGKILL") assertEquals(code, 0, new TextDecoder().decode(stderr));
      // Killed in its last moment it may have given the file its name.
      if (signal !== "SIGKILL" || (await fileNames()).includes("a.csv")) break;
    }
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("another question does not go on with a part, nor does one whose state is lost", () => {
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
    // The page size is not the question.
    await writeFile("a.csv.part", part.slice(0, 5));
    const short = await weir.run(...args, "--resume");
    assertEquals(short.code, 1);
    assertStringIncludes(short.stderr, "shorter than it was: begin anew with --force");
    await writeFile("a.csv.part.json", "{");
    const lost = await weir.run(...args, "--resume");
    assertEquals(lost.code, 1);
    assertStringIncludes(lost.stderr, "does not say how far");
    const other = args.map((arg) => arg === "--top=100" ? "--top=250" : arg);
    assertEquals((await weir.run(...other, "--force")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 502);
  });
});

const states: string[] = [
  "null",
  "{}",
  '{"version":2}',
  '{"version":1,"question":"q","force":false,"bytes":-5,"next":[],"after":0,"rows":0,"writer":{"isBegun":true}}',
  '{"version":1,"question":"q","force":false,"bytes":5,"next":[{}],"after":0,"rows":0,"writer":{"isBegun":true}}',
  '{"version":1,"question":"q","force":false,"bytes":5,"next":[],"after":0,"rows":"1","writer":{"isBegun":true}}',
  '{"version":1,"question":"q","force":false,"bytes":5,"next":[],"after":0,"rows":1}',
  '{"version":1,"question":"q","force":false,"bytes":5}',
  '{"version":1,"question":"q","force":false,"bytes":5,"next":[],"after":-1,"rows":1,"writer":{"isBegun":true}}',
];
for (const state of states) {
  Deno.test(`a state that weir did not write is not gone on from: ${state.slice(0, 90)}`, () => {
    const sandbox = createSandbox({ requestsPerSecond: Infinity });
    return withKiller(sandbox.fetch, async (weir) => {
      await writeFile("a.csv.part", "Id\r\n1001\r\n");
      await writeFile("a.csv.part.json", state);
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

Deno.test("a download that was to overwrite goes on so", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--top=20", "--output=a.csv"];
    await writeFile("a.csv", "of old");
    assert(await weir.runUntilKilled(2, ...args, "--force"));
    assertEquals(await readFile("a.csv"), "of old");
    assertEquals((await weir.run(...args, "--resume")).code, 0);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
    assertEquals(await fileNames(), ["a.csv"]);
  });
});

Deno.test("--resume begins where there is no part", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKiller(sandbox.fetch, async (weir) => {
    const { code } = await weir.run("locations", "--select=Id", "--output=a.csv", "--resume");
    assertEquals([code, (await readFile("a.csv")).split("\r\n").length], [0, 62]);
  });
});
