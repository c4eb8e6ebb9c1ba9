// Deno with and without --unstable-no-legacy-abort: without it, Deno aborts the signal of a request after each
// response, and warns of that.
import { assert, assertEquals } from "@std/assert";
import { startServer } from "./server.ts";

import { COMMAND_LINES, DEFAULT_EXPORTS } from "./runtimes.ts";

const programs = [...COMMAND_LINES, ...DEFAULT_EXPORTS].filter(({ name }) => /deno/i.test(name));

for (const program of programs) {
  for (const flags of [[], ["--unstable-no-legacy-abort"]]) {
    const name = [program.name, ...flags].join(" ");

    Deno.test(`${name} serves all kinds of responses and prints no warning`, async () => {
      const { args: [command, ...args], ...others } = await program.command({
        WEIR_SANDBOX: "1",
        WEIR_REQUESTS_PER_SECOND: "1000000",
      });
      await using server = await startServer({ ...others, args: [command!, ...flags, ...args] });
      const get = async (path: string) => {
        const response = await fetch(server.root + path);
        assertEquals(response.status, 200, path);
        return await response.text();
      };
      for (let round = 0; round < 2; round++) {
        assertEquals((await get("/Records.csv?$select=Id")).split("\r\n").length, 1 + 40_000 + 1);
        assertEquals(JSON.parse(await get("/Records?$count=true")), { count: 40_000 });
        assert((await get("/Citations.json")).includes("10.25976/"));
        assert((await get("/")).includes("</html>"));
      }
      assert(!/legacy|warn|error|aborted|failed/i.test(server.log()), server.log());
    });
  }
}
