// `weir doctor` names each assumption of Weir that a service breaks, and only those; against the sandbox, all hold.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Body, type Change, examine, type Exchange } from "../../helpers/examined_service.ts";
import { ROOT } from "../../helpers/upstream.ts";
import { weir } from "../../helpers/run_weir.ts";

Deno.test("weir doctor --sandbox finds that every assumption holds that it can check there", async () => {
  const { code, output, errors } = await weir(["doctor", "--sandbox"]);
  assertEquals(code, 0);
  const others = output.trimEnd().split("\n").filter((line) => !line.startsWith("holds "));
  assertEquals(others.map((line) => line.split("(")[0]!.trim()), [
    "not checked  key file",
    "not checked  proxy",
    "not checked  clock",
    "not checked  compression",
  ]);
  assertEquals(errors.at(-1), "25 requests: 42 checks hold, 0 differ, 4 were not made");
});

Deno.test("weir doctor without a key sends one request, and checks the address and the clock", async () => {
  const { code, requests, checks } = await examine(undefined, [], {});
  assertEquals([code, requests.length], [0, 1]);
  const holding = checks.filter(({ result }) => result === "holds").map(({ check }) => check);
  assertEquals(holding, ["runtime", "proxy", "address", "clock", "no key"]);
});

for (const status of [401, 403, 429]) {
  Deno.test(`weir doctor stops after the first answer with status ${status}`, async () => {
    const { code, differing, requests } = await examine((answer) => {
      Object.assign(answer, { status, body: { message: "no" } });
    });
    const expected = status === 429 ? [0, ["pace"], 1] : [1, ["key"], 1];
    assertEquals([code, differing, requests.length], expected);
  });
}

const isList = ({ body }: Exchange) => Array.isArray(body.value);
/** Changes each row of a resource. */
const rows = (resource: string, change: (row: Body) => void): Change => (answer) => {
  if (isList(answer) && answer.resource === resource) answer.body.value.forEach(change);
};
/** Refuses requests whose query contains a text. */
const refuse = (text: string | RegExp, status = 403): Change => (answer) => {
  const isMeant = typeof text === "string" ? answer.query.includes(text) : text.test(answer.query);
  if (isMeant && answer.status === 200) Object.assign(answer, { status, body: "<h1>no</h1>" });
};
const longer = (bytes: number): Change => (answer) => {
  if (encodeURIComponent(answer.query).length > bytes) {
    Object.assign(answer, { status: 403, body: "<h1>no</h1>" });
  }
};
const links = (change: (link: string) => string | undefined): Change => ({ body, headers }) => {
  if (body["@odata.nextLink"] === undefined) return;
  const link = change(body["@odata.nextLink"]);
  if (link === undefined) delete body["@odata.nextLink"];
  else body["@odata.nextLink"] = link;
  headers.delete("link");
};
const onQuery = (text: string, change: Change): Change => (answer) =>
  answer.query.includes(text) ? change(answer) : undefined;
const wrongCount = (text: string) => onQuery(text, ({ body }) => void (body.value += 7));

