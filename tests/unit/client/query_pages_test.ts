// Completeness of results: lost links, empty pages, in-stream errors, repeated rows.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type DataStream, DataStreamError, type Progress, type Query } from "../../../mod.ts";
import { formatsOf } from "../../helpers/formats.ts";
import {
  type Change,
  clientOfChangedPages,
  type PageBody,
  withoutLink,
} from "../../helpers/changed_pages.ts";
import { READ_ROWS } from "../../helpers/read_rows.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";

type Row = { Id: number };

const RECORDS = { records: 5_000 };
const WANTED = (await sandboxAndClient(RECORDS).client.records({ select: ["Id"] }).toArray())
  .map(({ Id }) => Id);

const textOf = (bytes: ReadableStream<Uint8Array<ArrayBuffer>>) => new Response(bytes).text();

/** The Ids of a query's rows, read in each format. */
const FORMATS: Record<string, (query: Query<Row>) => Promise<number[]>> = {
  rows: async (query) => (await query.toArray()).map(({ Id }) => Id),
  ...Object.fromEntries(
    formatsOf("Records").map((format) => [
      format,
      async (query: Query<Row>) =>
        READ_ROWS[format](await textOf(query.bytes(format))).map(({ Id }) => Number(Id)),
    ]),
  ),
};

/** Sends the page before again, with its link, in place of the page with that number. */
function resendPageBefore(number: number): Change {
  let before: PageBody = { value: [] };
  return (page, pageRequest) => {
    const sent = pageRequest.number === number ? before : page;
    before = page;
    return sent;
  };
}

/** Changes the page with that number alone. */
const onPage = (number: number, change: Change): Change => (page, pageRequest) =>
  pageRequest.number === number ? change(page, pageRequest) : page;

/** Moves the position of the next link. */
const moveLink = (by: number): Change => (page) => ({
  ...page,
  "@odata.nextLink": page["@odata.nextLink"]
    ?.replace(/Id:(\d+)/, (_, id) => `Id:${Number(id) + by}`),
});

/** Sends the rows of the page before in place of those of the page with that number. */
function repeatPageBefore(number: number): Change {
  let before: Record<string, unknown>[] = [];
  return (page, pageRequest) => {
    const value = pageRequest.number === number ? before : page.value;
    before = page.value;
    return { ...page, value };
  };
}

const changes: [name: string, change: Change][] = [
  ["an empty page", onPage(3, () => ({ value: [] }))],
  ["an empty first page", onPage(1, (page) => ({ ...page, value: [] }))],
  ["an empty page with a link", onPage(3, (page) => ({ ...page, value: [] }))],
  ["a page without its next link", onPage(2, withoutLink)],
  ["the first page without its next link", onPage(1, withoutLink)],
  [
    "an error member beside the rows",
    onPage(2, (page) => ({ ...page, error: { message: "x" } })),
  ],
  [
    "an error member without rows",
    onPage(2, () => Response.json({ error: {} })),
  ],
  [
    "an errors member",
    onPage(2, (page) => ({ ...page, errors: [{ message: "x" }] })),
  ],
  ["a page again under an advancing link", repeatPageBefore(3)],
  ["a page again with its link", resendPageBefore(3)],
  [
    "a row of an earlier page",
    onPage(3, ({ value: [first, ...others], ...page }) => ({
      ...page,
      value: [{ ...first, Id: WANTED[3] }, ...others],
    })),
  ],
  ["an error on the first page", onPage(1, (page) => ({ ...page, error: { message: "x" } }))],
  [
    "more rows than requested on the first page",
    onPage(1, (page) => ({ ...page, value: [...page.value, { Id: 9_999_999 }] })),
  ],
  [
    "a row twice on a page",
    onPage(
      2,
      (page) => ({ ...page, value: page.value.with(5, page.value[700]!) }),
    ),
  ],
  [
    "more rows than requested",
    onPage(
      2,
      (page) => ({
        ...page,
        value: [...page.value, { ...page.value[0], Id: 9_999_999 }],
      }),
    ),
  ],
  [
    "the rows of each page in reverse",
    (page) => ({ ...page, value: page.value.toReversed() }),
  ],
  ["a link that skips rows", onPage(2, moveLink(500))],
  ["a link past the next page", onPage(2, moveLink(10_000))],
  ["a link that repeats rows", onPage(2, moveLink(-5))],
];
for (const [name, change] of changes) {
  for (const [format, read] of Object.entries(FORMATS)) {
    Deno.test(`records() returns each row once as ${format} when the service sends ${name}`, async () => {
      for (
        const query of [{}, { limit: 4_999 }, { partition: "never" as const }]
      ) {
        const { client } = clientOfChangedPages(change, RECORDS);
        const ids = await read(client.records({ top: 1_000, select: ["Id", "DOI"], ...query }));
        assertEquals(
          ids.toSorted((a, b) => a - b),
          WANTED.slice(0, query.limit),
        );
      }
    });
  }
}

