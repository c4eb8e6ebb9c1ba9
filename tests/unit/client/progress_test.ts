// onProgress receives rows, requests and retries as they happen.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Progress } from "../../../mod.ts";
import { page, retryingClient } from "../../helpers/upstream.ts";
import { pagedClient, range } from "./paged_service.ts";

Deno.test("onProgress() receives rows, requests, waits and expected rows after each page", async () => {
  const { client } = pagedClient({ ids: range(1, 250) });
  const reports: Omit<Progress, "responseDate">[] = [];
  const onProgress = ({ responseDate, ...progress }: Progress) => {
    assert(responseDate! > 0); // by the clock of this computer: the service sends none
    reports.push(progress);
  };
  const query = client.records({ top: 100, onProgress });
  await query.toArray();
  const common = { retries: 0, retrying: undefined };
  assertEquals(reports, [
    { ...common, pages: 1, rows: 100, requests: 1, waits: 0, expectedRows: undefined },
    { ...common, pages: 2, rows: 200, requests: 3, waits: 1_060, expectedRows: 250 },
    { ...common, pages: 3, rows: 250, requests: 4, waits: 1_590, expectedRows: 250 },
  ]);
  await query.toArray();
  assertEquals(reports.slice(3).map(({ requests }) => requests), [1, 3, 4]);
});

Deno.test("onProgress() receives the expected rows also when all are left out", async () => {
  const { client } = pagedClient({ ids: range(1, 250) });
  let last: Progress | undefined;
  const onProgress = (progress: Progress) => void (last = progress);
  await client.records({ top: 100, from: "2020-01-01", onProgress }).toArray();
  assertEquals([last?.rows, last?.expectedRows], [0, 250]);
});

Deno.test("onProgress() receives rows and expected rows of the whole query when it continues after a cursor", async () => {
  const { client } = pagedClient({ ids: range(1, 250) });
  const reports: Progress[] = [];
  const onProgress = (progress: Progress) => void reports.push(progress);
  const query = client.records({ top: 100, onProgress });
  const batches = await Array.fromAsync(query.batches());
  reports.length = 0;
  await Array.fromAsync(query.batches({ after: batches[1]!.cursor }));
  const numbers = reports.map(({ pages, rows, expectedRows }) => [pages, rows, expectedRows]);
  assertEquals(numbers, [[1, 250, 250]]);
});

Deno.test("onProgress() receives the error before each retry", async () => {
  const { client, clock } = retryingClient([
    Response.json({}, { status: 500 }),
    Response.json({}, { status: 429, headers: { "retry-after": "9" } }),
    page([{ Id: 1 }]),
  ]);
  const reports: Progress[] = [];
  await client.locations({ onProgress: (progress) => void reports.push(progress) }).toArray();
  const [first, second, last] = reports;
  assertEquals(reports.length, 3);
  assertEquals([first?.retrying?.fault.status, first?.retries, first?.pages], [500, 1, 0]);
  assert(first!.retrying!.wait >= 500 && first!.retrying!.wait <= 1_000);
  assertEquals([second?.retrying?.fault.status, second?.retrying?.wait], [429, 9_000]);
  assertEquals([last?.retrying, last?.retries, last?.requests, last?.pages], [undefined, 2, 3, 1]);
  assertEquals(last!.waits, clock.now());
});

Deno.test("onRetry() receives the error and the delay before each retry of rows, counts and citations", async () => {
  const retries: [status: number | undefined, isDelay: boolean][] = [];
  const failing = Array.from(
    { length: 6 },
    (_, index) =>
      index % 2 === 0 ? Response.json({}, { status: 500 }) : page([{ Id: 1, DOI: "10.25976/a" }]),
  );
  failing[3] = Response.json({ value: 1 });
  const { client } = retryingClient(failing, {
    onRetry: ({ status }, wait) => void retries.push([status, wait >= 500 && wait <= 1_000]),
  });
  await client.locations().toArray();
  await client.with({ retry: { attempts: 2 } }).locations().count();
  await client.citations();
  assertEquals(retries, [[500, true], [500, true], [500, true]]);
});

Deno.test("toArray() rejects with the error that onProgress throws", async () => {
  const onProgress = () => {
    throw new RangeError("of the caller");
  };
  const query = pagedClient({ ids: [1] }).client.records({ onProgress });
  await assertRejects(() => query.toArray(), RangeError, "of the caller");
});
