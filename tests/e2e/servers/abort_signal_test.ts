// Deno with and without --unstable-no-legacy-abort: without it, Deno aborts the signal of a request after each
// response, and warns of that.
import { assert, assertEquals } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { COMMAND_LINES, DEFAULT_EXPORTS, type ServerProgram } from "./runtimes.ts";
import { type Server, startServer } from "./server.ts";
import { Stall } from "./stall.ts";
import { DOWNLOAD, isComplete, jsonResponse, pageFor, rowsOf, serveUpstream } from "./upstream.ts";

const shape = { rows: 200, width: 100, pages: 3 };
const programs = [...COMMAND_LINES, ...DEFAULT_EXPORTS].filter(({ name }) => /deno/i.test(name));

/** Starts a program outside the clone. */
async function start(
  program: ServerProgram,
  flags: readonly string[],
  environment: Record<string, string>,
): Promise<Server> {
  const { args: [command, ...args], ...others } = await program.command(environment);
  return await startServer({ ...others, args: [command!, ...flags, ...args] });
}

for (const program of programs) {
  for (const flags of [[], ["--unstable-no-legacy-abort"]]) {
    const name = [program.name, ...flags].join(" ");

    Deno.test(`${name} serves all kinds of responses and prints no warning`, async () => {
      await using server = await start(program, flags, {
        WEIR_SANDBOX: "1",
        WEIR_REQUESTS_PER_SECOND: "1000000",
      });
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

    Deno.test(`${name} aborts its request when a client leaves before the first page`, async () => {
      const stall = new Stall("before the headers");
      await using upstream = serveUpstream((request, number) => {
        const page = pageFor(request, shape);
        return number === 1 ? stall.respond(request, page) : jsonResponse(page);
      }, rowsOf(shape));
      await using server = await start(program, flags, {
        WEIR_ACCESS: "public",
        DATASTREAM_API_KEY: "a-secret-key",
        DATASTREAM_BASE_URL: upstream.baseUrl,
        WEIR_REQUESTS_PER_SECOND: "1000000",
      });
      const leaving = new AbortController();
      const aborted = fetch(server.root + DOWNLOAD, { signal: leaving.signal }).then(
        () => "response",
        () => "aborted",
      );
      await waitFor(() => upstream.pages.length === 1, "the request for page 1");
      leaving.abort();
      assertEquals(await aborted, "aborted");
      await waitFor(() => stall.isAborted, "the abort of the request to the service", 5_000);
      const response = await fetch(server.root + DOWNLOAD);
      assert(isComplete(await response.text(), shape));
    });
  }
}
