import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { endpoint, PRODUCTION_URL, QA_URL } from "../../mod.ts";
import { VERSION } from "../../src/version.ts";

const headers = {
  accept: "application/vnd.datastream.v3+json",
  "user-agent": `weir-endpoint.js/${VERSION}`,
};

Deno.test("rule 1: endpoint() takes a route of method and url; a url alone is a GET", () => {
  assertEquals(endpoint("POST /orgs/{org}", { org: "a b" }), {
    method: "post",
    url: `${PRODUCTION_URL}/orgs/a%20b`,
    headers,
  });
  assertEquals(endpoint("/Metadata").method, "get");
});

Deno.test("rule 2: endpoint(o) equals parse(merge(o))", () => {
  const options = { method: "PUT", url: "/a/{b}", b: 1, c: [2], headers: { X: "y" } };
  assertEquals(endpoint(options), endpoint.parse(endpoint.merge(options)));
});

Deno.test("rule 3: defaults() cascades", () => {
  const parent = endpoint.defaults({ baseUrl: QA_URL, headers: { "X-A": "1" }, per: 5 });
  const child = parent.defaults({ headers: { "x-b": "2" }, org: "weir" });
  assertEquals(child("/orgs/{org}"), {
    method: "get",
    url: `${QA_URL}/orgs/weir?per=5`,
    headers: { ...headers, "x-a": "1", "x-b": "2" },
  });
  assertEquals(child.DEFAULTS.baseUrl, QA_URL);
  assertEquals(endpoint.DEFAULTS.baseUrl, PRODUCTION_URL);
});

Deno.test("rule 4: a parameter fills its placeholder, else goes to the query or the body", () => {
  const options = { id: 7, type: "all" };
  assertEquals(endpoint("GET /x/{id}", options).url, `${PRODUCTION_URL}/x/7?type=all`);
  assertEquals(endpoint("HEAD /x/:id", options).url, `${PRODUCTION_URL}/x/7?type=all`);
  const posted = endpoint("PATCH /x/{id}", options);
  assertEquals([posted.url, posted.body], [`${PRODUCTION_URL}/x/7`, { type: "all" }]);
  assertEquals(posted.headers["content-type"], "application/json; charset=utf-8");
});

Deno.test("rule 4: names and values of the query are encoded, lists joined, null left out", () => {
  const { url } = endpoint("/Records?a=1#end", {
    $filter: "DOI eq 'l''eau' and A gte 5",
    $select: ["Id", "DOI"],
    none: null,
    missing: undefined,
  });
  assertEquals(
    url,
    `${PRODUCTION_URL}/Records?a=1&%24filter=DOI%20eq%20%27l%27%27eau%27%20and%20A%20gte%205` +
      `&%24select=Id,DOI#end`,
  );
});

Deno.test("rule 5: data is the body as it is, and nothing else is", () => {
  const data = new Uint8Array([1]);
  const result = endpoint("POST /x", { data, a: 1, headers: { "content-type": "text/plain" } });
  assertStrictEquals(result.body, data);
  assertEquals(result.headers["content-type"], "text/plain");
});

Deno.test("rule 6: query expansion in the url beside a body in data", () => {
  const result = endpoint("POST https://example.org/up{?name,label}", {
    name: "é.zip",
    label: "x",
    data: "bytes",
  });
  assertEquals(result.url, "https://example.org/up?name=%C3%A9.zip&label=x");
  assertEquals(result.body, "bytes");
});

Deno.test("rule 7: a full url is used as it is, a path follows the base after one slash", () => {
  assertEquals(endpoint("HTTPS://example.org/a/").url, "HTTPS://example.org/a/");
  assertEquals(endpoint("a", { baseUrl: "https://b.org/c/" }).url, "https://b.org/c/a");
  const chosen = endpoint("/{+path}", { path: "https://evil.invalid/" });
  assertEquals(chosen.url, `${PRODUCTION_URL}/https://evil.invalid/`);
});

Deno.test("rule 8: mediaType.format amends accept", () => {
  const { headers } = endpoint("/x", { mediaType: { format: "raw" } });
  assertEquals(headers.accept, "application/vnd.datastream.v3.raw");
});

Deno.test("rule 10: request comes back as the very object", () => {
  const request = { signal: new AbortController().signal };
  assertStrictEquals(endpoint("/x", { request }).request, request);
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  assertStrictEquals(endpoint("/x", { request: circular }).request, circular);
});

Deno.test("headers: a caller's name in any case replaces the default, undefined removes it", () => {
  const result = endpoint("/x", { headers: { Accept: "text/csv", "User-Agent": undefined } });
  assertEquals(result.headers, { accept: "text/csv" });
});

Deno.test("endpoint() has no body key on a GET or without one", () => {
  assertEquals("body" in endpoint("GET /x", { data: "x" }), false);
  assertEquals("body" in endpoint("DELETE /x"), false);
});

Deno.test("endpoint() changes no input, and no result changes the defaults", () => {
  const options = Object.freeze({ headers: Object.freeze({ A: "1" }), list: Object.freeze([1]) });
  const merged = endpoint.merge("/x", options);
  merged.headers.accept = "changed";
  (merged.list as number[]).push(2);
  endpoint.DEFAULTS.headers.accept = "changed";
  assertEquals(endpoint("/x").headers, headers);
  assertEquals(options.list, [1]);
});

Deno.test("endpoint() without a url says what is missing", () => {
  assertThrows(() => endpoint({ method: "GET" }), TypeError, "wanted a url");
});

Deno.test("endpoint() refuses an object in the query and names the parameter", () => {
  assertThrows(() => endpoint("/x", { deep: { a: 1 } }), TypeError, '"deep"');
});

Deno.test("merge() gives the method in upper case and the url unexpanded", () => {
  const merged = endpoint.merge("get /x/{id}", { id: 5 });
  assertEquals([merged.method, merged.url, merged.id], ["GET", "/x/{id}", 5]);
});
