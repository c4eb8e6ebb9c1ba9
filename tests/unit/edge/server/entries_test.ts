// The entry of Workers reads its environment, and answers 503 if it is invalid. tests/e2e/servers tests the entries of
// the other runtimes.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createWorkersEntry, type ServerEntry } from "../../../../edge/server/entries.ts";

/** Download of a header without rows. */
const HEADER_ONLY = "/Records.csv?$select=Id&$filter=DOI%20eq%20%27none%27";

const get = async ({ fetch }: ServerEntry, path: string, context?: unknown) =>
  await fetch(new Request(`http://host${path}`), context);

Deno.test("fetch() of the entry of Workers uses the environment of the first request", async () => {
  const lines: string[] = [];
  const entry = createWorkersEntry((line) => lines.push(line));
  assertEquals(lines, []);
  const response = await get(entry, HEADER_ONLY, { WEIR_SANDBOX: "1", WEIR_ACCES: "public" });
  assertEquals(await response.text(), '"Id"\r\n');
  assertEquals(lines[0], 'Unknown variable WEIR_ACCES: did you mean "WEIR_ACCESS"?');
  assertMatch(lines[1]!, /^Settings: WEIR_ACCESS=public, .*, WEIR_SANDBOX=1$/);
  await get(entry, "/healthz", { WEIR_SANDBOX: "1" });
  assertEquals(lines.slice(2).map((line) => line.split(" ")[4]), ["/Records.csv", "/healthz"]);
});

Deno.test("the entry of Workers writes each line with its level", async () => {
  for (const WEIR_LOG of ["text", "json"]) {
    const lines: string[][] = [];
    const add = (level: string) => (...line: string[]) => void lines.push([level, ...line]);
    const log = { info: add("info"), warn: add("warn"), error: add("error") };
    const entry = createWorkersEntry(log);
    const environment = { WEIR_SANDBOX: "1", WEIR_X: "1", WEIR_LOG };
    await get(entry, "/healthz", environment);
    await get(entry, "/unknown", environment);
    assertEquals(lines.map(([level]) => level), ["warn", "info", "info", "warn"]);
    for (const [level, line] of WEIR_LOG === "json" ? lines : []) {
      const entry = JSON.parse(line!);
      assertEquals(entry.level, level);
      assert(Date.parse(entry.time) > 0, entry.time);
    }
    await get(createWorkersEntry(log), "/healthz", { WEIR_LOG });
    const [level, line] = lines.at(-1)!;
    const { message } = WEIR_LOG === "json" ? JSON.parse(line!) : { message: line };
    assertEquals([level, message.split(":")[0]], ["error", "Not serving"]);
    assertEquals(lines.map(({ length }) => length), [2, 2, 2, 2, 2]);
  }
});

Deno.test("fetch() of the entry of Workers returns 503, and 200 for /healthz, when a value is invalid", async () => {
  const lines: string[] = [];
  const entry = createWorkersEntry((line) => lines.push(line));
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  assertEquals((await get(entry, "/healthz", environment)).status, 200);
  const response = await get(entry, "/Records.csv", environment);
  assertEquals(response.status, 503);
  assertEquals(await response.json(), {
    type: "about:blank",
    status: 503,
    title: "Not serving",
    detail: "The configuration of the server is invalid",
    hint: "tell the operator of this server (its log says which environment variable to set)",
  });
  assertEquals(response.headers.get("retry-after"), "60");
  assertEquals(lines.length, 1);
  assertMatch(lines[0]!, /^Not serving: WEIR_ACCESS must be one of .*, got nothing/);
});
