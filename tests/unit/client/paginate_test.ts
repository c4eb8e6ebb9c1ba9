// Paging: next links, skip tokens and limits.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, type Query } from "../../../mod.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import { VERSION } from "../../helpers/project.ts";

const next = (token: string) => `${ROOT}/Locations?$skiptoken=${token}&$top=2`;

Deno.test("records() returns each row once when it follows next links", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 2_345 });
  const rows = await client.records({ top: 500 }).toArray();
  assertEquals(rows as unknown, await sandboxRequests({ records: 2_345 }).rows("Records"));
  assertEquals(sandbox.stats.requests, 6); // five pages and a count
});

Deno.test("records() sends fields, filter and page size with every page request", async () => {
  const { client } = sandboxAndClient({ records: 2_000 });
  const filter = "CharacteristicName in ('pH', 'Temperature, water') and LocationId ne 1001";
  const rows = await client.records({ filter, select: ["Id", "DOI"], top: 50 }).toArray();
  const whole = sandboxRequests({ records: 2_000 });
  const wanted = await whole.rows("Records", { $filter: filter, $select: "Id,DOI" });
  assert(wanted.length > 100);
  assertEquals(rows as unknown, wanted);
});

Deno.test("records() sends one request at a time and at most two per second", async () => {
  const { sandbox, client, clock } = sandboxAndClient({ records: 1_000 });
  await client.records({ top: 100 }).toArray();
  const { requests, tooFast, parallel, mostInFlight } = sandbox.stats;
  assertEquals([requests, tooFast, parallel, mostInFlight], [11, 0, 0, 1]);
  assert(clock.now() >= 10 * 500 && clock.now() < 10 * 560);
});

Deno.test("locations() percent-encodes names and values, and sends the key as a header", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1")), page([{ Id: 2 }]));
  const filter = "MonitoringLocationType eq 'a+b & c''d'";
  const query = new DataStream(options).locations({ filter, select: ["Id", "DOI"], top: 2 });
  await query.toArray();
  const asked = `${ROOT}/Locations?%24select=Id%2CDOI&%24filter=` +
    "MonitoringLocationType%20eq%20%27a%2Bb%20%26%20c%27%27d%27&%24top=2";
  assertEquals(requests.map(({ url }) => url), [asked, `${asked}&%24skiptoken=Id%3A1`]);
  assertEquals(query.url, asked);
  for (const { headers, method } of requests) {
    assertEquals(method, "GET");
    assertEquals(headers.get("x-api-key"), "k3y-of-a-test");
    assertEquals(headers.get("accept"), "application/vnd.api+json");
    assertEquals(headers.get("user-agent"), `weir/${VERSION}`);
  }
});

const wholePage = [{ Id: 1 }];

const ways: [name: string, first: () => Response][] = [
  ["@odata.nextLink, raw", () => page(wholePage, next("Id:1"))],
  ["@odata.nextLink, encoded", () => page(wholePage, `${ROOT}/Locations?%24skiptoken=Id%3A1`)],
  [
    "a next link with another option after its position",
    () => page(wholePage, next("Id:1&x-api-key=k3y-of-a-test&api.version=1")),
  ],
  ["odata.nextLink", () => Response.json({ value: wholePage, "odata.nextLink": next("Id:1") })],
  ["a relative link", () => page(wholePage, "/v1/odata/v4/Locations?$skiptoken=Id:1")],
  [
    "the Link header alone",
    () => page(wholePage, undefined, { link: `<${next("Id:1")}>; rel="next"` }),
  ],
  [
    "a Link header of several",
    () =>
      page(wholePage, undefined, {
        link: `<${ROOT}/Locations>; rel="first", <${next("Id:1")}>; title="x"; rel=next`,
      }),
  ],
];
for (const [name, first] of ways) {
  Deno.test(`locations() continues when the next link is ${name}`, async () => {
    const { options, requests } = upstream(first(), page([{ Id: 2 }]));
    const rows = await new DataStream(options).locations({
      select: ["Id"],
      top: 2,
    }).toArray();
    assertEquals(rows, [{ Id: 1 }, { Id: 2 }]);
    assertEquals(requests[1]?.url.endsWith("&%24skiptoken=Id%3A1"), true);
  });
}

Deno.test("locations() ends when a Link header has no next link, and after two empty pages", async () => {
  const other = { link: `<${ROOT}/Locations>; rel="prev", <${ROOT}/x>; rel="nextish"` };
  const empty = () => page([], undefined, other);
  const { options } = upstream(page([{ Id: 1 }], next("Id:1")), empty(), empty());
  assertEquals((await new DataStream(options).locations().toArray()).length, 1);
});

