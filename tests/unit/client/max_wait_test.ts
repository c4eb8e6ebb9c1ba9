// `maxWait` limits the wait for the rate limit before the first row, and no later wait.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { page, ROOT, type ScriptedResponse, upstream } from "../../helpers/upstream.ts";

function createLimitedClient(...responses: ScriptedResponse[]) {
  const { options, requests } = upstream(...responses);
  const { clock } = options;
  return {
    client: new DataStream({ ...options, retry: {}, maxWait: 20_000 }),
    requests,
    clock,
  };
}

const busy = (seconds: number) => () =>
  Response.json({}, { status: 429, headers: { "retry-after": String(seconds) } });

Deno.test(
  "toArray() fails without a retry when the first page has to wait longer than maxWait allows",
  DEADLINE,
  async () => {
    const { client, clock, requests } = createLimitedClient(busy(21));
    const error = await assertRejects(() => client.records().toArray(), DataStreamError);
    assertEquals([error.status, error.retryAfter, requests.length], [429, 21_000, 1]);
    assertEquals(clock.now() < 1_000, true);
  },
);

Deno.test(
  "toArray() waits for a page, whatever maxWait allows, when rows were delivered",
  DEADLINE,
  async () => {
    const { client, clock } = createLimitedClient(
      page([{ Id: 1 }], `${ROOT}/Records?$skiptoken=Id:1`),
      Response.json({ value: 2 }),
      busy(100),
      page([{ Id: 2 }]),
    );
    assertEquals((await client.records({ select: ["Id"] }).toArray()).length, 2);
    assertEquals(clock.now() > 100_000, true);
  },
);

Deno.test(
  "count() waits for at most maxWait at each call",
  DEADLINE,
  async () => {
    const { client } = createLimitedClient(
      busy(15),
      Response.json({ value: 1 }),
      busy(15),
      Response.json({ value: 2 }),
      busy(11),
      busy(11),
    );
    const query = client.records();
    assertEquals([await query.count(), await query.count()], [1, 2]);
    await assertRejects(() => query.count(), DataStreamError, "429");
  },
);
