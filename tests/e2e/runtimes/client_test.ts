// The client gives the same results in Deno, Node, Bun, workerd and Chromium, whatever their fetch() and streams do.
import { assertEquals } from "@std/assert";
import { testNeeding } from "../needs.ts";
import { type BehaviourName, BEHAVIOURS } from "./behaviours.ts";
import { CASES } from "./cases.ts";
import type { BaseUrls } from "./run_behaviours.ts";
import { CLIENT_RUNTIMES } from "./runtimes.ts";
import { serve, serveWithResets, type Service } from "./services.ts";

for (const { name: runtime, isInstalled, run } of CLIENT_RUNTIMES) {
  testNeeding(
    { [runtime]: isInstalled },
    `DataStream gives the expected results when it runs in ${runtime}`,
    async (test) => {
      await using open = new AsyncDisposableStack();
      const services = new Map<string, Service>();
      for (const [name, { respond, resets }] of Object.entries(CASES)) {
        // The other runtimes do not accept the certificate.
        const secure = runtime === "Deno";
        services.set(name, open.use(resets ? await serveWithResets(secure) : serve(respond)));
      }
      const baseUrls = [...services].map(([name, { baseUrl }]) => [name, baseUrl]);
      const results = await run(Object.fromEntries(baseUrls) as BaseUrls);
      assertEquals(Object.keys(results), Object.keys(BEHAVIOURS));

      for (const [name, { result, resets, requests }] of Object.entries(CASES)) {
        const { baseUrl, ...service } = services.get(name as BehaviourName)!;
        await test.step(name, () => {
          const text = JSON.stringify(results[name]).replaceAll(baseUrl, "BASE");
          const received = service.requests();
          const wanted = typeof result === "function" ? result(runtime, received) : result;
          assertEquals(JSON.parse(text), { value: wanted });
          assertEquals(resets ? [...new Set(received)] : received, requests);
        });
      }
    },
  );
}
