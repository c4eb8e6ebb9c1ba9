// A download that is killed at any request continues to the same file, and never replaces another one.
// With the argument --kills=100, also downloads of CSV, CSV in gzip and Parquet that are killed at a hundred random times.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, writeFile } from "../command_line.ts";
import { withKillingService } from "./killing_service.ts";
import { Random } from "../../properties/random.ts";
import { largeService } from "../../unit/client/large_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const ODD = ["--select", "Id,DatasetName,ResultValue,ResultComment"];

const downloads: [name: string, pages: number, file: string, ...args: string[]][] = [
  ["records as CSV", 3, "a.csv", "records", "--limit=250", "--top=100", ...ODD, "--bom"],
  ["records as CSV in gzip", 3, "a.csv.gz", "records", "--limit=4000", "--top=1500"],
  ["records as one JSON document", 3, "a.json", "records", "--limit=250", "--top=100", ...ODD],
  ["records in a box", 3, "a.csv", "records", "--bbox=-64,46,-62,47", "--top=300", "--limit=800"],
];

/** Returns the bytes of a file in hexadecimal. */
const readBytes = async (name: string) => (await Deno.readFile(`${FOLDER}/${name}`)).toHex();

for (const [name, pages, file, ...args] of downloads) {
  Deno.test(`weir --resume writes the same file when a download of ${name} is killed at any page`, () => {
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
    return withKillingService(sandbox.fetch, async (weir) => {
      assertEquals((await weir.run(...args, "--output", file)).code, 0);
      const whole = await readBytes(file);
      let killed = 0;
      for (let at = 1;; at++) {
        await Deno.remove(`${FOLDER}/${file}`);
        const isKilled = await weir.runUntilKilled(at, ...args, "--output", file);
        if (!isKilled) break;
        killed++;
        // At the first request there may be no state yet to resume.
        const { code, stderr } = await weir.run(...args, "--output", file, "--resume");
        assertEquals(code, 0, `killed at request ${at}: ${stderr}`);
        assertEquals(await readBytes(file) === whole, true, `killed at request ${at}`);
        assertEquals(await fileNames(), [file]);
      }
      assert(killed >= pages, `killed ${killed} times`);
      assertEquals(await readBytes(file), whole);
    });
  });
}

Deno.test("weir --resume writes the same Parquet file when a download of three row groups is killed at any request", () => {
  const service = largeService(120_000, 40);
  return withKillingService((request) => service.fetch(request), async (weir) => {
    const args = ["observations", "--select=Id,LocationId", "--top=10000", "--output=a.parquet"];
    const read = () => Deno.readFile(`${FOLDER}/a.parquet`);
    assertEquals((await weir.run(...args)).code, 0);
    const whole = await read();
    let killed = 0;
    for (let at = 1;; at += 3) {
      await Deno.remove(`${FOLDER}/a.parquet`);
      if (!await weir.runUntilKilled(at, ...args)) break;
      killed++;
      const { cursor } = JSON.parse(await readFile("a.parquet.part.json"));
      if (at > 8) assert(cursor.rows >= 40_000);
      const { code, stderr } = await weir.run(...args, "--resume");
      assertEquals(code, 0, `killed at request ${at}: ${stderr}`);
      assertEquals(await read(), whole, `killed at request ${at}`);
    }
    assert(killed > 3, `killed ${killed} times`);
  });
});

const kills = Number(Deno.args.find((word) => word.startsWith("--kills="))?.slice(8) ?? 0);
/** Kills of a test, so that it stays below its time limit. */
const KILLS_PER_TEST = 5;

interface Service {
  fetch(request: Request): Promise<Response>;
}

const sandboxService = () => createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
const threeGroups = ["observations", "--select=Id,LocationId", "--top=10000"];

/** Downloads that are killed at random requests; of Parquet, in each of three row groups. */
const killedDownloads: [() => Service, requests: number, ...typeof downloads[number]][] = [
  [sandboxService, 4, ...downloads[0]!],
  [sandboxService, 4, ...downloads[1]!],
  [() => largeService(120_000, 40), 14, "rows as Parquet", 12, "a.parquet", ...threeGroups],
];

for (const [createService, requests, name, , file, ...args] of killedDownloads) {
  for (let first = 0; first < kills; first += KILLS_PER_TEST) {
    Deno.test(`weir --resume writes the same file when a download of ${name} is killed at random times from ${first}`, () => {
      const service = createService();
      const random = new Random(first);
      const line = [...args, "--output", file, "--resume"];
      return withKillingService((request) => service.fetch(request), async (weir) => {
        assertEquals((await weir.run(...args, "--output", file)).code, 0);
        const whole = await readBytes(file);
        await Deno.remove(`${FOLDER}/${file}`);
        for (let killed = 0; killed < KILLS_PER_TEST;) {
          // A run that ends before it is killed is not counted. Some resumed runs are killed too.
          const isKilled = await weir.runUntilKilledLater(
            random.int(1, requests),
            random.int(0, 60),
            ...line,
          );
          if (isKilled && ++killed < KILLS_PER_TEST && random.chance(0.3)) continue;
          const { code, stderr } = await weir.run(...line);
          assertEquals(code, 0, stderr);
          assert(await readBytes(file) === whole, `differs after ${killed} kills`);
          assertEquals(await fileNames(), [file]);
          await Deno.remove(`${FOLDER}/${file}`);
        }
      });
    });
  }
}

Deno.test("weir --resume writes each row once when a query past a million rows is killed", () => {
  const service = largeService(1_050_000, 40);
  return withKillingService((request) => service.fetch(request), async (weir) => {
    const args = ["observations", "--select=Id,LocationId", "--output=a.ndjson"];
    // During the counts of the halves, and the pages of the shards.
    for (const at of [5, 40]) {
      const resume = at === 5 ? [] : ["--resume"];
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

Deno.test("weir --resume overwrites the file when the interrupted run had --force", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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
