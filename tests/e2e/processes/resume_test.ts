// Downloads that are killed while they are split, or while they write files, and then resumed.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, writeFile } from "../command_line.ts";
import { withKillingService } from "./killing_service.ts";
import { largeService } from "../../unit/client/large_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test("weir --resume writes each row once when a query past a million rows is killed", () => {
  const service = largeService(1_050_000, 40);
  return withKillingService((request) => service.fetch(request), async (weir) => {
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
  const sandbox = createSandbox({
    hostileNames: true,
    locations: 3_000,
    records: 5_000,
    requestsPerSecond: Infinity,
  });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = [
      "records",
      "--bbox=-141,41,-50,84",
      "--select=Id",
      "--top=300",
    ];
    await weir.run(...args, "--output=whole.csv");
    const whole = await readFile("whole.csv");
    let kills = 0;
    // A resumed run requests the dataset versions, a count, and at most one page without rows before it commits a page.
    while (kills < 99 && await weir.runUntilKilled(6, ...args, "--output=a.csv", "--resume")) {
      kills++;
    }
    assert(kills >= 3, `${kills} kills`);
    assertEquals(await readFile("a.csv") === whole, true);
    assertEquals(await fileNames(), ["a.csv", "whole.csv"]);
  });
});

Deno.test("weir --resume writes the same file when runs are killed while they write files", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["records", "--limit=30000", "--top=1000", "--output=a.csv"];
    await weir.run(...args);
    const whole = await readFile("a.csv");
    await Deno.remove(`${FOLDER}/a.csv`);
    let kills = 0;
    // Each page that is committed changes the part and its state.
    for (let at = 1; !(await fileNames()).includes("a.csv"); at += 3) {
      const { code, signal, stderr } = await killAtFileEvent(
        at,
        () => weir.start(...args, "--resume"),
      );
      if (signal === "SIGKILL") kills++;
      else assertEquals(code, 0, new TextDecoder().decode(stderr));
    }
    assert(kills >= 5, `${kills} kills`);
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("weir --resume exits with 0 and says that the file is complete when it is finished", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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

/** Kills a process when it has changed files of `FOLDER` for the given number of times. */
async function killAtFileEvent(
  at: number,
  start: () => Deno.ChildProcess,
): Promise<Deno.CommandOutput> {
  const watcher = Deno.watchFs(FOLDER);
  const child = start();
  const output = child.output().finally(() => watcher.close());
  let events = 0;
  for await (const { kind } of watcher) {
    if (kind === "access" || ++events !== at) continue;
    try {
      child.kill("SIGKILL");
    } catch {
      // The process has already exited.
    }
  }
  return await output;
}
