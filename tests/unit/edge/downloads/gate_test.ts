// A place among the open downloads, under a clock of which each tick is the test's.
import "../../../helpers/no_permission.ts";
import { assertThrows } from "@std/assert";
import { Gate } from "../../../../edge/downloads/gate.ts";
import { HttpProblem } from "../../../../edge/downloads/problem.ts";

Deno.test("a download that ends just as it looks at the clock gives its place back", async () => {
  const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
  const sleeps = [woken];
  const sleep = () => sleeps.pop() ?? new Promise<void>(() => {});
  const gate = new Gate(1, "downloads", { now: () => 0, sleep });
  const pass = gate.enter();
  assertThrows(() => gate.enter(), HttpProblem, "1 downloads are open");
  wake();
  pass.end();
  await woken;
  await Promise.resolve();
  gate.enter().end();
});
