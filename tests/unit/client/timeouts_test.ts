// A request ends when its headers or its next bytes take too long.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { page, retryingClient } from "../../helpers/upstream.ts";
import { arrivingPage } from "./paged_service.ts";

Deno.test("locations() retries when no headers arrive within 45 s, and cancels a late response", async () => {
  const { promise: late, resolve: deliver } = Promise.withResolvers<Response>();
  const { client, times, requests } = retryingClient([() => late, page([{ Id: 1 }])]);
  assertEquals((await client.locations().toArray()).length, 1);
  assert(times[1]! >= 45_500 && times[1]! <= 46_100, `retried at ${times[1]}`);
  assertEquals(requests[0]!.signal.aborted, true);
  let isCancelled = false;
  deliver(new Response(new ReadableStream({ cancel: () => void (isCancelled = true) })));
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(isCancelled, true);
});

Deno.test("locations() fails after the time of timeouts.headers when the last attempt has no response", async () => {
  const options = { retry: { attempts: 1 }, timeouts: { headers: 3_000 } };
  const { client, clock } = retryingClient([() => new Promise<Response>(() => {})], options);
  const message = "(no answer within 3 s)";
  const error = await assertRejects(() => client.locations().toArray(), DataStreamError, message);
  assertEquals([error.kind, (error.cause as Error).name], ["network", "TimeoutError"]);
  assertEquals(clock.now(), 3_000);
});

Deno.test("locations() retries after 30 s without bytes, and not when bytes arrive slowly", async () => {
  const { client, clock, times } = retryingClient([
    () => arrivingPage(clock, [29_000, '{"value"', 29_000, ":["], "hang"),
    () => arrivingPage(clock, [29_000, '{"value"', 29_000, ":[", 29_000, "]}"]),
  ]);
  assertEquals(await client.locations().toArray(), []);
  // Two chunks, an idle timeout and a backoff; then three chunks.
  assert(times[1]! >= 88_500 && times[1]! <= 89_100, `retried at ${times[1]}`);
  assertEquals(clock.now(), times[1]! + 3 * 29_000);
});

Deno.test("locations() fails with the status when the body of an error response does not end", async () => {
  const body = new ReadableStream({ pull: () => new Promise(() => {}) });
  const { client, clock } = retryingClient([new Response(body, { status: 400 })]);
  await assertRejects(() => client.locations().toArray(), DataStreamError, "status 400:");
  assert(clock.now() <= 30_100);
});

Deno.test("locations() retries when a page has not ended after ten minutes, although bytes arrive", async () => {
  const chunks = Array.from({ length: 30 }, () => [29_000, " "]).flat();
  const { client, clock, times } = retryingClient([
    () => arrivingPage(clock, chunks, "hang"),
    page([{ Id: 1 }]),
  ]);
  assertEquals((await client.locations().toArray()).length, 1);
  assert(times[1]! >= 600_000 && times[1]! <= 602_000, `retried at ${times[1]}`);
});

Deno.test("locations() never ask the clock to sleep for a negative time", async () => {
  const fake = new FakeClock();
  const sleeps: number[] = [];
  const clock = {
    now() {
      fake.advance(7); // each look at the clock takes time
      return fake.now();
    },
    sleep(time: number, signal?: AbortSignal) {
      sleeps.push(time);
      return fake.sleep(time, signal);
    },
  };
  for (let round = 0; round < 100; round++) {
    const { client } = retryingClient([() => new Promise<Response>(() => {})], {
      clock,
      retry: { attempts: 1 },
      timeouts: { headers: 1_000 + round },
    });
    await assertRejects(() => client.locations().toArray(), DataStreamError, "no answer");
  }
  assertEquals(sleeps.filter((time) => time < 0), []);
});
