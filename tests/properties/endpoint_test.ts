// endpoint() encodes any text reversibly, and agrees with url-template. Some tests expand templates directly:
// `endpoint()` joins the result with the base URL.
import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { parseTemplate as parseUriTemplate } from "url-template";
import { endpoint, toRequest, type UrlVariable } from "../../src/endpoint/mod.ts";
import { toUrlValue } from "../../src/endpoint/encode.ts";
import { expandTemplate, parseTemplate } from "../../src/endpoint/uri_template.ts";

const runs = { numRuns: 5_000, seed: 1 };
const base = "https://example.org/root";
const text = fc.string({ unit: "grapheme" });

function expandWith(template: string, values: Record<string, unknown>): string {
  return expandTemplate(
    parseTemplate(template),
    new Map(Object.keys(values).map((name) => [name, toUrlValue(name, values[name])])),
  );
}

Deno.test("endpoint() returns a query that URLSearchParams decodes when names and values are any text", () => {
  const reserved = ["method", "url", "baseUrl", "headers", "mediaType", "data", "request"];
  const name = text.filter((name) =>
    name !== "" && name !== "__proto__" && !reserved.includes(name)
  );
  fc.assert(
    fc.property(fc.dictionary(name, text), (parameters) => {
      const { url } = endpoint("/x", { ...parameters, baseUrl: base });
      // No character that a gateway rejects or that fetch would change.
      assertMatch(url, /^https:\/\/example\.org\/root\/x(\?[\w.~%=&-]*)?$/);
      assertEquals(toRequest(endpoint(url)).url, url);
      assertEquals([...new URL(url).searchParams].sort(), Object.entries(parameters).sort());
    }),
    runs,
  );
});

Deno.test("endpoint() expands a value to one path segment when it is any text except . and ..", () => {
  fc.assert(
    fc.property(text.filter((value) => !/^\.{0,2}$/.test(value)), (id) => {
      const { url } = endpoint("/x/{id}/y", { id, baseUrl: base });
      const { origin, pathname } = new URL(url);
      assertEquals(origin, "https://example.org");
      const [, root, x, value, y, ...rest] = pathname.split("/");
      assertEquals([root, x, decodeURIComponent(value!), y, rest], ["root", "x", id, "y", []]);
    }),
    runs,
  );
});

Deno.test("expandTemplate() returns the same as url-template when the expressions are simple", () => {
  const part = fc.oneof(
    fc.stringMatching(/^[\w/?=&-]{0,5}$/).filter((text) => !text.includes(":")),
    fc.constantFrom("{a}", "{b}", "{c_1}"),
  );
  const value = fc.option(
    fc.oneof(text, fc.integer(), fc.double(), fc.array(text), fc.dictionary(text, text)),
    { nil: null },
  );
  fc.assert(
    fc.property(
      fc.array(part),
      fc.record({ a: value, b: value, c_1: value }),
      (parts, values: Record<string, UrlVariable | null>) => {
        const template = parts.join("");
        const texts = Object.fromEntries(
          Object.entries(values).map((
            [name, held],
          ) => [name, typeof held === "number" ? `${held}` : held]),
        ) as Parameters<ReturnType<typeof parseUriTemplate>["expand"]>[0];
        assertEquals(expandWith(template, values), parseUriTemplate(template).expand(texts));
      },
    ),
    runs,
  );
});

Deno.test("expandTemplate() returns the same as url-template when a whole expression has no percent sign", () => {
  const plain = text.map((value) => value.replaceAll("%", ""));
  const value = fc.oneof(
    plain,
    fc.array(plain, { minLength: 1 }),
    fc.dictionary(plain.filter((key) => key !== "__proto__"), plain, { minKeys: 1 }),
  );
  const variables = fc.uniqueArray(fc.constantFrom("a", "b", "c", "a*", "b*", "c*", "none"), {
    minLength: 1,
  });
  fc.assert(
    fc.property(
      fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"),
      variables,
      fc.record({ a: value, b: value, c: value }),
      (operator, list, values: Record<string, string | string[] | Record<string, string>>) => {
        const template = `{${operator}${list}}`;
        const whole = parseUriTemplate(template).expand(values);
        assertEquals(
          expandWith(template, values),
          // `url-template` keeps the equals sign of an empty value after ";" (RFC 6570, section 3.2.7).
          operator === ";" ? whole.replace(/=(?=;|$)/g, "") : whole,
        );
      },
    ),
    runs,
  );
});

Deno.test("endpoint() returns the same when options are undefined or missing at any level", () => {
  const names = ["method", "url", "baseUrl", "headers", "mediaType", "data", "request", "a", "b"];
  const options = fc.record({
    method: fc.constantFrom("get", "POST"),
    url: fc.constantFrom("/x/{a}", "/x{?a,b*}"),
    baseUrl: fc.constant(base),
    headers: fc.dictionary(fc.constantFrom("Accept", "x-a"), fc.constantFrom("1", "2")),
    mediaType: fc.record({ format: fc.constantFrom("raw", undefined) }),
    data: text,
    request: fc.constant({}),
    a: text,
    b: fc.array(text),
  }, { requiredKeys: [] });
  const absent = fc.uniqueArray(fc.constantFrom(...names));
  fc.assert(
    fc.property(options, options, absent, (defaults, given, undefinedNames) => {
      const fill = (held: object) => ({
        ...held,
        ...Object.fromEntries(
          undefinedNames.filter((name) => !(name in held)).map((name) => [name, undefined]),
        ),
      });
      const root = endpoint.defaults({ url: "/y" });
      const build = root.defaults(defaults);
      const sparse = root.defaults(fill(defaults)).defaults(fill({}));
      assertEquals(sparse.DEFAULTS, build.DEFAULTS);
      assertEquals(sparse.merge(fill(given)), build.merge(given));
      assertEquals(sparse(fill(given)), build(given));
    }),
    runs,
  );
});

Deno.test("endpoint() returns the same as parse() of merge() when the options are any, and does not change them", () => {
  const parameter = fc.dictionary(
    text,
    fc.oneof(text, fc.integer(), fc.array(text), fc.constant(null)),
  );
  const options = fc.record({
    method: fc.constantFrom("get", "HEAD", "Post", "PUT", "patch", "DELETE", "QUERY"),
    url: fc.constantFrom("/x/{a}", "/x{?a,b*}", "https://example.org/:a", "/x?y=1#z"),
    headers: fc.dictionary(fc.constantFrom("Accept", "x-a", "X-B"), fc.constantFrom("1", "2")),
    more: parameter,
  });
  fc.assert(
    fc.property(options, ({ more, ...rest }) => {
      const given = { ...more, ...rest };
      const before = structuredClone(given);
      const whole = endpoint(given);
      assertEquals(endpoint.parse(endpoint.merge(given)), whole);
      assertEquals(given, before);
    }),
    runs,
  );
});
