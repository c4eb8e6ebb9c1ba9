// A link to the next page is followed in each form, and rejected if it leads to another query or host.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { page, pageOf, ROOT, upstream } from "../../helpers/upstream.ts";
import { VERSION } from "../../helpers/project.ts";

/** Requests pages until there is no link; returns the skip token of the second request. */
async function tokenAfter(header: string | null): Promise<string | null | undefined> {
  const headers: HeadersInit = header ? { link: header } : {};
  const { options, requests } = upstream(page([{ Id: 1 }], undefined, headers), page([{ Id: 2 }]));
  await new DataStream(options).locations().toArray();
  return requests[1] && new URL(requests[1].url).searchParams.get("$skiptoken");
}

const found: [header: string | null, token: string | undefined][] = [
  [null, undefined],
  ["", undefined],
  ['<?$skiptoken=u>; rel="next"', "u"],
  ["<?$skiptoken=u>; rel=next", "u"],
  ["<?$skiptoken=u>;rel=NEXT", "u"],
  ['<?$skiptoken=u>; rel = "next"', "u"],
  ['<?$skiptoken=u>; rel="prev next"', "u"],
  ['<?$skiptoken=u>; title="a<b, c"; rel="next"', "u"],
  ['<?$skiptoken=u>; title=""; rel="next"', "u"],
  ['<?$skiptoken=a>; title=",", <?$skiptoken=b>; title=""; rel="next"', "b"],
  ['<?$skiptoken=u>; title="a \\"quoted\\" word"; rel="next"', "u"],
  ["<?$skiptoken=u>; title*=UTF-8''n%c3%a9; rel=next", "u"],
  ["<?$skiptoken=u>; flag; rel=next", "u"],
  ['<?$skiptoken=a>; rel="prev", <?$skiptoken=b>; rel="next", <?$skiptoken=c>; rel="next"', "b"],
  ["<?$skiptoken=a,b>; rel=next", "a,b"],
  ['<?$skiptoken=u>; rel="ne\\xt"', "u"],
  ["<?$skiptoken=u>", undefined],
  ["<?$skiptoken=u>; rel=nextish", undefined],
  ['<?$skiptoken=u>; title="; rel=next"; rel="prev"', undefined],
  ["<?$skiptoken=u>; rel=prev; rel=next", undefined],
  ["<?$skiptoken=u>; rev=next", undefined],
];
for (const [header, token] of found) {
  Deno.test(`locations() continues after ${token} when the header Link is ${header}`, async () =>
    assertEquals(await tokenAfter(header), token));
}

const unreadable: [header: string, part: string][] = [
  ["u; rel=next", "a link at character 1"],
  ["<a>; rel=prev,u", "a link at character 15"],
  ["<?$skiptoken=u; rel=next", "a link at character 1"],
  ['<?$skiptoken=u>; title="x; rel=next', "a link at character 1"],
  ["<?$skiptoken=u> rel=next", "a link at character 1"],
];
for (const [header, part] of unreadable) {
  Deno.test(`locations() throws when the header Link is ${header}`, async () => {
    const message = `The link to the next page cannot be read: ${part} cannot be read`;
    const error = await assertRejects(() => tokenAfter(header), DataStreamError, message);
    assertEquals(error.kind, "next-link");
  });
}

const next = (token: string) => `${ROOT}/Locations?$skiptoken=${token}&$top=2`;

Deno.test("locations() percent-encodes names and values, and sends the key as a header", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1")), page([{ Id: 2 }]));
  const filter = "MonitoringLocationType eq 'a+b & c''d'";
  const query = new DataStream(options).locations({ filter, select: ["Id", "DOI"], top: 2 });
  await query.toArray();
  const firstUrl = `${ROOT}/Locations?%24select=Id%2CDOI&%24filter=` +
    "MonitoringLocationType%20eq%20%27a%2Bb%20%26%20c%27%27d%27&%24top=2";
  assertEquals(requests.map(({ url }) => url), [firstUrl, `${firstUrl}&%24skiptoken=Id%3A1`]);
  assertEquals(query.url, firstUrl);
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
  [
    "odata.nextLink",
    () => pageOf(JSON.stringify({ value: wholePage, "odata.nextLink": next("Id:1") })),
  ],
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
    const query = new DataStream({ ...options, retry: {} }).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", 1]);
  });
}

const FILTERED = { select: ["Id", "DOI"], filter: "DOI eq 'a & b' and Name eq 'c d'" } as const;
const changed: [name: string, option: string, query?: object][] = [
  ["a filter, and the request had none", "$filter=DOI%20eq%20%27x%27", {}],
  ["fields, and the request had none", "$select=Id", {}],
  ["another filter", "$filter=DOI%20eq%20%27x%27"],
  [
    "no space where the filter has text",
    "$filter=DOI%20eq%20%27a%20%26%20b%27%20and%20Name%20eq%20%27cd%27",
  ],
  ["another select", "$select=Id"],
  ["the fields in another order", "%24select=DOI,Id"],
];
for (const [name, option, given = FILTERED] of changed) {
  Deno.test(`locations() fails when a next link has ${name}`, async () => {
    const { options } = upstream(page([{ Id: 1 }], `${ROOT}/Locations?${option}&$skiptoken=Id:1`));
    const query = new DataStream(options).locations(given);
    const error = await assertRejects(() => query.toArray(), DataStreamError, "than the request");
    assertEquals(error.kind, "next-link");
  });
}

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

Deno.test("locations() keeps a plus sign in a skip token", async () => {
  const { options, requests } = upstream(page([{ Id: 1 }], next("Id:1+2%2B3")), page([{ Id: 2 }]));
  await new DataStream(options).locations().toArray();
  assertEquals(requests[1]?.url.endsWith("&%24skiptoken=Id%3A1%2B2%2B3"), true);
});
