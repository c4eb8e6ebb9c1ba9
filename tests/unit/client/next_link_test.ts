// A link to the next page is followed in each form. It is rejected if it leads to another query or resource or, unless
// its token is an Id, to another address.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DataStream, DataStreamError, type Progress } from "../../../mod.ts";
import { page, pageOf, ROOT, upstream } from "../../helpers/upstream.ts";

/** Requests pages until there is no link, and returns the skip token of the second request. */
async function tokenAfter(first: Response, query: object = {}): Promise<string | null | undefined> {
  const { options, requests } = upstream(first, page([{ Id: 2 }]));
  await new DataStream(options).locations(query).toArray();
  return requests[1] && new URL(requests[1].url).searchParams.get("$skiptoken");
}

const pageWithHeader = (link: string) => page([{ Id: 1 }], undefined, { link });

const headers: [header: string, token: string | undefined][] = [
  ["", undefined],
  ["<?$skiptoken=u>;rel=NEXT", "u"],
  ['<?$skiptoken=u>; rel = "next"', "u"],
  ['<?$skiptoken=u>; rel="prev next"', "u"],
  ['<?$skiptoken=u>; title="a<b, c"; rel="next"', "u"],
  ['<?$skiptoken=a>; title=",", <?$skiptoken=b>; title=""; rel="next"', "b"],
  ['<?$skiptoken=u>; title="a \\"quoted\\" word"; rel="next"', "u"],
  ["<?$skiptoken=u>; title*=UTF-8''n%c3%a9; flag; rel=next", "u"],
  ['<?$skiptoken=a>; rel="prev", <?$skiptoken=b>; rel="next", <?$skiptoken=c>; rel="next"', "b"],
  ["<?$skiptoken=a,b>; rel=next", "a,b"],
  ['<?$skiptoken=u>; rel="ne\\xt"', "u"],
  ["<?$skiptoken=u>", undefined],
  ["<?$skiptoken=u>; rel=nextish", undefined],
  ['<?$skiptoken=u>; title="; rel=next"; rel="prev"', undefined],
  ["<?$skiptoken=u>; rel=prev; rel=next", undefined],
  ["<?$skiptoken=u>; rev=next", undefined],
];
for (const [header, token] of headers) {
  Deno.test(`locations() continues after ${token} when the header Link is ${header}`, async () =>
    assertEquals(await tokenAfter(pageWithHeader(header)), token));
}

/** The query has the filter and the fields that links repeat. */
const QUERY = { select: ["Id", "DOI"], filter: "DOI eq 'a & b%' and Name eq 'c+d'" };
const FILTER = "DOI%20eq%20%27a%20%26%20b%25%27%20and%20Name%20eq%20%27c%2Bd%27";

const links: [name: string, link: string, token?: string, query?: object][] = [
  ["encoded", `${ROOT}/Locations?%24skiptoken=Id%3A1`],
  ["relative", "/v1/odata/v4/Locations?$skiptoken=Id:1"],
  ["followed by a fragment", `${ROOT}/Locations?$skiptoken=Id:1#x`],
  ["followed by another option", `${ROOT}/Locations?$skiptoken=Id:1&api.version=1`],
  ["one with a plus sign", `${ROOT}/Locations?$skiptoken=Id:1+2%2B3`, "Id:1+2+3"],
  ["one with the query, encoded", `?%24select=Id%2CDOI&%24filter=${FILTER}&$skiptoken=Id:1`],
  ["one with the query, raw", `?$select=Id,DOI&$filter=${QUERY.filter}&$skiptoken=Id:1`],
  [
    "one with the query, as a form",
    `?$select=Id%2C+DOI&$filter=${FILTER.replaceAll("%20", "+")}&$skiptoken=Id:1&other=1`,
  ],
  [
    "one with the query, spaced otherwise",
    "?$filter=DOI  eq 'a & b%'  and Name eq 'c+d'&$top=7&$skiptoken=Id:1",
  ],
  [
    "one with a raw filter that looks like another option",
    "?$filter=DOI eq 'a&b=c'&$skiptoken=Id:1",
    "Id:1",
    { filter: "DOI eq 'a&b=c'" },
  ],
];
for (const [name, link, token = "Id:1", query = QUERY] of links) {
  Deno.test(`locations() continues when the next link is ${name}`, async () =>
    assertEquals(await tokenAfter(page([{ Id: 1 }], link), query), token));
}

