// A download that is killed at any request or time continues to the same file, and never replaces another one.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, writeFile } from "../command_line.ts";
import { withKillingService } from "./killing_service.ts";
import { Random } from "../../properties/random.ts";
import { largeService } from "../../unit/client/large_service.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const sandbox = () => createSandbox({ hostileNames: true, requestsPerSecond: Infinity });

/** Downloads, and the number of requests from one at which they are killed to the next. */
const DOWNLOADS: {
  name: string;
  service?: () => { fetch(request: Request): Promise<Response> };
  step?: number;
  file: string;
  args: string[];
}[] = [
  { name: "CSV", file: "a.csv", args: ["records", "--limit=250", "--top=100", "--bom"] },
  { name: "CSV in gzip", file: "a.csv.gz", args: ["records", "--limit=4000", "--top=1500"] },
  {
    name: "three row groups of Parquet",
    service: () => largeService(120_000, 40),
    step: 3,
    file: "a.parquet",
    args: ["observations", "--select=Id,LocationId", "--top=10000"],
  },
];

/** Returns the bytes of a file in hexadecimal. */
const readBytes = async (name: string) => (await Deno.readFile(`${FOLDER}/${name}`)).toHex();

for (const { name, service = sandbox, step = 1, file, args } of DOWNLOADS) {
  const line = [...args, `--output=${file}`];
  const { fetch } = service();

  Deno.test(`weir --resume writes the same file when a download of ${name} is killed, and its continuation, too`, () =>
    withKillingService(fetch, async (weir) => {
      assertEquals((await weir.run(...line)).code, 0);
      const whole = await readBytes(file);
      const random = new Random(1);
      let killed = 0;
      for (let at = 1;; at += step) {
        await Deno.remove(`${FOLDER}/${file}`);
        if (!await weir.runUntilKilled(at, 0, ...line)) break;
        killed++;
        // Some time after a request that follows. At the first request there may be no state yet to resume.
        const next = random.int(1, 3);
        const isKilled = await weir.runUntilKilled(next, random.int(1, 60), ...line, "--resume");
        const { code, stderr } = await weir.run(...line, "--resume");
        const place = `killed at request ${at}${isKilled ? `, then at request ${next}` : ""}`;
        assertEquals(code, 0, `${place}: ${stderr}`);
        assert(await readBytes(file) === whole, place);
        assertEquals(await fileNames(), [file]);
      }
      assert(killed >= 3, `killed ${killed} times`);
    }));
}

const LOCATIONS = ["locations", "--select=Id", "--top=20", "--output=a.csv"];

Deno.test("weir --resume overwrites the file when the interrupted run had --force", () =>
  withKillingService(sandbox().fetch, async (weir) => {
    // At the first page, the dataset versions, and the second page.
    for (const at of [1, 2, 3]) {
      await writeFile("a.csv", "of old");
      assert(await weir.runUntilKilled(at, 0, ...LOCATIONS, "--force"));
      assertEquals(await readFile("a.csv"), "of old");
      if (at === 1) {
        const other = await weir.run(...LOCATIONS, "--limit=5", "--resume");
        assertEquals([other.code, await readFile("a.csv")], [1, "of old"]);
        assertStringIncludes(other.stderr, "a.csv already exists");
      }
      assertEquals((await weir.run(...LOCATIONS, "--resume")).code, 0, `killed at request ${at}`);
      assertEquals((await readFile("a.csv")).split("\r\n").length, 62);
      assertEquals(await fileNames(), ["a.csv"]);
    }
  }));
