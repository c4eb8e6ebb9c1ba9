// URI templates expand as in RFC 6570, and broken ones are errors with a position.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { endpoint, ValidationError } from "../../../mod.ts";

const root = "https://example.org";
const at = endpoint.defaults({ baseUrl: root });
const expand = (template: string, values: Record<string, unknown> = {}) =>
  at(template, values).url.slice(root.length);

const texts: [value: unknown, text: string][] = [
  [12345678901234567890n, "12345678901234567890"],
  [true, "true"],
  [false, "false"],
  [0, "0"],
  [-1.5, "-1.5"],
  [new Date(Date.UTC(2026, 1, 3, 4, 5, 6, 7)), "2026-02-03T04%3A05%3A06.007Z"],
  ["", ""],
  ["a/b?c#d", "a%2Fb%3Fc%23d"],
  ["é🌊", "%C3%A9%F0%9F%8C%8A"],
  ["\ud800", "%EF%BF%BD"],
  [[1n, true, "é"], "1,true,%C3%A9"],
  [{ a: 1n, b: false }, "a,1,b,false"],
];
for (const [value, text] of texts) {
  Deno.test(`endpoint() expands a variable to "${text}" when its value is ${Deno.inspect(value)}`, () => {
    assertEquals(expand("/x/{value}", { value }), `/x/${text}`);
    if (typeof value !== "object" || value instanceof Date) {
      const named = value === "" ? "" : `=${text}`;
      assertEquals(expand("/x{;value}", { value }), `/x;value${named}`);
      assertEquals(expand("/x{?value*}", { value }), `/x?value=${text}`);
    }
  });
}

Deno.test("endpoint() writes the replacement character when a name or a value has half a surrogate pair", () => {
  assertEquals(expand("/x", { "a\ud800": "\ud800" }), "/x?a%EF%BF%BD=%EF%BF%BD");
});

for (const value of [undefined, null, [], [null], {}, { a: undefined }]) {
  Deno.test(`endpoint() expands a variable to nothing when its value is ${Deno.inspect(value)}`, () => {
    assertEquals(expand("/x/{value}/y{?value,value*}{/value}", { value }), "/x//y");
    assertEquals(expand("/x{?a,value}", { a: 1, value }), "/x?a=1");
  });
}

for (
  const value of [
    () => 1,
    Symbol("s"),
    [[1]],
    [{ a: 1 }],
    { a: [1] },
    { a: {} },
    new Map(),
    new Date(NaN),
  ]
) {
  Deno.test(`endpoint() throws when the value of a variable is ${Deno.inspect(value)}`, () => {
    assertThrows(() => expand("/x/{thing}", { thing: value }), ValidationError, "thing must be");
    const exploded = () => expand("/x{?a,thing*}", { a: 1, thing: value });
    assertEquals(assertThrows(exploded, ValidationError).option, "thing");
  });
}

const prefixes: [template: string, value: string, expanded: string][] = [
  ["/{value:1}", "🌊 deep", "/%F0%9F%8C%8A"],
  ["/{value:3}", "a🌊b🦆c", "/a%F0%9F%8C%8Ab"],
  ["/x{?value:2}", "🌊🌊🌊", "/x?value=%F0%9F%8C%8A%F0%9F%8C%8A"],
  ["/{+value:2}", "é/è", "/%C3%A9/"],
  ["/{value:9999}", "short", "/short"],
  ["/{value:1}{value:2}{value}", "abc", "/aababc"],
  ["/x{?value:1,value:2}", "abc", "/x?value=a&value=ab"],
  ["/{+value:2}", "a%20b", "/a%20"],
];
for (const [template, value, expanded] of prefixes) {
  Deno.test(`endpoint() counts characters when it expands the prefix ${template} of ${value}`, () => {
    assertEquals(expand(template, { value }), expanded);
  });
}

