// A link to the next page is followed in each form, and rejected if it leads to another query or host.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { page, pageOf, ROOT, upstream } from "../../helpers/upstream.ts";

/** Requests pages until there is no link, and returns the skip token of the second request. */
async function tokenAfter(first: Response, query: object = {}): Promise<string | null | undefined> {
  const { options, requests } = upstream(first, page([{ Id: 2 }]));
  await new DataStream(options).locations(query).toArray();
  return requests[1] && new URL(requests[1].url).searchParams.get("$skiptoken");
}

const pageWithHeader = (link: string) => page([{ Id: 1 }], undefined, { link });
const pageWithLink = (link: string) => page([{ Id: 1 }], link);

const headers: [header: string, token: string | undefined][] = [
  ["", undefined],
  ['<?$skiptoken=u>; rel="next"', "u"],
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

const unreadable: [header: string, character: number][] = [
  ["u; rel=next", 1],
  ["<a>; rel=prev,u", 15],
  ["<?$skiptoken=u; rel=next", 1],
  ['<?$skiptoken=u>; title="x; rel=next', 1],
];
for (const [header, character] of unreadable) {
  Deno.test(`locations() throws when the header Link is ${header}`, async () => {
    const error = await assertRejects(
      () => tokenAfter(pageWithHeader(header)),
      DataStreamError,
      `The link to the next page cannot be read: a link at character ${character} cannot be read`,
    );
    assertEquals(error.kind, "next-link");
  });
}

const links: [name: string, first: Response, token?: string][] = [
  ["raw", pageWithLink(`${ROOT}/Locations?$skiptoken=Id:1`)],
  ["encoded", pageWithLink(`${ROOT}/Locations?%24skiptoken=Id%3A1`)],
  ["relative", pageWithLink("/v1/odata/v4/Locations?$skiptoken=Id:1")],
  ["followed by another option", pageWithLink(`${ROOT}/Locations?$skiptoken=Id:1&api.version=1`)],
  ["one with a plus sign", pageWithLink(`${ROOT}/Locations?$skiptoken=Id:1+2%2B3`), "Id:1+2+3"],
  [
    "the member odata.nextLink",
    pageOf(`{"value":[{"Id":1}],"odata.nextLink":"${ROOT}/Locations?$skiptoken=Id:1"}`),
  ],
];
for (const [name, first, token = "Id:1"] of links) {
  Deno.test(`locations() continues when the next link is ${name}`, async () =>
    assertEquals(await tokenAfter(first), token));
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
    const { options, requests } = upstream(pageWithLink(link));
    const query = new DataStream({ ...options, retry: {} }).locations();
    const error = await assertRejects(() => query.toArray(), DataStreamError, "next page");
    assertEquals([error.kind, requests.length], ["next-link", 1]);
  });
}

const QUERY = { select: ["Id", "DOI"], filter: "DOI eq 'a & b%' and Name eq 'c+d'" };

const changed: [name: string, options: string, query?: object][] = [
  ["a filter, and the request had none", "$filter=DOI%20eq%20%27x%27", {}],
  ["fields, and the request had none", "$select=Id", {}],
  ["another filter", "$filter=DOI%20eq%20%27x%27"],
  ["no space where the filter has text", "$filter=DOI eq 'a&b%' and Name eq 'c+d'"],
  ["the fields in another order", "%24select=DOI,Id"],
];
for (const [name, options, query = QUERY] of changed) {
  Deno.test(`locations() fails when a next link has ${name}`, async () => {
    const first = pageWithLink(`${ROOT}/Locations?${options}&$skiptoken=Id:1`);
    const token = tokenAfter(first, query);
    const error = await assertRejects(() => token, DataStreamError, "than the request");
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
for (const [name, options] of repeated) {
  Deno.test(`locations() continues when a next link has the fields and filter of the request, ${name}`, async () => {
    const first = pageWithLink(`${ROOT}/Locations?${options}&$skiptoken=Id:1&other=1`);
    assertEquals(await tokenAfter(first, QUERY), "Id:1");
  });
}

Deno.test("locations() continues when the filter of a raw next link looks like another option", async () => {
  const filter = "DOI eq 'a&b=c'";
  const first = pageWithLink(`${ROOT}/Locations?$filter=${filter}&$skiptoken=Id:1`);
  assertEquals(await tokenAfter(first, { filter }), "Id:1");
});
