// For each status, the client sends as many requests, with the page sizes, as `docs/errors-and-limits.md` says.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { DOCUMENTS } from "../../helpers/documents.ts";
import { retryingClient } from "../../helpers/upstream.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";

const NUMBERS: Readonly<Record<string, number>> = { two: 2, three: 3, four: 4, five: 5, six: 6 };
const ORDINALS: Readonly<Record<string, number>> = { second: 2, third: 3, fourth: 4 };
/** Statuses of the cells that name a range. */
const RANGES: Readonly<Record<string, readonly number[]>> = {
  "3xx": [301, 302, 307, 308],
  "other 5xx": [500, 501, 502, 503, 505, 507, 520, 599],
};
/** More responses than any status is retried. */
const RESPONSES = 100;

interface Expected {
  /** Numbers of rows that the requests ask for. */
  tops: number[];
  /** Minutes for which the key waits; its requests are not counted. */
  minutes?: number;
}

/** Reads the column "Weir" of a row. */
function readBehaviour(text: string): Expected {
  const [, minutes] = /^waits up to (\d+) minutes/.exec(text) ?? [];
  if (minutes !== undefined) return { tops: [], minutes: Number(minutes) };
  if (/^fails/.test(text)) return { tops: [10_000] };
  const [, number = "", rest = ""] = /^(\w+) requests(.*)$/.exec(text) ?? [];
  const count = NUMBERS[number];
  assert(count, `The number of requests is missing: ${text}`);
  const [, ordinal] = /from the (\w+) on, each asks for half/.exec(rest) ?? [];
  const firstHalf = ordinal ? ORDINALS[ordinal]! : / each for half/.test(rest) ? 2 : Infinity;
  const tops = [10_000];
  while (tops.length < count) {
    tops.push(tops.length + 1 < firstHalf ? tops.at(-1)! : Math.floor(tops.at(-1)! / 2));
  }
  return { tops };
}

const page = DOCUMENTS.get("docs/errors-and-limits.md")!;
for (const [statuses, , behaviour] of readTable(sectionOf(page, "Statuses"), "status")) {
  const named = statuses!.split(", ");
  for (const status of named.flatMap((name) => RANGES[name] ?? [Number(name)])) {
    const { tops, minutes } = readBehaviour(behaviour!);
    Deno.test(`a client that receives ${status} does what is documented: ${behaviour}`, async () => {
      for (const method of ["toArray", "count"] as const) {
        const responses = Array.from(
          { length: RESPONSES },
          () => () => new Response("", { status }),
        );
        const service = retryingClient(responses);
        await assertRejects(() => service.client.locations()[method](), DataStreamError);
        // Rows of one are asked for only to find out what a 403 is about.
        if (minutes !== undefined) {
          const waited = service.clock.now() / 60_000;
          assert(waited > minutes - 2 && waited <= minutes + 2, `${waited} minutes`);
        } else if (method === "toArray") {
          assertEquals(service.tops().filter((top) => top > 1), tops);
        } // A count cannot be smaller, and 413 is then final.
        else if (status !== 413) {
          const counts = service.requests.filter(({ url }) => url.includes("count=true"));
          assertEquals(counts.length, tops.length);
        }
      }
    });
  }
}
