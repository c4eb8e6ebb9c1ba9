// Rows are delivered while their page arrives, and rows that are not in order only with their complete page.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { DataStreamError } from "../../../mod.ts";
import { arrivingPage, pagedClient, range, readIds, splitBody } from "./paged_service.ts";

Deno.test("records() deliver rows before their page ends", async () => {
  const { client, clock } = pagedClient({
    ids: [2, 4, 6, 8],
    change({ ids }) {
      const [start, rest] = splitBody(ids, 6);
      return arrivingPage(clock, [start.slice(0, -5), 200, start.slice(-5), 10_000, rest]);
    },
  });
  const reader = client.records({ select: ["Id"], top: 10 }).csv().getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  // The last row that has arrived may be incomplete. An incomplete row is read again when its bytes have doubled.
  assertEquals([await read(), clock.now()], ['"Id"\r\n2\r\n', 200]);
  assertEquals([await read(), clock.now()], ["4\r\n6\r\n", 10_200]);
});

type UnorderedPage = [ids: number[], end: number, delivered: number[], failsAfter?: number];
const unordered: Record<string, UnorderedPage> = {
  "has unordered Ids after its first rows": [[2, 6, 8, 4], Infinity, [2, 6, 8, 4]],
  "has unordered Ids after its first rows, and breaks": [[2, 6, 4, 8], -12, [2], 1],
  "repeats its first row": [[2, 6, 8, 2], Infinity, [2], 1],
};
for (const [name, [ids, end, delivered, failsAfter]] of Object.entries(unordered)) {
  Deno.test(`records() ${failsAfter ? "fail" : "give each row once"} when a page ${name}`, async () => {
    const { client, clock, requests } = pagedClient({
      ids: ids.toSorted(),
      change() {
        const [start, rest] = splitBody(ids, 6);
        return arrivingPage(clock, [start, 200, rest.slice(0, 5), 200, rest.slice(5, end)]);
      },
    });
    const { ids: found, error } = await readIds(client.records({ top: 10 }));
    assertEquals([found, requests], [delivered, ["null 10"]]);
    const failure = error as DataStreamError | undefined;
    assertEquals(failure?.rows, failsAfter);
    if (failure) assertStringIncludes(failure.hint, "start again");
  });
}

const ends = [["its timeout", "no data within 30 s"], ["its signal", "stopped"]] as const;
for (const [name, message] of ends) {
  Deno.test(`records() end by ${name} when a byte stream is closed while a read is pending`, async () => {
    let isBegun = false;
    const body = new ReadableStream({
      type: "bytes",
      pull(controller) {
        // Without `respond(0)`, the pending read never ends.
        if (isBegun) return controller.close();
        isBegun = true;
        controller.enqueue(new TextEncoder().encode('{"value":['));
      },
    });
    const response = new Response(body, { headers: { "content-type": "application/json" } });
    const service = { ids: range(1, 100), change: () => response };
    const { client, clock } = pagedClient(service, { retry: { attempts: 1 } });
    const stop = new AbortController();
    if (message === "stopped") clock.sleep(1_000).then(() => stop.abort(new Error(message)));
    const { error } = await readIds(client.records({ signal: stop.signal }));
    assert(String(error).includes(message), String(error));
  });
}
