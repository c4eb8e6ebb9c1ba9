// The page keeps results for five minutes, within its memory.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";
import { get } from "./pages.ts";

Deno.test("GET / requests the results again after five minutes", async () => {
  const { app, stats, clock } = overSandbox({ records: 3_000 });
  for (const [time, requests] of [[0, 3], [290_000, 3], [12_000, 6]] as const) {
    clock.advance(time);
    await get(app, "/?characteristic=pH");
    assertEquals(stats.requests, requests);
  }
});

Deno.test("GET / caches at most one result with all fields and 10,000 rows", async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ Id: index + 1 }));
  const responses = () => [page(rows), Response.json({ value: 20_000 }), page([])];
  const { app, requests } = overUpstream([...responses(), ...responses(), ...responses()]);
  for (const [year, sent] of [[2000, 3], [2001, 6], [2000, 9]]) {
    await get(app, `/?from=${year}&more=1`);
    assertEquals(requests.length, sent);
  }
});