/** A service that ends after two pages of a thousand, whatever is requested after them. */
const endsEarly: Change = ({ value }) => ({
  value: value.filter(({ Id }) => (Id as number) <= WANTED[1_999]!),
});

Deno.test("records() continues after a page when its rows have no Ids", async () => {
  const select = ["CharacteristicName", "ResultValue"] as const;
  const wanted = await sandboxAndClient(RECORDS).client.records({ select }).toArray();
  const withoutIds = onPage(2, ({ value, ...page }) => ({
    ...page,
    value: value.map(({ Id: _, ...row }) => row),
  }));
  const { client } = clientOfChangedPages(withoutIds, RECORDS);
  assertEquals(await client.records({ select, top: 1_000 }).toArray(), wanted);
});

Deno.test("records() fails when rows are missing by the count, and names both numbers and the position", async () => {
  for (const [format, read] of Object.entries(FORMATS)) {
    for (const select of [["Id"], ["Id", "DOI"], undefined] as const) {
      const { client } = clientOfChangedPages(
        (page, pageRequest) => pageRequest.number < 2 ? page : endsEarly(page, pageRequest),
        RECORDS,
      );
      const query = client.records({ top: 1_000, select }) as Query<Row>;
      const error = await assertRejects(() => read(query), DataStreamError);
      const position = `Id:${WANTED[1_999]}`;
      assertEquals([
        error.kind,
        error.rows,
        error.expectedRows,
        error.skipToken,
      ], [
        "incomplete",
        2_000,
        5_000,
        position,
      ], format);
      assertMatch(
        error.message,
        /Received 2000 of 5000 counted rows of Records/,
      );
      assert(error.message.includes(position));
    }
  }
});

Deno.test("records() with incomplete: warn accepts missing rows, and reports their number", async () => {
  for (const [format, read] of Object.entries(FORMATS)) {
    const { client } = clientOfChangedPages(
      (page, pageRequest) => pageRequest.number < 2 ? page : endsEarly(page, pageRequest),
      RECORDS,
    );
    const reports: (number | undefined)[] = [];
    const onProgress = ({ missingRows }: Progress) => void reports.push(missingRows);
    const ids = await read(
      client.records({ top: 1_000, incomplete: "warn", onProgress }),
    );
    assertEquals(ids, WANTED.slice(0, 2_000), format);
    assertEquals(reports, [undefined, undefined, 3_000]);
  }
});

Deno.test("records() accepts a count that is wrong by its documented inaccuracy, after one more request", async () => {
  const { sandbox } = sandboxAndClient({
    ...RECORDS,
    requestsPerSecond: Infinity,
  });
  const countOff = (by: number) =>
    sandboxAndClient({}, {
      apiKey: sandbox.apiKey,
      requestsPerSecond: Infinity,
      fetch: async (request) =>
        request.url.includes("count")
          ? Response.json({ value: 5_000 + by })
          : await sandbox.fetch(request),
    }).client;
  const before = sandbox.stats.requests;
  assertEquals(
    (await countOff(1).records({ top: 1_000 }).toArray()).length,
    5_000,
  );
  assertEquals(sandbox.stats.requests - before, 6); // five pages, and one after the last
  await assertRejects(
    () => countOff(2).records({ top: 1_000 }).toArray(),
    DataStreamError,
    "Received 5000 of 5002",
  );
});

Deno.test("records() counts once more before it fails, and accepts the result when the first count was wrong", async () => {
  const { sandbox } = sandboxAndClient({ ...RECORDS, requestsPerSecond: Infinity });
  let counts = 0;
  const { client } = sandboxAndClient({}, {
    apiKey: sandbox.apiKey,
    requestsPerSecond: Infinity,
    fetch: async (request) =>
      request.url.includes("count") && ++counts === 1
        ? Response.json({ value: 5_100 })
        : await sandbox.fetch(request),
  });
  assertEquals((await client.records({ top: 1_000, select: ["Id"] }).toArray()).length, 5_000);
  assertEquals(counts, 2);
});

