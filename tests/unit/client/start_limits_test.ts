// The internal option START_LIMITS of a client, with which a server limits the time until its first content.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { START_LIMITS } from "../../../src/client/start_limits.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { page, ROOT, type ScriptedResponse, upstream } from "../../helpers/upstream.ts";

/** Creates a client that waits for at most 20 s, and records the calls of its limits. */
function createLimitedClient(...responses: ScriptedResponse[]) {
  const { options, requests } = upstream(...responses);
  const { clock } = options;
  const calls: string[] = [];
  const limits = {
    retry: {},
    [START_LIMITS]: {
      maxWait: () => 20_000,
      onRequest: () => void calls.push("request"),
      onBytes: () => void calls.push("bytes"),
    },
  };
  return { client: new DataStream({ ...options, ...limits }), requests, clock, calls };
}

const busy = (seconds: number) => () =>
  Response.json({}, { status: 429, headers: { "retry-after": String(seconds) } });

Deno.test(
  "toArray() fails without a retry when the first page has to wait longer than START_LIMITS allows",
  DEADLINE,
  async () => {
    const { client, clock, requests } = createLimitedClient(busy(21));
    const error = await assertRejects(() => client.records().toArray(), DataStreamError);
    assertEquals([error.status, error.retryAfter, requests.length], [429, 21_000, 1]);
    assertEquals(clock.now() < 1_000, true);
  },
);

Deno.test(
  "toArray() waits for a page, whatever START_LIMITS allows, when rows were delivered",
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
  "count() waits for at most the time of START_LIMITS at each call",
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

Deno.test(
  "with() keeps START_LIMITS, and reports each request and its bytes to it",
  DEADLINE,
  async () => {
    const { client, calls } = createLimitedClient(Response.json({ value: 1 }));
    await client.with({ timeouts: {} }).records().count();
    assertEquals(calls.slice(0, 2), ["request", "bytes"]);
    assertEquals(calls.slice(2).every((call) => call === "bytes"), true);
  },
);
