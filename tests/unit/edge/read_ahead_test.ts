// Pages that a download requests before its client has read the page before them.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { CHUNK_LENGTH, delayedPages } from "../../helpers/delayed_pages.ts";
import { answerVersionRequests } from "../../helpers/edge.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { ROOT } from "../../helpers/upstream.ts";

const PATH = "/Records.csv?$select=Id,DOI";

/** Creates an app over a service whose pages have a number of chunks. */
function serve(pages: number, chunks: number, options: Partial<AppOptions>) {
  const clock = new FakeClock();
  const service = delayedPages(clock, pages, chunks);
  const app = createApp({
    access: "public",
    apiKey: "k",
    baseUrl: ROOT,
    maxRows: Infinity,
    requestsPerSecond: Infinity,
    clock,
    fetch: answerVersionRequests(service.fetch),
    log: () => {},
    ...options,
  });
  const open = async (path = PATH) => (await app.request(path)).body!;
  return { clock, service, open };
}

const sizes = [0, 1, 2, 11].flatMap((chunks) =>
  [0, 60_000].map((cacheTtl) => ({ chunks, cacheTtl }))
);
for (const { chunks, cacheTtl } of sizes) {
  const name = `pages have ${chunks + 1} parts, with cacheTtl ${cacheTtl}`;

  Deno.test(
    `EdgeApp.request() requests a page while the client reads the one before when ${name}`,
    DEADLINE,
    async () => {
      const { service, open } = serve(8, chunks, { cacheTtl });
      assertEquals(await service.readSteadily(await open()), 300 + 8 * 300);
    },
  );

  Deno.test(
    `EdgeApp.request() requests no page while the client reads the one before when the URL has limit and ${name}`,
    DEADLINE,
    async () => {
      const { service, open } = serve(8, chunks, { cacheTtl });
      assertEquals(await service.readSteadily(await open(`${PATH}&limit=1000`)), 8 * (300 + 300));
    },
  );

  Deno.test(
    `EdgeApp.request() requests one page ahead when the client stops and ${name}`,
    DEADLINE,
    async () => {
      const { clock, service, open } = serve(4, chunks, { cacheTtl });
      const reader = (await open()).getReader();
      await clock.sleep(50_000);
      assertEquals(service.requests, 2);
      await reader.read();
      await clock.sleep(50_000);
      assertEquals(service.requests, 2);
      await reader.cancel();
    },
  );
}

for (const cacheTtl of [0, 60_000]) {
  Deno.test(
    `EdgeApp.request() requests a page when the memory has room for it, with cacheTtl ${cacheTtl}`,
    DEADLINE,
    async () => {
      const chunks = 11;
      const maxBufferedBytes = 15 * CHUNK_LENGTH;
      const { clock, service, open } = serve(2, chunks, {
        cacheTtl,
        maxCachedBytes: 2 * maxBufferedBytes,
      });
      const reader = (await open()).getReader();
      let bytes = 0;
      while (service.requests < 2) {
        bytes += (await reader.read()).value!.length;
        await clock.sleep(1_000);
      }
      assert(bytes >= 2 * chunks * CHUNK_LENGTH - maxBufferedBytes, `${bytes}`);
      assert(bytes < (chunks + 0.1) * CHUNK_LENGTH, `${bytes}`);
      await reader.cancel();
    },
  );
}
