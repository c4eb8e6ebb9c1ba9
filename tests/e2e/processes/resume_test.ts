// A download that is killed at any place goes on to the very file of one that was not.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, writeFile } from "../../helpers/command_line.ts";
import { withKillingService } from "../../helpers/killing_service.ts";
import { largeService } from "../../helpers/large_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test("past a million rows the parts go on where they were, each row once", () => {
  const service = largeService(1_050_000, 40);
  return withKillingService((request) => service.fetch(request), async (weir) => {
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
  return withKillingService(sandbox.fetch, async (weir) => {
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

Deno.test("killed in the midst of writing, a part is cut back to its last whole page", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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
  return withKillingService(sandbox.fetch, async (weir) => {
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
      const timer = setTimeout(kill, 150 + (round * 37) % 200 + round * 25);
      const { code, signal, stderr } = await child.output();
      clearTimeout(timer);
      if (signal !== "SIGKILL") assertEquals(code, 0, new TextDecoder().decode(stderr));
      // Killed in its last moment it may have given the file its name.
      if (signal !== "SIGKILL" || (await fileNames()).includes("a.csv")) break;
    }
    assertEquals(await readFile("a.csv") === whole, true);
  });
});

Deno.test("weir --resume continues in the part file itself, without a copy", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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
    // The citations come after the file: a run that was killed in between has none.
    await Deno.remove(`${FOLDER}/c.txt`);
    assertEquals((await weir.run(...cited, "--resume")).code, 0);
    assertEquals(await readFile("c.txt"), citations);
  });
});

Deno.test("weir --resume does not replace a file that appeared beside the part", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
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

Deno.test("a download that was to overwrite goes on so", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const args = ["locations", "--select=Id", "--top=20", "--output=a.csv"];
    // At the first page, at the dataset versions, at the second page.
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

Deno.test("--resume begins where there is no part", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  return withKillingService(sandbox.fetch, async (weir) => {
    const { code } = await weir.run("locations", "--select=Id", "--output=a.csv", "--resume");
    assertEquals([code, (await readFile("a.csv")).split("\r\n").length], [0, 62]);
  });
});