Deno.test("locations() reports the message of an error object when it is sent in place of a page", async () => {
  const { client } = clientOfChangedPages(() =>
    Response.json({ error: { message: "internal failure of sandbox" } })
  );
  for (const read of Object.values(FORMATS)) {
    const query = client.records({ select: ["Id"] });
    const error = await assertRejects(() => read(query), DataStreamError);
    assertMatch(error.detail, /got an error in the page \(internal failure of \[key\]\), 6 times$/);
    assertMatch(error.hint, /^try again later/);
  }
});

Deno.test("records() delivers the earlier pages and then fails when a page keeps repeating rows", async () => {
  const { client } = clientOfChangedPages((page, { number }) => {
    const repeated = page.value.map((row, index) => ({
      ...row,
      Id: WANTED[1_000 + index],
    }));
    return number < 3 ? page : { ...page, value: repeated };
  }, RECORDS);
  const query = client.records({ top: 1_000, select: ["Id", "DOI"] });
  const reader = query.pages().getReader();
  const ids: number[] = [];
  const error = await assertRejects(async () => {
    for (;;) ids.push(...(await reader.read()).value!.map(({ Id }) => Id));
  }, DataStreamError);
  assertEquals(ids, WANTED.slice(0, 2_000));
  assertEquals([error.kind, error.rows, error.skipToken], [
    "page",
    2_000,
    `Id:${WANTED[1_999]}`,
  ]);
  const delivered = `2000 rows were delivered before, up to the position Id:${WANTED[1_999]}`;
  assert(error.hint.endsWith(delivered), error.hint);
  const { client: sound } = sandboxAndClient(RECORDS);
  const rest = await sound.records({
    skipToken: error.skipToken,
    select: ["Id"],
  }).toArray();
  assertEquals(rest.map(({ Id }) => Id), WANTED.slice(2_000));
});

Deno.test("records() reports the message of an in-stream error without the key when retries do not help", async () => {
  const { client } = clientOfChangedPages(
    (page) => ({ ...page, error: { message: "for key sandbox:\nno more" } }),
    RECORDS,
  );
  const error = await assertRejects(
    () => client.records().toArray(),
    DataStreamError,
  );
  assertMatch(
    error.detail,
    /got an error in the page \(for key \[key\]: no more\), 6 times$/,
  );
});

/** A query of a method that is known only at run time. */
const queryOf = (client: DataStream, method: "locations" | "metadata", query: object) =>
  (client[method] as (query: object) => Query<object>).call(client, query);

for (const method of ["locations", "metadata"] as const) {
  Deno.test(`${method}() requests one more page when the last one is full and nothing was counted`, async () => {
    for (const select of [undefined, ["DOI"] as const]) {
      const top = method === "locations" ? 20 : 2;
      const { client } = clientOfChangedPages(onPage(1, withoutLink));
      const rows = await queryOf(client, method, { top, select }).toArray();
      assertEquals(
        rows,
        await queryOf(sandboxAndClient().client, method, { select }).toArray(),
      );
      if (select !== undefined) assertEquals(Object.keys(rows[0]!), ["DOI"]);
    }
  });
}

Deno.test("locations() requests an empty page once more when it follows a lost link", async () => {
  const { client } = clientOfChangedPages((page, { number }) => {
    if (number === 1) return withoutLink(page);
    return number === 2 ? { ...page, value: [] } : page;
  });
  const rows = await client.locations({ top: 20 }).toArray();
  assertEquals(rows, await sandboxAndClient().client.locations().toArray());
});

Deno.test("records() requests once more after a full page when more rows came than were counted", async () => {
  for (const count of [0, 42, 1_999]) {
    const { client } = clientOfChangedPages(onPage(2, withoutLink), RECORDS, {}, { value: count });
    const rows = await client.records({ top: 1_000, select: ["Id"] }).toArray();
    assertEquals(rows.map(({ Id }) => Id), WANTED, `count ${count}`);
  }
});