const wrongLinks: [name: string, link: string][] = [
  ["has another origin", "https://evil.invalid/v1/odata/v4/Locations?$skiptoken=Id:1"],
  ["has another port", "https://upstream.invalid:8443/v1/odata/v4/Locations?$skiptoken=Id:1"],
  ["has another path", `${ROOT}/Observations?$skiptoken=Id:1`],
  ["has no token", `${ROOT}/Locations?$top=2`],
  ["is not a URL", "https://"],
  ["has a token that cannot be decoded", `${ROOT}/Locations?$skiptoken=Id:%zz`],
];
for (const [name, link] of wrongLinks) {
  Deno.test(`locations() fails and sends no request when a next link ${name}`, async () => {
    const { options, requests } = upstream(page([{ Id: 1 }], link));
    const query = new DataStream(options).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", 1]);
  });
}

Deno.test("locations() fails when a next link repeats a position", async () => {
  const { options, requests } = upstream(
    page([{ Id: 1 }], next("Id:1")),
    page([{ Id: 2 }], next("Id:1")),
  );
  const query = new DataStream(options).locations();
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "repeats an earlier page",
  );
  assertEquals([error.kind, requests.length], ["next-link", 2]);
});

for (
  const [name, tokens] of [["points to an earlier position", ["Id:10", "Id:5"]], [
    "points to the same position with other digits",
    ["Id:10", "Id:010"],
  ], ["repeats the first page", [
    "a",
    "b",
    "a",
  ]]] as const
) {
  Deno.test(`locations() fails when a next link ${name}`, async () => {
    const { options, requests } = upstream(
      ...tokens.map((token, index) => page([{ Id: 10 + index }], next(token))),
    );
    const query = new DataStream(options).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", tokens.length]);
  });
}

Deno.test("locations() fails when a Link header is malformed", async () => {
  const { options } = upstream(page([{ Id: 1 }], undefined, { link: `${next("Id:1")}; rel=next` }));
  const query = new DataStream(options).locations();
  const error = await assertRejects(() => query.toArray(), DataStreamError, "cannot be read");
  assertEquals(error.kind, "next-link");
});

const changed: [name: string, option: string][] = [
  ["another filter", "$filter=DOI%20eq%20%27x%27"],
  [
    "no space where the filter has text",
    "$filter=DOI%20eq%20%27a%20%26%20b%27%20and%20Name%20eq%20%27cd%27",
  ],
  ["another select", "$select=Id"],
  ["the fields in another order", "%24select=DOI,Id"],
];
for (const [name, option] of changed) {
  Deno.test(`locations() fails when a next link has ${name}`, async () => {
    const { options } = upstream(page([{ Id: 1 }], `${ROOT}/Locations?${option}&$skiptoken=Id:1`));
    const filter = "DOI eq 'a & b' and Name eq 'c d'";
    const query = new DataStream(options).locations({ select: ["Id", "DOI"], filter });
    const error = await assertRejects(() => query.toArray(), DataStreamError, "than the request");
    assertEquals(error.kind, "next-link");
  });
}

Deno.test("locations() fails when a next link has a filter or fields and the request had none", async () => {
  for (const option of ["$filter=DOI%20eq%20%27x%27", "$select=Id"]) {
    const { options } = upstream(page([{ Id: 1 }], `${ROOT}/Locations?${option}&$skiptoken=Id:1`));
    const query = new DataStream(options).locations();
    await assertRejects(() => query.toArray(), DataStreamError, "than the request");
  }
});

const repeated: [name: string, options: string][] = [
  [
    "encoded",
    "%24select=Id%2CDOI&%24filter=DOI%20eq%20%27a%20%26%20b%25%27%20and%20Name%20eq%20%27c%2Bd%27",
  ],
  ["raw", "$select=Id,DOI&$filter=DOI eq 'a & b%' and Name eq 'c+d'"],
  ["as a form", "$select=Id%2C+DOI&$filter=DOI+eq+%27a+%26+b%25%27+and+Name+eq+%27c%2Bd%27"],
  ["spaced otherwise", "$filter=DOI  eq 'a & b%'  and Name eq 'c+d'&$top=7"],
];
for (const [name, options_] of repeated) {
  Deno.test(`locations() continues when a next link has the fields and filter of the request, ${name}`, async () => {
    const { options, requests } = upstream(
      page([{ Id: 1 }], `${ROOT}/Locations?${options_}&$skiptoken=Id:1&other=1`),
      page([{ Id: 2 }]),
    );
    const filter = "DOI eq 'a & b%' and Name eq 'c+d'";
    const query = new DataStream(options).locations({ select: ["Id", "DOI"], filter, top: 5 });
    assertEquals((await query.toArray()).length, 2);
    assertEquals(requests[1]?.url, `${requests[0]?.url}&%24skiptoken=Id%3A1`);
  });
}

