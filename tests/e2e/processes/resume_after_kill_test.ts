// A download that is killed at any request or time continues to the same file.
import { assert, assertEquals } from "@std/assert";
import { fileNames, FOLDER, killIfRunning, runToEnd, serving, start } from "../command_line.ts";
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
  { name: "TSV", file: "a.tsv", args: ["records", "--limit=250", "--top=100"] },
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
  Deno.test(`weir writes the same file when a download of ${name} is killed, and its continuation, too`, () => {
    const { fetch } = service();
    let requests = 0;
    let onRequest = (_number: number): Response | undefined => undefined;
    return serving((request) => onRequest(++requests) ?? fetch(request), async (weir, baseUrl) => {
      const line = [...args, `--output=${file}`, baseUrl, "--quiet"];
      /** Kills a download some milliseconds after its request number `at`; returns whether it did not end before. */
      const runUntilKilled = async (at: number, delay: number) => {
        const child = start(weir, ...line);
        requests = 0;
        onRequest = (number) => {
          if (number !== at) return undefined;
          if (delay === 0) {
            killIfRunning(child);
            return new Response(null, { status: 503 });
          }
          const timer = setTimeout(() => killIfRunning(child), delay);
          child.status.finally(() => clearTimeout(timer));
          return undefined;
        };
        return (await child.output()).signal === "SIGKILL";
      };
      await runToEnd(weir, ...line);
      const whole = await readBytes(file);
      const random = new Random(1);
      let killed = 0;
      for (let at = 1;; at += step) {
        await Deno.remove(`${FOLDER}/${file}`);
        if (!await runUntilKilled(at, 0)) break;
        killed++;
        const next = random.int(1, 3);
        const isKilled = await runUntilKilled(next, random.int(1, 60));
        onRequest = () => undefined;
        const { code, stderr } = await runToEnd(weir, ...line);
        const place = `killed at request ${at}${isKilled ? `, then at request ${next}` : ""}`;
        assertEquals(code, 0, `${place}: ${stderr}`);
        assert(await readBytes(file) === whole, place);
        assertEquals(await fileNames(), [file]);
      }
      assert(killed >= 3, `killed ${killed} times`);
    });
  });
}