Deno.test("metadata() fails when a dataset comes a second time", async () => {
  const { client } = clientOfChangedPages((page, { number }) => {
    return number === 1 ? page : { ...page, value: [{ ...page.value[0], Id: firstId }] };
  });
  const [{ Id: firstId }] = await sandboxAndClient().client.metadata()
    .toArray() as never as [Row];
  const query = client.metadata({ top: 2, select: ["DOI"] });
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "again",
  );
  assertEquals([error.kind, error.rows], ["page", 2]);
});

Deno.test("records() requests Id for its checks and removes it when it is not selected", async () => {
  const select = ["CharacteristicName", "ResultValue", "DOI"] as const;
  const { client, sandbox } = sandboxAndClient(RECORDS);
  const rows = await client.records({ select, top: 1_000 }).toArray();
  assertEquals(rows.length, 5_000);
  assert(rows.every((row) => Object.keys(row).join() === select.join()));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  assertEquals(
    await textOf(client.records({ select, top: 1_000 }).ndjson()),
    text,
  );
  assertEquals(
    await textOf(client.records({ select, top: 1_000 }).json()),
    `{"value":[${text.trimEnd().replaceAll("\n", ",")}]}\n`,
  );
  const csv = await textOf(client.records({ select, top: 1_000 }).csv());
  assertEquals(csv.split("\r\n")[0], select.join());
  const all = await textOf(
    client.records({ top: 1_000 }).csv({ columns: select }),
  );
  assertEquals(csv, all);
  assertEquals(
    new URL(client.records({ select }).url).searchParams.get("$select"),
    `${select},Id`,
  );
  const first = client.records({ select, limit: 5 });
  assertEquals(new URL(first.url).searchParams.get("$select"), select.join());
  assertEquals((await first.toArray()).length, 5);
  assertEquals(sandbox.stats.parallel, 0);
});

Deno.test("geojson() omits Id when it is not selected", async () => {
  const { client } = sandboxAndClient();
  const select = ["Name", "Latitude", "Longitude"] as const;
  const { features } = JSON.parse(
    await textOf(client.locations({ select }).geojson()),
  );
  assertEquals(features.length, 60);
  for (const feature of features) {
    assertEquals(
      Object.keys(feature),
      ["type", "geometry", "properties"],
    );
    assertEquals(Object.keys(feature.properties), [...select]);
  }
});

Deno.test("records() fails before the first row when the service counts more than maxRows", async () => {
  const { client, sandbox } = sandboxAndClient(RECORDS);
  const query = client.records({ top: 1_000, maxRows: 4_999 });
  const reader = query.csv().getReader();
  const error = await assertRejects(
    () => reader.read(),
    DataStreamError,
    "5000 rows",
  );
  assertEquals([error.kind, error.expectedRows, error.rows], [
    "too-many-rows",
    5_000,
    0,
  ]);
  assertEquals(sandbox.stats.requests, 2);
  assertEquals(
    (await client.records({ top: 1_000, maxRows: 5_000 }).toArray()).length,
    5_000,
  );
  assertEquals(sandbox.stats.requests, 2 + 6); // counted once
  assertEquals(
    (await client.records({ maxRows: 5_000, limit: 3_000 }).toArray()).length,
    3_000,
  );
  const small = (maxRows: number) => client.records({ maxRows, filter: "LocationId eq 1015" });
  assertEquals((await small(56).toArray()).length, 56);
  await assertRejects(() => small(55).toArray(), DataStreamError, "56 rows");
  assertEquals(sandbox.stats.requests, 8 + 1 + 2); // a result of one page is not counted
});

Deno.test("observations() fails when a page of a split query lacks rows, and maxRows made the service count them", async () => {
  const { client, sandbox } = sandboxAndClient(RECORDS);
  let isComplete = true;
  const fetch = async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    const isPage = pathname.endsWith("/Observations") && !searchParams.has("$count");
    // The service refuses pages of the whole query, so the query is split by location.
    if (isPage && !searchParams.get("$filter")?.includes("LocationId")) {
      return Response.json({}, { status: 413 });
    }
    const response = await sandbox.fetch(request);
    if (!isPage || !isComplete || !searchParams.has("$skiptoken")) return response;
    isComplete = false;
    const page: PageBody = await response.json();
    return Response.json({ ...page, value: page.value.slice(2) });
  };
  const query = client.with({ fetch }).observations({ select: ["Id"], top: 100, maxRows: 5_000 });
  const error = await assertRejects(() => query.toArray(), DataStreamError, "counted rows");
  assertEquals([error.kind, isComplete], ["incomplete", false]);
});