Deno.test("locations() continues when the filter of a raw next link looks like another option", async () => {
  const filter = "DOI eq 'a&b=c'";
  const { options } = upstream(
    page([{ Id: 1 }], `${ROOT}/Locations?$filter=${filter}&$skiptoken=Id:1`),
    page([{ Id: 2 }]),
  );
  assertEquals((await new DataStream(options).locations({ filter }).toArray()).length, 2);
});

Deno.test("locations() requests an empty page once more before it follows its link", async () => {
  const { options, requests } = upstream(
    page([], next("Id:1")),
    page([], next("Id:1")),
    page([{ Id: 2 }], next("Id:2")),
    page([]),
    page([{ Id: 3 }]),
  );
  assertEquals(await new DataStream(options).locations({ select: ["Id"] }).toArray(), [
    { Id: 2 },
    { Id: 3 },
  ]);
  const positions = requests.map(({ url }) => new URL(url).searchParams.get("$skiptoken"));
  assertEquals(positions, [null, null, "Id:1", "Id:2", "Id:2"]);
});

Deno.test("metadata() continues when skip tokens have no number", async () => {
  const token = (digit: number) => `Id:0000000${digit}-5eed-4000-8000-000000000000`;
  const link = (digit: number) => `${ROOT}/Metadata?$skiptoken=${token(digit)}`;
  const { options, requests } = upstream(
    page([{ Id: "b" }], link(2)),
    page([{ Id: "a" }], link(1)),
    page([{ Id: "c" }]),
  );
  assertEquals((await new DataStream(options).metadata({ select: ["Id"] }).toArray()).length, 3);
  assertEquals(new URL(requests[2]!.url).searchParams.get("$skiptoken"), token(1));
  const { client } = sandboxAndClient();
  const [first, ...others] = await client.metadata({ top: 1 }).toArray();
  assertEquals(others.length, 4);
  const rest = await client.metadata({ skipToken: `Id:${first!.Id}` }).toArray();
  assertEquals(rest, others);
});

Deno.test("records() requests no page more, and none larger, than its limit needs", async () => {
  const { sandbox, client } = sandboxAndClient({ records: 1_000 });
  for (
    const [limit, top, requests, sent] of [
      [25, 10, 3, 25],
      [30, 10, 3, 30],
      [7, 10, 1, 7],
      [1_001, 1_000, 2, 1_000], // the last page is full: one more request shows the end
      [0, 10, 0, 0],
    ] as const
  ) {
    const before = { ...sandbox.stats };
    const rows = await client.records({ limit, top, select: ["Id"] }).toArray();
    assertEquals(rows.length, Math.min(limit, 1_000));
    const { requests: asked, rows: taken } = sandbox.stats;
    assertEquals([asked - before.requests, taken - before.rows], [requests, sent]);
  }
});

Deno.test("locations() fails when a page has more rows than were requested", async () => {
  const { options } = upstream(
    page([{ Id: 1 }, { Id: 2 }, { Id: 3 }], next("Id:3")),
  );
  const query = new DataStream(options).locations({ limit: 2, select: ["Id"] });
  assertEquals(query.url.endsWith("&%24top=2"), true);
  const error = await assertRejects(
    () => query.toArray(),
    DataStreamError,
    "3 rows instead of",
  );
  assertEquals(error.kind, "page");
});

Deno.test("records() begins after the position when skipToken is set", async () => {
  const { client } = sandboxAndClient({ records: 50 });
  const all = await client.observations().toArray();
  const query = client.observations({ skipToken: `Id:${all[19]!.Id}`, top: 7 });
  assertEquals(query.url.endsWith(`&%24skiptoken=Id%3A${all[19]!.Id}`), true);
  assertEquals(await query.toArray(), all.slice(20));
});

for (const method of ["metadata", "locations", "observations", "records"] as const) {
  Deno.test(`${method}() returns every row and every field`, async () => {
    const { client } = sandboxAndClient({ records: 300 });
    const resource = method[0]!.toUpperCase() + method.slice(1);
    const query = (client[method] as (options: object) => Query<object>).call(client, { top: 23 });
    const rows: unknown = await query.toArray();
    assertEquals(rows, await sandboxRequests({ records: 300 }).rows(resource));
  });
}

Deno.test("locations() keeps a plus sign in a skip token", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1+2%2B3")), page([{ Id: 2 }]));
  await new DataStream(options).locations().toArray();
  assertEquals(requests[1]?.url.endsWith("&%24skiptoken=Id%3A1%2B2%2B3"), true);
});
