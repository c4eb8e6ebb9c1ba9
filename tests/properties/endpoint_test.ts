// endpoint() encodes any text reversibly, keeps hosts, agrees with merge() and parse(), and with `@octokit/endpoint` except
// for the documented differences.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endpoint as octokit } from "@octokit/endpoint";
import fc from "fast-check";
import { endpoint, toRequest, ValidationError } from "../../src/endpoint/mod.ts";
import type { EndpointOptions, RequestOptions } from "../../src/endpoint/mod.ts";

const runs = { numRuns: 1_000, seed: 1 };
const base = "https://example.org/root";
const text = fc.string({ unit: "grapheme" });

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

Deno.test("endpoint() throws, or keeps the literal host of its template, when the values are any text", () => {
  const hostile = fc.string({
    unit: fc.constantFrom(..."/?#@\\:.[]%2fe;&=, \t\u2215\uff0f\u2100\u3002a"),
    maxLength: 8,
  });
  const expression = fc.tuple(
    fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"),
    fc.constantFrom("a", "b", "c", "c*", "a:2", "a,b", "none"),
  ).map(([operator, variables]) => `{${operator}${variables}}`);
  const host = fc.oneof(
    fc.constantFrom("host.org", "u:p@host.org"),
    fc.tuple(expression, fc.constantFrom("", "u@", "{a}@", "{+a}:{b}@")).map(([label, user]) =>
      `${user}${label.replace(/[/?#]/, "+")}.host.org`
    ),
  );
  const rest = fc.oneof(expression, fc.constantFrom("", ":80", ":{+a}", "/", "/x?{+a}"));
  let checked = 0;
  fc.assert(
    fc.property(
      host,
      fc.array(rest, { maxLength: 3 }),
      fc.record({ a: hostile, b: fc.option(hostile), c: fc.array(hostile) }),
      (host, rest, values) => {
        let url;
        try {
          ({ url } = endpoint(
            `https://${host}${rest.join("")}`,
            values as Record<string, unknown>,
          ));
        } catch (error) {
          if (error instanceof ValidationError) return;
          throw error;
        }
        if (!URL.canParse(url)) return;
        checked++;
        assertMatch(new URL(url).hostname, /^(.*\.)?host\.org$/);
      },
    ),
    { numRuns: 20_000, seed: 1 },
  );
  assert(checked > 2_000, `${checked} URLs`);
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

Deno.test("endpoint() returns the same as @octokit/endpoint when no documented difference applies", () => {
  const value = fc.oneof(
    text.filter((text) => !/[!'()*]/.test(text) && !/^\.{0,2}$/.test(text)),
    fc.integer(),
    fc.boolean(),
    fc.bigInt(),
  );
  const list = fc.array(value, { minLength: 1 });
  const expression = fc.constantFrom(
    "{aa}",
    ":aa",
    "{+bb}",
    "{list}",
    "{.aa}",
    "{/aa}",
    "{;aa}",
    "{map*}",
  );
  const end = fc.constantFrom("", "{?aa}", "{?aa,list}", "{#bb}", "?y=1", "?y=1{&aa}");
  const path = fc.tuple(fc.array(expression, { maxLength: 3 }), end)
    .map(([parts, end]) => `${parts.map((part) => `/x/${part}`).join("")}/x-y${end}`);
  const accept = fc.constantFrom(
    "application/vnd.a.v3+json",
    "application/vnd.a.diff,application/vnd.b+json",
    "text/csv",
  );
  const json = fc.jsonValue();
  const options = fc.record({
    method: fc.constantFrom("get", "HEAD", "Post", "PATCH", "DELETE", "OPTIONS"),
    url: fc.tuple(fc.constantFrom("", "https://b.org:80", "http://b.org"), path)
      .map(([host, path]) => host + path),
    headers: fc.dictionary(
      fc.constantFrom("X-A", "x-b", "Content-Type"),
      fc.constantFrom("1", "2"),
    ),
    accept,
    format: fc.constantFrom("", "raw", "text+json"),
    variables: fc.record({
      aa: value,
      bb: fc.constantFrom("https://c.org/x?y=z", "é/x", "a b"),
      list,
      map: fc.record({ k: value }),
    }),
    parameters: fc.dictionary(fc.constantFrom("a", "b-c", "d_1", "page"), value),
    fields: fc.dictionary(fc.constantFrom("e", "f"), json, { minKeys: 1 }),
    isRoute: fc.boolean(),
  });
  fc.assert(
    fc.property(options, ({ method, url, accept, format, variables, parameters, ...rest }) => {
      const isQuery = /get|head/i.test(method);
      const given: EndpointOptions = {
        ...variables,
        ...isQuery && !url.includes("#") ? parameters : {},
        ...isQuery ? {} : { ...parameters, ...rest.fields },
        headers: { ...rest.headers, accept },
        mediaType: { format },
        baseUrl: base,
      };
      // Parameters that no placeholder takes would be lists and objects in the query.
      for (const name of ["aa", "bb", "list", "map"]) if (!url.includes(name)) delete given[name];
      const args = rest.isRoute ? [`${method} ${url}`, given] : [{ method, url, ...given }];
      const [{ body, ...theirs }, ours] = [octokit, endpoint].map((build) =>
        (build as (...args: unknown[]) => RequestOptions)(...structuredClone(args))
      ) as [RequestOptions, RequestOptions];
      const headers = { ...theirs.headers, "user-agent": ours.headers["user-agent"] };
      const expected = { ...theirs, method: theirs.method.toLowerCase(), headers };
      assertEquals(ours, body === undefined ? expected : { ...expected, body: { ...body } });
    }),
    { numRuns: 2_000, seed: 1 },
  );
});
