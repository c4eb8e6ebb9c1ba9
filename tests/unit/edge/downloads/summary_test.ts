// GET /Summary.csv refuses what would take too many requests; golden_test.ts has a response.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { overSandbox, problemOf } from "../../../helpers/edge.ts";

Deno.test("EdgeApp.request() returns 413 with a command when a summary has more than 100,000 rows", async () => {
  const { app, stats } = overSandbox({ records: 150_000 });
  const responses = [1, 2, 3].map(() => app.request("/Summary.csv?by=year"));
  for (const response of await Promise.all(responses)) {
    assertEquals(response.status, 413);
    const { detail, hint } = await problemOf(response);
    assertStringIncludes(detail, "more than 100000");
    assertStringIncludes(hint, "weir summary");
  }
  assertEquals(stats.requests, 2); // the first page and a count
});
