// A request ends when its headers or its next bytes take too long.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { page, retryingClient, type ScriptedResponse } from "../../helpers/upstream.ts";

Deno.test("locations() retries when no headers arrive within 45 s, and fetch ignores the signal", async () => {
  const never = () => new Promise<Response>(() => {});
  const { client, times, clock } = retryingClient([never, page([{ Id: 1 }])]);
  assertEquals((await client.locations().toArray()).length, 1);
  assert(times[1]! >= 45_500 && times[1]! <= 46_100, `retried at ${times[1]}`);
  const once = retryingClient([never], { retry: { attempts: 1 }, timeouts: { headers: 3_000 } });
  const error = await assertRejects(() => once.client.locations().toArray(), DataStreamError);
  assertEquals(error.detail.endsWith("(no headers within 3 s)"), true);
  assertEquals([error.kind, (error.cause as Error).name], ["network", "TimeoutError"]);
  assert(once.clock.now() < 3_100 && clock.now() > 45_000);
});

Deno.test("locations() aborts a request after its timeout, and cancels a late response", async () => {
  const { promise: late, resolve: deliver } = Promise.withResolvers<Response>();
  let sent: Request | undefined;
  const { client } = retryingClient([
    (request) => {
      sent = request;
      return late;
    },
    page([]),
  ]);
  await client.locations().toArray();
  assertEquals(sent?.signal.aborted, true);
  let cancelled = false;
  deliver(new Response(new ReadableStream({ cancel: () => void (cancelled = true) })));
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(cancelled, true);
});

Deno.test("locations() retries after 30 s without bytes, and not when bytes arrive slowly", async () => {
  let cancelled = false;
  const trickle = (pieces: string[]): ScriptedResponse => () => {
    const left = [...pieces];
    const body = new ReadableStream({
      async pull(controller) {
        const piece = left.shift();
        if (piece === undefined) return await new Promise(() => {});
        await clock.sleep(29_000);
        controller.enqueue(new TextEncoder().encode(piece));
        if (piece.endsWith("}")) controller.close();
      },
      cancel: () => void (cancelled = true),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };
  const { client, clock, times } = retryingClient([
    trickle(['{"value"', ":["]),
    trickle(['{"value"', ":[", "]", "}"]),
  ]);
  assertEquals(await client.locations().toArray(), []);
  assertEquals(cancelled, true);
  // Two chunks, an idle timeout and a backoff; then four chunks.
  assert(times[1]! >= 88_500 && times[1]! <= 89_100, `retried at ${times[1]}`);
  assertEquals(clock.now(), times[1]! + 4 * 29_000);
});

Deno.test("locations() fails with the status when the body of an error response does not end", async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const { client, clock } = retryingClient([new Response(body, { status: 400 })]);
  await assertRejects(() => client.locations().toArray(), DataStreamError, "status 400:");
  assert(clock.now() <= 30_100);
});
