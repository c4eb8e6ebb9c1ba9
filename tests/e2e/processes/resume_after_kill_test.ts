// A download that is killed at any request continues to the same file.
import { assert, assertEquals } from "@std/assert";
import { fileNames, FOLDER, readFile } from "../command_line.ts";
import { withKillingService } from "./killing_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const ODD = ["--select", "Id,DatasetName,ResultValue,ResultComment"];

const downloads: [name: string, pages: number, file: string, ...args: string[]][] = [
  ["records as CSV", 6, "a.csv", "records", "--limit=550", "--top=100", ...ODD, "--bom"],
  ["records as CSV with all columns", 4, "a.csv", "records", "--limit=350", "--top=100"],
  ["records as lines of JSON", 4, "a.ndjson", "records", "--limit=350", "--top=100", ...ODD],
  ["records as one JSON document", 4, "a.json", "records", "--limit=350", "--top=100", ...ODD],
  ["locations as GeoJSON", 4, "a.geojson", "locations", "--top=17"],
  ["records in a box", 4, "a.csv", "records", "--bbox=-64,46,-62,47", "--top=300", "--limit=1100"],
];
for (const [name, pages, file, ...args] of downloads) {
  Deno.test(`weir --resume writes the same file when a download of ${name} is killed at any page`, () => {
    const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
    return withKillingService(sandbox.fetch, async (weir) => {
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