/** By what is broken: the change of the answers, the exit code, and the checks that differ. */
const SERVICES: Record<string, [change: Change, exitCode: 0 | 1, ...differing: string[]]> = {
  "another address": [
    (answer) => {
      Object.assign(answer, { status: 404, body: { message: "Not Found" } });
    },
    1,
    "address",
  ],
  "a clock": [
    ({ headers }) => headers.set("date", new Date(0).toUTCString()),
    0,
    "clock",
    "published",
  ],
  "HTML with 200": [
    (answer) => {
      answer.headers.set("content-type", "text/html");
      if (isList(answer) && answer.resource === "Metadata") answer.body = "<p>soon</p>";
    },
    1,
    "page",
  ],
  "a field less": [rows("Records", (row) => delete row.ResultUnit), 1, "fields of Records"],
  "a renamed field": [
    rows("Locations", (row) => {
      row.LocationName = row.Name;
      if ("Name" in row) delete row.Name;
    }),
    1,
    "fields of Locations",
    "new fields",
  ],
  "a new field": [rows("Observations", (row) => row.ResultQuality = 1), 0, "new fields", "select"],
  "another type": [rows("Records", (row) => row.MonitoringLocationLatitude = "45"), 0, "types"],
  "texts of all fields": [rows("Metadata", (row) => row.DOI = null), 0, "types"],
  "no links": [links(() => undefined), 0, "link"],
  "links over HTTP": [links((link) => link.replace("https:", "http:")), 0, "address of links"],
  "links of another resource": [
    links((link) => link.replace("/Locations", "/Places")),
    1,
    "address of links",
    "token",
  ],
  "opaque tokens": [links((link) => link.replace(/Id:\d+/, "abc")), 0, "token"],
  "descending Ids": [
    onQuery("$top=10000", ({ body }) => void body.value.reverse()),
    0,
    "order",
  ],
  "pages from the start": [
    onQuery("$skiptoken", ({ body }) => void body.value.forEach((row: Body) => row.Id -= 20)),
    1,
    "position",
  ],
  "no count": [onQuery("$count", (answer) => void (answer.body = { value: [] })), 1, "count"],
  "counts as text": [
    onQuery("$count", ({ body }) => void (body.value = String(body.value))),
    0,
    "count form",
  ],
  "counts as OData": [
    onQuery("$count", (answer) => void (answer.body = { "@odata.count": answer.body.value })),
    0,
    "count form",
  ],
  "smaller pages": [
    onQuery("$top=10000", ({ body, query }) => {
      body["@odata.nextLink"] = `${ROOT}/Observations${query}&$skiptoken=Id:${
        body.value.at(-1).Id
      }`;
    }),
    0,
    "page size",
  ],
  "eq": [wrongCount("LocationId eq"), 1, "eq"],
  "ne": [wrongCount("LocationId ne"), 1, "ne"],
  "lt": [wrongCount("LocationId lt "), 1, "lt"],
  "le instead of lte": [refuse("LocationId lte", 400), 1, "lte"],
  "gt": [wrongCount("LocationId gt "), 1, "gt"],
  "ge instead of gte": [refuse("LocationId gte", 400), 1, "gte"],
  "in": [wrongCount("LocationId in"), 1, "in"],
  "endswith": [refuse("endswith", 400), 1, "endswith"],
  "an endswith without effect": [
    onQuery("endswith", ({ body }) => void (body.value[0].DOI = "10.1/other")),
    1,
    "endswith",
  ],
  "no years": [refuse("ActivityStartYear", 400), 1, "fields of Observations", "years"],
  "boxes with numbers": [refuse("Latitude gt '", 400), 1, "box"],
  "other regions": [onQuery("RegionId", ({ body }) => void (body.value = 0)), 1, "regions"],
  "datasets without Id": [refuse("Id eq '", 400), 0, "Id of datasets"],
  "versions as numbers of a kind": [
    rows("Metadata", (row) => row.Version = "2 (new)"),
    1,
    "version",
  ],
  "local times": [
    rows("Metadata", (row) => row.PublishedTimestamp = "2020-01-01 10:00"),
    1,
    "version",
  ],
  "publications in the future": [
    rows("Metadata", (row) => row.PublishedTimestamp = "2999-01-01T00:00:00.000Z"),
    0,
    "published",
  ],
  "an extent as text": [
    rows("Metadata", (row) => row.TemporalExtent = "2012/2020"),
    0,
    "extent",
    "types",
  ],
  "2,000 bytes": [longer(1_700), 1, "2,000 bytes", "4,000 bytes", "8,000 bytes"],
  "the firewall's length": [longer(2_600), 0, "4,000 bytes", "8,000 bytes"],
  "8,000 bytes": [longer(6_000), 0, "8,000 bytes"],
  "apostrophes": [refuse("''"), 0, "apostrophe"],
  "no compression": [
    ({ headers }) => {
      headers.delete("content-encoding");
      headers.set("content-length", "1000000");
    },
    0,
    "compression",
  ],
  "a slower pace": [refuse("$skiptoken", 429), 0, "pace"],
  "unknown fields as null": [
    onQuery("FieldThatIsUnknown", (answer) => void (answer.status = 200)),
    0,
    "unknown field",
  ],
  "errors without a text": [
    onQuery("FieldThatIsUnknown", (answer) => void (answer.body = {})),
    0,
    "unknown field",
  ],
  "larger pages": [onQuery("$top=10001", (answer) => void (answer.status = 200)), 0, "larger page"],
  "no keys": [
    (answer) => {
      if (answer.status === 401) answer.status = 200;
    },
    0,
    "no key",
  ],
};
for (const [name, [change, exitCode, ...expected]] of Object.entries(SERVICES)) {
  Deno.test(`weir doctor names ${expected.join(" and ")} when the service breaks ${name}`, async () => {
    const { code, differing } = await examine(change);
    assertEquals([code, differing.toSorted()], [exitCode, expected.toSorted()]);
  });
}

Deno.test("weir doctor --sandbox-firewall names what the firewall refuses, which Weir handles", async () => {
  const { code, output } = await weir(["doctor", "--sandbox-firewall"]);
  const differing = output.split("\n").filter((line) => line.startsWith("differs"));
  assertEquals(differing.map((line) => /^differs +(.*?):/.exec(line)![1]), [
    "4,000 bytes",
    "8,000 bytes",
    "apostrophe",
  ]);
  assertStringIncludes(differing[0]!, "responded with status 403");
  assertEquals(code, 0);
});
