// Random services that send the rows of a page in another order and whose responses break: a result is complete, or
// an error.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { pausingBody, readChunks } from "../../helpers/broken_pages.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { Random } from "../../helpers/random.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";

/** Orders in which a service sends the rows of a page. */
const ORDERS = [
  "sorted",
  "two swapped",
  "rotated",
  "shuffled",
  "shuffled again each time",
] as const;

type Page = { value: { Id: number }[] };

function reorder({ value: rows, ...envelope }: Page, order: typeof ORDERS[number], random: Random) {
  // The same page has the same order in each response.
  const stable = new Random(rows[0]?.Id ?? 0);
  const at = stable.int(0, Math.max(0, rows.length - 2));
  switch (order) {
    case "two swapped":
      if (rows.length > 1) [rows[at], rows[at + 1]] = [rows[at + 1]!, rows[at]!];
      break;
    case "rotated":
      rows = [...rows.slice(at + 1), ...rows.slice(0, at + 1)];
      break;
    case "shuffled":
      rows = stable.shuffle(rows);
      break;
    case "shuffled again each time":
      rows = random.shuffle(rows);
  }
  return { value: rows, ...envelope };
}

/** Creates a function that sends the pages of a service in an order, slowly, and lets some of them break. */
function unreliable(
  fetch: (request: Request) => Promise<Response>,
  order: typeof ORDERS[number],
  faultRate: number,
  random: Random,
  clock: FakeClock,
) {
  const encoder = new TextEncoder();
  return async (request: Request) => {
    const response = await fetch(request);
    const body = await response.json();
    const { pathname, searchParams } = new URL(request.url);
    if (
      searchParams.has("$count") || !pathname.endsWith("/Observations") || response.status !== 200
    ) {
      return Response.json(body, { status: response.status });
    }
    if (random.chance(faultRate / 4)) {
      return new Response("{}", { status: random.pick([408, 413, 503, 504]) });
    }
    let text = JSON.stringify(reorder(body, order, random));
    let end: "close" | "reset" | "hang" | undefined;
    if (random.chance(faultRate)) {
      text = text.slice(0, random.int(0, text.length));
      end = random.pick(["close", "reset", "hang"]);
    }
    const parts = text.match(new RegExp(`.{1,${random.int(20, 400)}}`, "g")) ?? [];
    return new Response(pausingBody(parts.map((part) => encoder.encode(part)), clock, end), {
      headers: { "content-type": "application/json" },
    });
  };
}

/** All of Canada, but in the form of a bounding box. */
const EVERYWHERE = { west: -150, south: 40, east: -50, north: 85 };

for (const order of ORDERS) {
  Deno.test(`csv() and ndjson() return a complete result or an error when pages are ${order} and break`, async () => {
    const { sandbox, rows } = sandboxRequests({ records: 30, locations: 6 });
    const all = await rows("Observations", { $select: "Id,LocationId" });
    let successes = 0;
    const RUNS = 150;
    for (let seed = 0; seed < RUNS; seed++) {
      const random = new Random(seed);
      const clock = new FakeClock();
      const skipped = random.chance(0.25) ? random.int(0, all.length - 1) : undefined;
      const limit = random.chance(0.3) ? random.int(1, all.length + 2) : undefined;
      const faultRate = random.pick([0, 0.2, 0.5]);
      const options = {
        select: random.pick(["Id", "Id,LocationId", "LocationId"]),
        top: random.pick([2, 4, 9, 50]),
        partition: random.pick(["auto", "never", "location", "year"] as const),
        skipToken: skipped === undefined ? undefined : `Id:${all[skipped]!.Id}`,
        within: random.chance(0.25) ? EVERYWHERE : undefined,
        limit,
      };
      const format = random.pick(["csv", "ndjson"] as const);
      const client = new DataStream({
        apiKey: sandbox.apiKey,
        baseUrl: sandbox.url,
        requestsPerSecond: Infinity,
        clock,
        fetch: unreliable(sandbox.fetch, order, faultRate, random, clock),
      });
      let text = "";
      let error: unknown;
      try {
        text = (await readChunks(client.observations(options), format)).join("");
      } catch (caught) {
        error = caught;
      }
      const message = `seed ${seed}: ${JSON.stringify(options)} ${text}`;
      if (error !== undefined) {
        assert(error instanceof DataStreamError && faultRate > 0, `${message}: ${error}`);
        continue;
      }
      successes++;
      const values = (row: Record<string, unknown>) =>
        options.select.split(",").map((name) => row[name]);
      const received = (text.match(/.+/g) ?? []).slice(format === "csv" ? 1 : 0)
        .map((line) => format === "csv" ? line : String(values(JSON.parse(line))));
      const wanted = all.slice((skipped ?? -1) + 1).map((row) => String(values(row)));
      assertEquals(received.length, Math.min(wanted.length, limit ?? Infinity), message);
      for (const line of received) {
        const at = wanted.indexOf(line);
        assert(at >= 0, message);
        wanted.splice(at, 1);
      }
    }
    assert(successes > RUNS / 2, `${successes}`);
  });
}
