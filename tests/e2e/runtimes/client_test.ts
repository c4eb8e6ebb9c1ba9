// One file of what the client does, in Deno, Node, Bun, workerd and Chromium: each comes to the same.
import { assertEquals } from "@std/assert";
import { type BehaviourName, BEHAVIOURS } from "./behaviours.ts";
import { CASES } from "./cases.ts";
import type { Addresses } from "./run_behaviours.ts";
import { CLIENT_RUNTIMES } from "./runtimes.ts";
import { serve, serveWithResets, type Service } from "./services.ts";

for (const { name: runtime, isInstalled, run } of CLIENT_RUNTIMES) {
  Deno.test({
    name: `the client in ${runtime} comes to what it comes to everywhere`,
    ignore: !isInstalled,
    async fn(test) {
      await using open = new AsyncDisposableStack();
      const services = new Map<string, Service>();
      for (const [name, { answer, resetsConnections }] of Object.entries(CASES)) {
        services.set(name, open.use(resetsConnections ? await serveWithResets() : serve(answer)));
      }
      const addresses = [...services].map(([name, { baseUrl }]) => [name, baseUrl]);
      const outcomes = await run(Object.fromEntries(addresses) as Addresses);
      assertEquals(Object.keys(outcomes), Object.keys(BEHAVIOURS));

      for (const [name, { gives, givesIn, seen }] of Object.entries(CASES)) {
        const { baseUrl, ...service } = services.get(name as BehaviourName)!;
        await test.step(name, () => {
          const text = JSON.stringify(outcomes[name]).replaceAll(baseUrl, "BASE");
          assertEquals(JSON.parse(text), { gave: givesIn?.[runtime] ?? gives });
          assertEquals(service.seen(), seen);
          assertEquals(service.seenElsewhere(), []);
        });
      }
    },
  });
}
