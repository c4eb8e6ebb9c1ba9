// Readers that leave, on each runtime.
import { assert, assertEquals } from "@std/assert";
import { until } from "../../helpers/until.ts";
import { type Runtime, startApp, testOnEach } from "./runtimes.ts";
import type { Server } from "./server.ts";
import { Silence, SILENCES } from "./silence.ts";
import { DOWNLOAD, isWhole, json, over, pageFor, rowsOf, serveUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Pages of 2 MB. */
const shape = { rows: 2_000, width: 1_000, pages: 3 };

/** Pages, and silence in the answer to one of the requests. */
function silentAt(silent: number, silence: Silence): Upstream {
  return serveUpstream((request, number) => {
    const page = pageFor(request, shape);
    return number === silent ? silence.answer(request, page) : json(page);
  }, rowsOf(shape));
}

/** Begins a download, takes what comes, and leaves when so many pages have been asked for. */
async function leaveAt(pages: number, upstream: Upstream, { root }: Server): Promise<void> {
  const leaving = new AbortController();
  const reading = fetch(root + DOWNLOAD, { signal: leaving.signal })
    .then((response) => response.text())
    .then(() => "whole", () => "left");
  await until(() => upstream.pages.length === pages, `page ${pages} to be asked for`);
  leaving.abort();
  assertEquals(await reading, "left");
}

/** Lets the runtime see that the reader has left: workerd looks when it writes to it. */
async function beSeen({ isDeaf }: Runtime, silence: Silence): Promise<void> {
  if (isDeaf) return silence.end();
  await until(() => silence.isAborted, "the request to the service to be given up", 1_000);
}

/** Less than the 5 s after which a turn that nobody ends is taken for lost. */
const SOON = 4_000;

/** A whole download, and soon; undefined where there is no place for it. */
async function download({ root }: Server): Promise<string | undefined> {
  const response = await fetch(root + DOWNLOAD, { signal: AbortSignal.timeout(SOON) });
  if (response.status === 200) return await response.text();
  assertEquals([response.status, (await response.json()).title], [
    503,
    "Too many concurrent requests",
  ]);
}

for (const place of SILENCES) {
  const name = `a reader that leaves in a silence ${place}`;

  for (const page of [1, 2]) {
    testOnEach(`${name} of page ${page} ends the request and its place`, async (runtime) => {
      const silence = new Silence(place);
      await using upstream = silentAt(page, silence);
      await using server = await startApp(runtime, over(upstream, { maxDownloads: 1 }));
      await leaveAt(page, upstream, server);
      await beSeen(runtime, silence);
      const csv = await until(() => download(server), "a place", 1_000);
      assert(isWhole(csv, shape));
      assertEquals(upstream.pages.length, page + shape.pages);
    });
  }

  testOnEach(`${name} lets the next in line go on`, async (runtime) => {
    const silence = new Silence(place);
    await using upstream = silentAt(2, silence);
    await using server = await startApp(runtime, over(upstream, { maxDownloads: 2 }));
    await leaveAt(2, upstream, server);
    const [csv] = await Promise.all([download(server), beSeen(runtime, silence)]);
    assert(csv !== undefined && isWhole(csv, shape));
    assertEquals(upstream.pages.length, 2 + shape.pages);
  });

  testOnEach(`${name} that lasts gives its place back`, async (runtime) => {
    await using upstream = silentAt(2, new Silence(place));
    const timeouts = { headers: 2_000, bytes: 2_000 };
    await using server = await startApp(runtime, over(upstream, { maxDownloads: 1, timeouts }));
    await leaveAt(2, upstream, server);
    // Nothing is written in a silence: workerd gives up when the client does.
    const csv = await until(() => download(server), "a place", runtime.isDeaf ? 4_000 : 1_000);
    assert(isWhole(csv, shape));
  });
}
