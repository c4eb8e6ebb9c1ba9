// Links to the next page in the header `Link`.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { page, upstream } from "../../helpers/upstream.ts";

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
  ["<?$skiptoken=u> rel=next", 'the parameters "rel=next"'],
];
for (const [header, part] of unreadable) {
  Deno.test(`locations() throws when the header Link is ${header}`, async () => {
    const message = `The link to the next page cannot be read: ${part} cannot be read`;
    const error = await assertRejects(() => tokenAfter(header), DataStreamError, message);
    assertEquals(error.kind, "next-link");
  });
}