Deno.test("endpoint() throws when a prefix is applied to a list or an object", () => {
  assertThrows(
    () => expand("/{list:1}", { list: ["a"] }),
    ValidationError,
    'list must be text for the prefix "list:1"',
  );
  assertThrows(() => expand("/{+keys:1}", { keys: { a: "b" } }), ValidationError, '"keys:1"');
});

Deno.test("endpoint() keeps percent-encoded triplets when the expansion is reserved, and encodes other percent signs", () => {
  assertEquals(
    expand("/{+value}", { value: "50%25 of %az & 9%" }),
    "/50%25%20of%20%25az%20&%209%25",
  );
  assertEquals(expand("/{value}", { value: "50%25" }), "/50%2525");
  assertEquals(expand("/a%20b%zz{x}"), "/a%20b%25zz");
});

Deno.test("endpoint() keeps the name of a variable when it has percent-encoded triplets", () => {
  for (const name of ["na%20me", "a%2Cb", "a%3Ab", "%26", "%ff", "%41", "%c3%a9"]) {
    assertEquals(expand(`/x{?b,${name}}`, { b: 2, [name]: 1 }), `/x?b=2&${name}=1`);
    assertEquals(expand(`/x{;${name}*}`, { [name]: ["", 1] }), `/x;${name};${name}=1`);
    assertEquals(expand(`/x{?${name}:1}`, { [name]: "ab" }), `/x?${name}=a`);
  }
  assertEquals(expand("/x{?a%62,ab}", { "a%62": "v", ab: "w" }), "/x?a%62=v&ab=w");
});

Deno.test("endpoint() expands each variable of a list when one is undefined, empty, exploded or a prefix", () => {
  const values = { a: "", b: ["x", ""], c: { k: "v", l: "" }, d: "🌊é/%20" };
  const list = "none,a,b,b*,c,c*,d:2,d";
  const deep = "%F0%9F%8C%8A";
  const whole = `${deep}%C3%A9%2F%2520`;
  const kept = `${deep}%C3%A9/%20`;
  assertEquals(expand(`/x{${list}}`, values), `/x,x,,x,,k,v,l,,k=v,l=,${deep}%C3%A9,${whole}`);
  assertEquals(expand(`/x{+${list}}`, values), `/x,x,,x,,k,v,l,,k=v,l=,${deep}%C3%A9,${kept}`);
  assertEquals(expand(`/x{#${list}}`, values), `/x#,x,,x,,k,v,l,,k=v,l=,${deep}%C3%A9,${kept}`);
  assertEquals(expand(`/x{/${list}}`, values), `/x//x,/x//k,v,l,/k=v/l=/${deep}%C3%A9/${whole}`);
  assertEquals(
    expand(`/x{?${list}}`, values),
    `/x?a=&b=x,&b=x&b=&c=k,v,l,&k=v&l=&d=${deep}%C3%A9&d=${whole}`,
  );
  assertEquals(
    expand(`/x{;${list}}`, values),
    `/x;a;b=x,;b=x;b;c=k,v,l,;k=v;l;d=${deep}%C3%A9;d=${whole}`,
  );
});

Deno.test("endpoint() encodes literal text when a URI cannot contain its characters", () => {
  assertEquals(expand('/a b"<é>|^`\\{x}[1]', { x: 1 }), "/a%20b%22%3C%C3%A9%3E%7C%5E%60%5C1[1]");
});

const malformed: [template: string, position: number][] = [
  ["{/id*", 1],
  ["/id*}", 5],
  ["/a/{/?id}", 4],
  ["{var:prefix}", 1],
  ["{!hello}", 1],
  ["{$var}", 1],
  ["/{}", 2],
  ["/{a:10000}", 2],
  ["/{a%2}", 2],
  ["/{{a}}", 2],
];
for (const [template, position] of malformed) {
  Deno.test(`endpoint() throws an error with the position ${position} when the template is ${template}`, () => {
    const error = assertThrows(
      () => at(template, { id: 1 }),
      ValidationError,
      `at character ${position}`,
    );
    assertEquals([error.option, error.received], ["url", template]);
    assertStringIncludes(error.message, `"${template.slice(position - 1, position)}`);
  });
}

