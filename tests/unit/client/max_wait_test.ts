// `maxWait` limits the wait for the rate limit before the first row, and no later wait.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { page, retryingClient, ROOT } from "../../helpers/upstream.ts";

const busy = (seconds: number) =>
  Response.json({}, { status: 429, headers: { "retry-after": `${seconds}` } });
const OPTIONS = { maxWait: 20_000 };
const test = (name: string, run: () => Promise<void>) => Deno.test(name, DEADLINE, run);

test("toArray() fails without a retry when the first page has to wait longer than maxWait allows", async () => {
  const { client, clock, requests } = retryingClient([busy(21)], OPTIONS);
  const error = await assertRejects(() => client.records().toArray(), DataStreamError);
  assertEquals([error.status, error.retryAfter, requests.length], [429, 21_000, 1]);
  assert(clock.now() < 1_000);
});

test("toArray() waits for a page, whatever maxWait allows, when rows were delivered", async () => {
  const { client, clock } = retryingClient([
    page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
    Response.json({ value: 2 }),
    busy(100),
    page([{ Id: 2 }]),
  ], OPTIONS);
  assertEquals((await client.records({ select: ["Id"] }).toArray()).length, 2);
  assert(clock.now() > 100_000);
});

test("count() waits for at most maxWait at each call", async () => {
  const { client } = retryingClient([
    busy(15),
    Response.json({ value: 1 }),
    busy(15),
    Response.json({ value: 2 }),
    busy(11),
    busy(11),
  ], OPTIONS);
  const query = client.records();
  assertEquals([await query.count(), await query.count()], [1, 2]);
  await assertRejects(() => query.count(), DataStreamError, "429");
});