Deno.test("locations() continues when the next link is the member odata.nextLink", async () => {
  const first = pageOf(`{"value":[{"Id":1}],"odata.nextLink":"${ROOT}/Locations?$skiptoken=Id:1"}`);
  assertEquals(await tokenAfter(first), "Id:1");
});

for (
  const address of [
    "http://upstream.invalid/v1/odata/v4/Locations",
    "https://internal.invalid:8443/odata/v4/Locations",
    `${ROOT}/locations`,
  ]
) {
  Deno.test(`locations() continues and reports ${address} when a next link has this address`, async () => {
    const { options, requests } = upstream(
      page([{ Id: 1 }], `${address}?$skiptoken=Id:1`),
      page([]),
    );
    const found = new Set<string | undefined>();
    const onProgress = ({ otherAddress }: Progress) => found.add(otherAddress);
    await new DataStream(options).locations({ onProgress }).toArray();
    assertEquals([...found], [address]);
    const [first, second] = requests.map(({ url }) => url.split("?")[0]);
    assertEquals(first, second);
  });
}

const pageWithLink = (link: string) => page([{ Id: 1 }], link);
const UNREADABLE = "cannot be read: a link at character";
const rejected: [name: string, first: Response, problem: string, query?: object][] = [
  ["a header without <", pageWithHeader("u; rel=next"), `${UNREADABLE} 1 cannot`],
  ["a header with a bad end", pageWithHeader("<a>; rel=prev,u"), `${UNREADABLE} 15 cannot`],
  ["a header without >", pageWithHeader("<?$skiptoken=u; rel=next"), `${UNREADABLE} 1 cannot`],
  ["an unclosed text", pageWithHeader('<u>; title="x; rel=next'), `${UNREADABLE} 1 cannot`],
  [
    "another origin",
    pageWithLink("https://evil.invalid/v1/odata/v4/Locations?$skiptoken=u"),
    "address",
  ],
  [
    "another port",
    pageWithLink("https://upstream.invalid:8443/v1/odata/v4/Locations?$skiptoken=u"),
    "address",
  ],
  ["another path", pageWithLink(`${ROOT}/Observations?$skiptoken=Id:1`), "address"],
  ["no token", pageWithLink("?$top=2"), "has no $skiptoken"],
  ["no URL", pageWithLink("https://"), "is not a URL"],
  ["a token that cannot be decoded", pageWithLink("?$skiptoken=Id:%zz"), "wrongly encoded"],
  [
    "a filter, and the request had none",
    pageWithLink("?$filter=DOI%20eq%20%27x%27"),
    "$filter",
    {},
  ],
  ["fields, and the request had none", pageWithLink("?$select=Id"), "$select", {}],
  ["another filter", pageWithLink("?$filter=DOI%20eq%20%27x%27"), "$filter"],
  [
    "no space where the filter has text",
    pageWithLink("?$filter=DOI eq 'a&b%' and Name eq 'c+d'"),
    "$filter",
  ],
  ["the fields in another order", pageWithLink("?%24select=DOI,Id"), "$select"],
];
for (const [name, first, problem, query = QUERY] of rejected) {
  Deno.test(`locations() fails and sends no request when a next link has ${name}`, async () => {
    const { options, requests } = upstream(first);
    const rows = new DataStream({ ...options, retry: {} }).locations(query).toArray();
    const error = await assertRejects(() => rows, DataStreamError, "The link to the next page");
    assertStringIncludes(error.detail, problem);
    assertEquals([error.kind, requests.length], ["next-link", 1]);
  });
}
