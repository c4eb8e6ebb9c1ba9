// Links to the next page in the header `Link`.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

/** Requests pages until there is no link; returns the skip token of the second request. */
async function tokenAfter(header: string | null): Promise<string | null | undefined> {
  const link = header?.replace(/<(?=[^;>]*>)/g, `<${ROOT}/Locations?$skiptoken=`)
    .replace(/^<(?!h)/, `<${ROOT}/Locations?$skiptoken=`);
  const { options, requests } = upstream(
    page([{ Id: 1 }], undefined, link ? { link } : {}),
    page([{ Id: 2 }]),
  );
  await new DataStream(options).locations().toArray();
  return requests[1] && new URL(requests[1].url).searchParams.get("$skiptoken");
}

const found: [header: string | null, token: string | undefined][] = [
  [null, undefined],
  ["", undefined],
  ['<u>; rel="next"', "u"],
  ["<u>; rel=next", "u"],
  ["<u>;rel=NEXT", "u"],
  ['<u>; rel = "next"', "u"],
  ['<u>; rel="prev next"', "u"],
  ['<u>; title="a<b, c"; rel="next"', "u"],
  ['<u>; title=""; rel="next"', "u"],
  ['<a>; title=",", <b>; title=""; rel="next"', "b"],
  ['<u>; title="a \\"quoted\\" word"; rel="next"', "u"],
  ["<u>; title*=UTF-8''n%c3%a9; rel=next", "u"],
  ["<u>; flag; rel=next", "u"],
  ['<a>; rel="prev", <b>; rel="next", <c>; rel="next"', "b"],
  ["<a,b>; rel=next", "a,b"],
  ["<u>", undefined],
  ["<u>; rel=nextish", undefined],
  ['<u>; title="; rel=next"; rel="prev"', undefined],
  ["<u>; rel=prev; rel=next", undefined],
  ["<u>; rev=next", undefined],
];
for (const [header, token] of found) {
  Deno.test(`locations() continues after ${token} when the header Link is ${header}`, async () =>
    assertEquals(await tokenAfter(header), token));
}

for (const header of ["u; rel=next", "<u; rel=next", '<u>; title="x; rel=next', "<u> rel=next"]) {
  Deno.test(`locations() throws when the header Link is ${header}`, async () => {
    const error = await assertRejects(() => tokenAfter(header), DataStreamError, "cannot be read");
    assertEquals(error.kind, "next-link");
  });
}
