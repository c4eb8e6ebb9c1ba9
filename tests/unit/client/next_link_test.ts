import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { nextLinkTarget } from "../../../src/client/next_link.ts";

const found: [header: string | null, target: string | undefined][] = [
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
for (const [header, target] of found) {
  Deno.test(`nextLinkTarget() returns ${target} when the header is ${header}`, () =>
    assertEquals(nextLinkTarget(header), target));
}

for (const header of ["u; rel=next", "<u; rel=next", '<u>; title="x; rel=next', "<u> rel=next"]) {
  Deno.test(`nextLinkTarget() throws when the header is ${header}`, () => {
    assertThrows(() => nextLinkTarget(header), SyntaxError, "cannot be read");
  });
}
