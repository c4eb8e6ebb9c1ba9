// URI templates expand as in RFC 6570, and broken ones are errors with a position. `tests/properties` has the vectors of
// the RFC's authors, and compares with url-template.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { endpoint, ValidationError } from "../../../mod.ts";

const root = "https://example.org";
const withRoot = endpoint.defaults({ baseUrl: root });
// Without the types of placeholders, as from plain JavaScript.
const at = (template: string, values: Record<string, unknown> = {}) => withRoot(template, values);

const texts: [value: unknown, text: string][] = [
  [12345678901234567890n, "12345678901234567890"],
  [false, "false"],
  [new Date(Date.UTC(2026, 1, 3, 4, 5, 6, 7)), "2026-02-03T04%3A05%3A06.007Z"],
  ["", ""],
  ["\ud800", "%EF%BF%BD"],
  [{ a: 1n, b: false }, "a,1,b,false"],
];
for (const [value, text] of texts) {
  Deno.test(`endpoint() expands a variable to "${text}" when its value is ${Deno.inspect(value)}`, () => {
    assertEquals(at("/x/{value}", { value }).url, `${root}/x/${text}`);
  });
}

for (const value of [undefined, null, [], [null], {}, { a: undefined }]) {
  Deno.test(`endpoint() expands a variable to nothing when its value is ${Deno.inspect(value)}`, () => {
    const template = "/x/{value}/y{?a,value,value*}{/value}";
    assertEquals(at(template, { a: 1, value }).url, `${root}/x//y?a=1`);
  });
}

for (const value of [() => 1, Symbol("s"), [[1]], { a: [1] }, new Map(), new Date(NaN)]) {
  Deno.test(`endpoint() throws when the value of a variable is ${Deno.inspect(value)}`, () => {
    for (const template of ["/x/{thing}", "/x{?a,thing*}", "/x"]) {
      const expand = () => at(template, { a: 1, thing: value });
      assertEquals(assertThrows(expand, ValidationError, "thing must be").option, "thing");
    }
  });
}

const own = JSON.parse('{"__proto__": "a", "constructor": "b"}');
const expansions: [template: string, values: Record<string, unknown>, expanded: string][] = [
  // A prefix counts characters.
  ["/{value:3}", { value: "a🌊b🦆c" }, "/a%F0%9F%8C%8Ab"],
  ["/{+value:2}", { value: "a%20b" }, "/a%20"],
  // Percent-encoded triplets stay in reserved expansion, literals and names.
  ["/{+value}", { value: "50%25 of %az & 9%" }, "/50%25%20of%20%25az%20&%209%25"],
  ["/a%20b%zz{x}", {}, "/a%20b%25zz"],
  ["/x{?%26:1}", { "%26": "ab" }, "/x?%26=a"],
  ["/x{;%c3%a9*}", { "%c3%a9": ["", 1] }, "/x;%c3%a9;%c3%a9=1"],
  ["/x{?a%62,ab}", { "a%62": "v", ab: "w" }, "/x?a%62=v&ab=w"],
  ["/x{?%24top}", { "%24top": 5 }, "/x?%24top=5"],
  // Other characters of literals are encoded.
  ['/a b"<é>|^`\\{x}[1]', { x: 1 }, "/a%20b%22%3C%C3%A9%3E%7C%5E%60%5C1[1]"],
  ["/x{?constructor,__proto__}", own, "/x?constructor=b&__proto__=a"],
  // A colon begins a variable at the start of a word of the path only.
  ["/a/:id/b/:other", { id: 7, other: "x" }, "/a/7/b/x"],
  ["/compare/:base...:head", { base: "v1", head: "v2" }, "/compare/v1...v2"],
  ["/Id:abcd", {}, "/Id:abcd"],
  ["/{id}:archive", { id: 7 }, "/7:archive"],
  ["/15:30:00", {}, "/15:30:00"],
  ["/a?b=:id", {}, "/a?b=:id"],
  ["/a#:id", {}, "/a#:id"],
  ["/a{?id}/:other", { id: 7 }, "/a?id=7/:other"],
  ["/a?b{&id}/:other", { id: 7 }, "/a?b&id=7/:other"],
  ["/a/:", {}, "/a/:"],
  ["/:9id", {}, "/:9id"],
  ["/a/:missing/x", {}, "/a//x"],
];
for (const [template, values, expanded] of expansions) {
  Deno.test(`endpoint() returns ${expanded} when the template is ${template}`, () => {
    assertEquals(at(template, values).url, root + expanded);
  });
}

Deno.test("endpoint() does not expand :name when it is part of a host, a port or a password", () => {
  for (const host of ["https://host:8080", "https://user:pw@host", "http://[::ffff:1]"]) {
    assertEquals(at(`${host}/a/:id`, { id: 7 }).url, `${host}/a/7`);
  }
});

const malformed: [template: string, position: number][] = [
  ["/id*}", 5],
  ["/a/{/?id}", 4],
  ["{var:prefix}", 1],
  ["{!hello}", 1],
  ["/{}", 2],
  ["/{a%2}", 2],
  ["/{{a}}", 2],
];
for (const [template, position] of malformed) {
  Deno.test(`endpoint() throws an error with the position ${position} when the template is ${template}`, () => {
    const place = `at character ${position}`;
    const error = assertThrows(() => at(template, { id: 1 }), ValidationError, place);
    assertEquals([error.option, error.received], ["url", template]);
    assertStringIncludes(error.message, `"${template.slice(position - 1, position)}`);
  });
}

Deno.test("endpoint() throws a hint for the dollar sign when a name in a template has it", () => {
  const expression = "{?$filter,count,$top*}";
  const error = assertThrows(() => at(`/x${expression}`), ValidationError, "at character 3");
  assertStringIncludes(error.message, `"${expression}"`);
  assertEquals(error.hint, 'write "%24" for "$", also in the name of the option');
});

for (const url of ["/{url}", "/x/:data", "/{mediaType:3}"]) {
  Deno.test(`endpoint() throws when the placeholder of ${url} has the name of an option`, () => {
    const message = `url must be without a placeholder named ${/\w{2,}/.exec(url)![0]}`;
    assertThrows(() => at(url, { data: "a" }), ValidationError, message);
  });
}
