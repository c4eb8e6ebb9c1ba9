// With the option `sameVersion`, all rows are of one version of each dataset, or the query fails.
import "../../helpers/no_permission.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  type AnyResourceQuery,
  type Cursor,
  DataStream,
  DataStreamError,
  type ResourceName,
} from "../../../mod.ts";
import { LONG_DEADLINE } from "../../helpers/deadline.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { PublishedService } from "../../helpers/published_service.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import { Random } from "../../properties/random.ts";

const textsOf = (count: number, version = "old") =>
  Array.from({ length: count }, (_, index) => `${version}${index}`);
const NEW_VERSION = { version: 2, publishedAt: -3_600_000 };

/** Creates a query of a service with pages of 40 rows. */
function serve(count: number, options: AnyResourceQuery = {}, delay?: () => number) {
  const clock = new FakeClock();
  const service = new PublishedService(textsOf(count), clock, delay);
  const { fetch } = service;
  const client = new DataStream({ baseUrl: ROOT, clock, fetch, retry: { attempts: 1 } });
  const query = (changes: AnyResourceQuery = {}) =>
    client.query("Records" as ResourceName, {
      select: ["Id", "DOI"],
      top: 40,
      sameVersion: true,
      ...options,
      ...changes,
    });
  return { clock, service, query };
}

const requests: [rows: number, options: AnyResourceQuery, requests: string][] = [
  [30, {}, "versions,null 40"],
  [100, {}, "versions,null 40,count,Id:40 40,Id:80 40,versions"],
  [100, { sameVersion: false }, "null 40,count,Id:40 40,Id:80 40"],
  [100, { limit: 80 }, "versions,null 40,Id:40 40,versions"],
  [100, { maxRows: 100 }, "versions,null 40,count,Id:40 40,Id:80 40,versions"],
];
for (const [rows, options, expected] of requests) {
  Deno.test(`records() of ${rows} rows with ${JSON.stringify(options)} send the requests ${expected}`, async () => {
    const { service, query } = serve(rows, options);
    let sent = 0;
    const onProgress = ({ requests }: { requests: number }) => void (sent = requests);
    await query({ onProgress }).toArray();
    assertEquals([service.requests.join(), sent], [expected, service.requests.length]);
    service.requests.length = 0;
    assertEquals([await query().count(), service.requests], [rows, ["count"]]);
  });
}

Deno.test("locations() read the versions of all datasets with sameVersion when an unchecked filter has an Id of their own", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const query = { filter: "Id eq 1", unchecked: true, sameVersion: true } as const;
  await new DataStream(options).locations(query).toArray();
  assertEquals(requests.map(({ url }) => new URL(url).searchParams.get("$filter")), [
    null,
    "Id eq 1",
  ]);
});

Deno.test("records() fail with sameVersion, and not without it, when the rows are replaced in place after 40 of them", async () => {
  for (const sameVersion of [true, false]) {
    const { service, query } = serve(100);
    const texts: string[] = [];
    const read = async () => {
      for await (const page of query({ sameVersion }).pages()) {
        texts.push(...page.map((row) => String(row["DOI"])));
        service.rows = textsOf(100, "new");
        Object.assign(service.datasets[0]!, NEW_VERSION);
      }
    };
    if (!sameVersion) await read();
    else {
      const error = await assertRejects(read, DataStreamError, "10.1/a was version 1, published");
      assertStringIncludes(error.message, "The data changed during the download: 10.1/a was");
      assertEquals([error.kind, error.rows], ["changed", 100]);
    }
    assertEquals(texts, [...textsOf(40), ...textsOf(100, "new").slice(40)]);
  }
});

Deno.test("records() fail at the second response when a dataset was published less than ten minutes before", async () => {
  for (
    const [rows, limit, error] of [[100, 100, true], [100, 40, false], [30, 100, false]] as const
  ) {
    const { service, query } = serve(rows, { limit });
    service.datasets[0]!.publishedAt = -500_000;
    const { kind, rows: delivered, retryAfter, hint } = await query().toArray().then(
      () => ({} as Partial<DataStreamError>),
      (error) => error as DataStreamError,
    );
    if (!error) assertEquals(kind, undefined);
    else assertEquals([kind, delivered, retryAfter], ["changed", 40, 100_000]);
    if (error) assertEquals(hint, "run the query again after 100 s");
  }
});

Deno.test("batches() compare the versions with those of their cursor", async () => {
  const { service, query } = serve(100);
  const [first] = await Array.fromAsync(query().batches({ format: "csv" }));
  const after: Cursor = JSON.parse(JSON.stringify(first!.cursor));
  service.requests.length = 0;
  await Array.fromAsync(query().batches({ format: "csv", after }));
  assertEquals(service.requests.join(), "versions,count,Id:40 40,Id:80 40,versions");
  // Rows before a cursor without versions can be of any version.
  const other = query({ sameVersion: false }).batches({ format: "csv" });
  const { cursor } = (await Array.fromAsync(other))[0]!;
  assertThrows(() => query().batches({ format: "csv", after: cursor }), TypeError, "same options");
  service.requests.length = 0;
  Object.assign(service.datasets[0]!, NEW_VERSION);
  const read = () => Array.fromAsync(query().batches({ format: "csv", after }));
  const error = await assertRejects(read, DataStreamError, "and is now version 2");
  assertEquals([error.rows, service.requests], [40, ["versions"]]);
});

Deno.test("records() fail, and say why they need them, when the versions cannot be requested", async () => {
  const fetch = () => Promise.resolve(new Response("", { status: 404 }));
  const query = new DataStream({ baseUrl: ROOT, fetch }).records({ sameVersion: true });
  const error = await assertRejects(() => query.toArray(), DataStreamError, "status 404");
  assertStringIncludes(error.url, "/Metadata");
  assertStringIncludes(error.message, "; sameVersion needs this request");
});

Deno.test(
  "records() never give rows of two versions when datasets are published at random times, and their rows follow within ten minutes",
  LONG_DEADLINE,
  async () => {
    const counts = { complete: 0, changed: 0 };
    for (let seed = 1; seed <= 150; seed++) {
      const random = new Random(seed);
      const { clock, service, query } = serve(30, { top: 8 }, () => random.int(1, 40_000));
      const texts = [service.text];
      const publish = async () => {
        for (let version = 1; version < 4; version++) {
          await clock.sleep(random.int(1, 1_500_000));
          const [dataset] = service.datasets;
          dataset!.version++;
          // The time can be too late, or unchanged.
          if (random.chance(0.7)) dataset!.publishedAt = clock.now() + random.pick([0, 0, 9e6]);
          if (dataset!.publishedAt >= clock.now()) await clock.sleep(random.int(0, 599_000));
          const changed = random.int(0, 29);
          service.rows = service.rows.map((row, index) => index < changed ? row : `${row}v`);
          texts.push(service.text);
        }
      };
      const download = async () => {
        await clock.sleep(random.int(0, 4_000_000));
        try {
          const text = await new Response(query().csv()).text();
          assert(texts.includes(text), `seed ${seed}: ${text}`);
          counts.complete++;
        } catch (error) {
          if (!(error instanceof DataStreamError) || error.kind !== "changed") throw error;
          counts.changed++;
        }
      };
      await Promise.all([publish(), download(), download()]);
    }
    assert(counts.complete > 50 && counts.changed > 50, JSON.stringify(counts));
  },
);