for (const expression of ["{?$top}", "{?$filter,count,$top*}", "{$a,$b:3,$c}"]) {
  Deno.test(`endpoint() throws a hint for the dollar sign when a template has ${expression}`, () => {
    const error = assertThrows(() => at(`/x${expression}`), ValidationError, "at character 3");
    assertStringIncludes(error.message, `"${expression}"`);
    assertEquals(error.hint, 'write "%24" for "$", also in the name of the option');
    assertEquals(error.message.endsWith(error.hint), true);
  });
}

Deno.test("endpoint() expands a variable when its name and the option have %24 for the dollar sign", () => {
  assertEquals(expand("/x{?%24top}", { "%24top": 5 }), "/x?%24top=5");
  assertEquals(expand("/x", { $top: 5 }), "/x?%24top=5");
});

const colons: [template: string, given: Record<string, unknown>, expanded: string][] = [
  ["/a/:id", { id: 7 }, "/a/7"],
  ["/a/:id/b/:other", { id: 7, other: "x" }, "/a/7/b/x"],
  ["/compare/:base...:head", { base: "v1", head: "v2" }, "/compare/v1...v2"],
  ["/a/(:id)", { id: 7 }, "/a/(7)"],
  ["/Id:abcd", {}, "/Id:abcd"],
  ["/books:archive", {}, "/books:archive"],
  ["/{id}:archive", { id: 7 }, "/7:archive"],
  ["/15:30:00", {}, "/15:30:00"],
  ["/a?b=:id", {}, "/a?b=:id"],
  ["/a#:id", {}, "/a#:id"],
  ["/a{?id}:other", { id: 7 }, "/a?id=7:other"],
  ["/a{?id}/:other", { id: 7 }, "/a?id=7/:other"],
  ["/a?b{&id}/:other", { id: 7 }, "/a?b&id=7/:other"],
  ["/a{#id}/:other", { id: 7 }, "/a#7/:other"],
  ["/:9id", {}, "/:9id"],
  ["/a/:", {}, "/a/:"],
  ["/a/:missing/x", {}, "/a//x"],
];
for (const [template, given, expanded] of colons) {
  Deno.test(`endpoint() returns ${expanded} when the template is ${template}`, () => {
    assertEquals(expand(template, given), expanded);
  });
}

Deno.test("endpoint() does not expand :name when it is part of a host, a port or a password", () => {
  assertEquals(at("https://host:8080/a/:id", { id: 7 }).url, "https://host:8080/a/7");
  assertEquals(at("https://user:pw@host/a/:id", { id: 7 }).url, "https://user:pw@host/a/7");
  assertEquals(at("http://[::ffff:1]/:id", { id: 7 }).url, "http://[::ffff:1]/7");
});

Deno.test("endpoint() sends a parameter once when the template has a placeholder for it", () => {
  const given = { path: "a b", a: [1, 2], b: "c", list: ["x", "y"], rest: 1 };
  assertEquals(expand("/{path:10}{/list*}{?a*,b}", given), "/a%20b/x/y?a=1&a=2&b=c&rest=1");
});

Deno.test("endpoint() expands a variable to nothing when only Object.prototype has its name", () => {
  assertEquals(expand("/x{?constructor,toString,__proto__}"), "/x");
  const own = JSON.parse('{"__proto__": "a", "constructor": "b"}');
  assertEquals(expand("/x{?constructor,__proto__}", own), "/x?constructor=b&__proto__=a");
});

for (const url of ["/{url}", "/x/:data", "/x{?headers*}", "/{+request}", "/{mediaType:3}"]) {
  Deno.test(`endpoint() throws when the placeholder of ${url} has the name of an option`, () => {
    const name = /\w{2,}/.exec(url)![0];
    const message = `url must be without a placeholder named ${name}`;
    assertThrows(() => at(url, { data: "a" }), ValidationError, message);
  });
}
