// endpoint() builds the method, URL, headers and body of a request from a route and options.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { endpoint, PRODUCTION_URL, QA_URL, toRequest, ValidationError } from "../../../mod.ts";
import type { EndpointOptions, MergedOptions } from "../../../src/endpoint/mod.ts";
import { VERSION } from "../../helpers/project.ts";

const headers = {
  accept: "application/vnd.datastream.v3+json",
  "user-agent": `weir-endpoint.js/${VERSION}`,
};

Deno.test("endpoint() reads method and url when the route has both, and uses GET when the route is only a url", () => {
  assertEquals(endpoint("POST /orgs/{org}", { org: "a b" }), {
    method: "post",
    url: `${PRODUCTION_URL}/orgs/a%20b`,
    headers,
  });
  assertEquals(endpoint("/Metadata").method, "get");
});

Deno.test("endpoint.defaults() adds to the defaults of its parent when it is called again", () => {
  const parent = endpoint.defaults({ baseUrl: QA_URL, headers: { "X-A": "1" }, per: 5 });
  const child = parent.defaults({ headers: { "x-b": "2" }, org: "weir" });
  assertEquals(child("/orgs/{org}"), {
    method: "get",
    url: `${QA_URL}/orgs/weir?per=5`,
    headers: { ...headers, "x-a": "1", "x-b": "2" },
  });
  assertEquals(child.DEFAULTS.baseUrl, "https://api.qa.datastream.org/v1/odata/v4");
  assertEquals(endpoint.DEFAULTS.baseUrl, "https://api.datastream.org/v1/odata/v4");
});

Deno.test("endpoint() puts a parameter in the query or the body when it has no placeholder", () => {
  const options = { id: 7, type: "all" };
  assertEquals(endpoint("GET /x/{id}", options).url, `${PRODUCTION_URL}/x/7?type=all`);
  assertEquals(endpoint("HEAD /x/:id", options).url, `${PRODUCTION_URL}/x/7?type=all`);
  const posted = endpoint("PATCH /x/{id}", options);
  assertEquals([posted.url, posted.body], [`${PRODUCTION_URL}/x/7`, { type: "all" }]);
  assertEquals(posted.headers["content-type"], "application/json; charset=utf-8");
  const url = `${PRODUCTION_URL}/x/7`;
  const withData = endpoint("POST /x/{id}", { ...options, data: null });
  assertEquals(withData, { method: "post", url, headers, body: null });
});

Deno.test("endpoint() returns the request option as the same object", () => {
  const request = { signal: new AbortController().signal };
  assertStrictEquals(endpoint("/x", { request }).request, request);
});

Deno.test("endpoint() converts the case of the method, and prefers the options to the route", () => {
  assertEquals(endpoint({ method: "Patch", url: "/x" }).method, "patch");
  assertEquals(endpoint.merge({ method: "Patch", url: "/x" }).method, "PATCH");
  const { method, url } = endpoint("  get \t /x  ", { method: "POST", url: "/y" });
  assertEquals([method, url], ["post", `${PRODUCTION_URL}/y`]);
  assertEquals(endpoint("PUT /x", { method: undefined, url: undefined }).method, "put");
});

const accepts: [accept: string, format: string, amended: string][] = [
  ["application/vnd.acme", "raw", "application/vnd.acme.raw"],
  ["application/vnd.acme.diff", "raw", "application/vnd.acme.raw"],
  ["application/vnd.acme+json-seq", "raw", "application/vnd.acme+json-seq"],
  ["application/vnd.acme+json", "raw", "application/vnd.acme.raw"],
  ["application/vnd.acme.v12+json", "text+json", "application/vnd.acme.v12.text+json"],
  [
    "text/csv, application/vnd.acme+json;q=0.9,application/vnd.b.v4+json ; q=0.1",
    "raw",
    "text/csv, application/vnd.acme.raw;q=0.9,application/vnd.b.v4.raw ; q=0.1",
  ],
  ["application/json", "raw", "application/json"],
  ['text/x;p="a,b",text/y', "raw", 'text/x;p="a,b",text/y'],
  ["application/vnd.acme.notes.v3.diff+json", "raw", "application/vnd.acme.notes.v3.diff+json"],
];
for (const [accept, format, amended] of accepts) {
  Deno.test(`endpoint() returns the accept header ${amended} when the format is ${format} and accept is ${accept}`, () => {
    const result = endpoint("/x", { headers: { accept }, mediaType: { format } });
    assertEquals(result.headers.accept, amended);
  });
}

for (const format of ["raw\r\nx: y", "a,b"]) {
  Deno.test(`endpoint() throws when mediaType.format is ${JSON.stringify(format)}`, () => {
    const call = () => endpoint("/x", { mediaType: { format } });
    assertThrows(call, ValidationError, "mediaType.format must");
  });
}

Deno.test("endpoint() applies mediaType.format when it is a default, but not when accept is removed", () => {
  const raw = endpoint.defaults({ mediaType: { format: "raw" } });
  assertEquals(raw("/x").headers.accept, "application/vnd.datastream.v3.raw");
  assertEquals(raw.defaults({ mediaType: {} })("/x").headers.accept?.endsWith(".raw"), true);
  assertEquals("accept" in raw("/x", { headers: { accept: undefined } }).headers, false);
});

Deno.test("endpoint() sends a parameter when its name is that of a property of Object.prototype", () => {
  const given = JSON.parse('{"constructor": "a", "__proto__": "b"}');
  assertEquals(endpoint("/x", given).url, `${PRODUCTION_URL}/x?constructor=a&__proto__=b`);
  for (const build of [endpoint, endpoint.defaults(given)]) {
    const { body } = build("POST /x", given);
    assertEquals(JSON.stringify(body), '{"constructor":"a","__proto__":"b"}');
    assertEquals(Object.getPrototypeOf(body), Object.prototype);
  }
});

Deno.test("endpoint() returns no body when there is none, or the method is GET or HEAD", () => {
  const given: [route: string, parameters: EndpointOptions][] = [
    ["DELETE /x", {}],
    ["POST /x", { a: undefined }],
    ["GET /x", { data: "x", a: 1 }],
    ["HEAD /x", { data: "x", a: 1 }],
  ];
  for (const [route, parameters] of given) {
    assertEquals(Object.keys(endpoint(route, parameters)), ["method", "url", "headers"]);
  }
});

Deno.test("endpoint() keeps null and leaves out undefined when it builds a JSON body", () => {
  const { body, headers } = endpoint("PUT /x", { a: null, b: undefined, c: { d: [null] } });
  assertEquals(body as unknown, { a: null, c: { d: [null] } });
  assertEquals(headers["content-type"], "application/json; charset=utf-8");
  const own = endpoint("PUT /x", {
    a: 1,
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  assertEquals(own.headers["content-type"], "application/merge-patch+json");
});

Deno.test("endpoint.merge() returns all options, and does not expand the url, when it has a placeholder", () => {
  const merged = endpoint.merge("get /x/{id}", { id: 5, headers: { A: "1" }, deep: { list: [1] } });
  assertEquals(merged, {
    method: "GET",
    url: "/x/{id}",
    baseUrl: PRODUCTION_URL,
    headers: { ...headers, a: "1" },
    mediaType: {},
    id: 5,
    deep: { list: [1] },
  });
  assertEquals(endpoint.merge({}).url, undefined);
});

Deno.test("endpoint.parse() treats an undefined option as absent, and reads header names in any case", () => {
  const merged = endpoint.merge("POST /x{?a}", { b: 1 });
  const absent = { a: undefined, c: undefined, data: undefined, request: undefined };
  assertEquals(endpoint.parse({ ...merged, ...absent }), endpoint.parse(merged));
  const bare = { ...merged, headers: undefined, mediaType: undefined } as unknown as MergedOptions;
  const type = "application/json; charset=utf-8";
  assertEquals(endpoint.parse(bare).headers, { "content-type": type });
  merged.headers["Content-Type"] = "application/merge-patch+json";
  assertEquals(endpoint.parse(merged).headers["content-type"], "application/merge-patch+json");
});

const headerShapes: Record<string, () => EndpointOptions["headers"]> = {
  "a Headers object": () => new Headers({ Accept: "text/csv", "X-A": "1" }),
  "an array of pairs": () => [["Accept", "text/csv"], ["X-A", 1], ["x-b", undefined]],
  "a Map": () => new Map([["Accept", "text/csv"], ["X-A", "1"]]),
  "an iterator of pairs": () => Object.entries({ Accept: "text/csv", "X-A": "1" }).values(),
};
for (const [shape, create] of Object.entries(headerShapes)) {
  Deno.test(`endpoint() takes headers at every layer when they are ${shape}`, () => {
    const expected = { ...headers, accept: "text/csv", "x-a": "1" };
    const child = endpoint.defaults({ headers: { ACCEPT: "a/b" } }).defaults({ headers: create() });
    assertEquals(child("/x").headers, expected);
    const merged = { ...endpoint.merge("/x"), headers: create() } as MergedOptions;
    assertEquals(endpoint.parse(merged).headers, { accept: "text/csv", "x-a": "1" });
  });
}

Deno.test("endpoint() joins the values of a header that pairs repeat, unless the last one is undefined", () => {
  const pairs = [["X-A", "1"], ["x-b", "3"], ["x-a", 2], ["X-B", undefined]] as const;
  assertEquals(endpoint("/x", { headers: pairs }).headers, { ...headers, "x-a": "1, 2" });
  const added = [["x-a", undefined], ["X-A", "1"]] as const;
  assertEquals(endpoint("/x", { headers: added }).headers, { ...headers, "x-a": "1" });
});

// The secret texts cannot occur by chance in the error's stack, such as in the path of a temporary folder.
for (const given of ["x-api-key: s3cr3t", ["s3cr3t"], new Set(["§¶"]), [["x-api-key"]]]) {
  Deno.test(`endpoint() throws an error without header values when the headers are ${Deno.inspect(given)}`, () => {
    const call = () => endpoint("/x", { headers: given as unknown as EndpointOptions["headers"] });
    const error = assertThrows(call, ValidationError, "headers must be an object");
    assertEquals(/s3cr3t|§¶/.test(Deno.inspect(error)), false);
  });
}

const builders: Record<string, (headers: Record<string, string>) => unknown> = {
  "endpoint()": (headers) => endpoint("/x", { headers }),
  "endpoint.merge()": (headers) =>
    endpoint.merge("/x", { headers: new Map(Object.entries(headers)) }),
  "endpoint.defaults()": (headers) => endpoint.defaults({ headers }),
  "endpoint.parse()": (headers) => endpoint.parse({ ...endpoint.merge("/x"), headers }),
  "toRequest()": (headers) => toRequest({ method: "get", url: "https://a.org", headers }),
};
for (const [symbol, build] of Object.entries(builders)) {
  Deno.test(`${symbol} throws an error without the value when a header has a line feed, or no valid name`, () => {
    for (const mark of ["\n", "\r", "\0", "\u0100"]) {
      const call = () => build({ "X-Api-Key": `s3cr3t${mark}x` });
      const error = assertThrows(call, ValidationError, "must be one line of Latin-1 text");
      assertEquals(error.option, "headers.x-api-key");
      assertEquals(Deno.inspect(error).includes("s3cr3t"), false);
    }
    const error = assertThrows(
      () => build({ "x: s3cr3t\r\ny": "1" }),
      ValidationError,
      "valid name",
    );
    assertEquals(Deno.inspect(error).includes("s3cr3t"), false);
  });
}

Deno.test("endpoint.merge() throws an error that names a parameter when it refers to itself, or is too deep", () => {
  const loop: Record<string, unknown> = { list: [] };
  (loop.list as unknown[]).push({ loop });
  const merge = () => endpoint.merge({ loop });
  assertEquals(assertThrows(merge, ValidationError, "loop refers").option, "loop");
  const mediaType = { format: "raw", loop };
  assertThrows(() => endpoint.merge({ mediaType }), ValidationError, "loop refers");
  let deep: unknown = "end";
  for (let level = 0; level < 1_000_000; level++) deep = [deep];
  assertThrows(() => endpoint.merge({ deep }), ValidationError, "deep refers");
  const shared = { a: 1 };
  const twice = endpoint.merge({ one: shared, two: [shared, shared] });
  assertEquals([twice.one, twice.two] as unknown[], [shared, [shared, shared]]);
});

const queries: [url: string, parameters: Record<string, unknown>, expected: string][] = [
  ["/x?", { a: 1 }, "/x?a=1"],
  ["/x?b=2&", { a: 1 }, "/x?b=2&a=1"],
  ["/x?b=2#end?c", { a: 1 }, "/x?b=2&a=1#end?c"],
  ["/x{?none}{#none}", { a: 1 }, "/x?a=1"],
  ["/x", { a: 5n, b: false, c: new Date(0) }, "/x?a=5&b=false&c=1970-01-01T00%3A00%3A00.000Z"],
  ["/x", { d: "", e: ["x,y", null, "z"], f: [], g: "\ud800" }, "/x?d=&e=x%2Cy,z&g=%EF%BF%BD"],
  ["/x", { $top: 5, "a\ud800": "l''eau", none: null }, "/x?%24top=5&a%EF%BF%BD=l%27%27eau"],
  // Dots that are only a part of a segment, or not in the path
  ["/{a}/x", { a: "a.." }, "/a../x"],
  ["/x{?a}", { a: ".." }, "/x?a=.."],
  ["/x?a=/{a}", { a: ".." }, "/x?a=/.."],
];
for (const [url, parameters, expected] of queries) {
  Deno.test(`endpoint() returns ${expected} when the url is ${url}`, () => {
    assertEquals(endpoint(url, parameters).url, PRODUCTION_URL + expected);
  });
}

// A value must not change the host of its template: the hint, if it would.

const REMOVE = "remove / ? # @ and \\ from ";
const hosts: [url: string, values: Record<string, unknown>, expected: string][] = [
  // After a literal host
  ["https://a.org{+p}", { p: "/x" }, "https://a.org/x"],
  ["https://a.org{?p}", { p: 1 }, "https://a.org?p=1"],
  ["https://a.org{/p}.json", { p: "b@c.org" }, "https://a.org/b%40c.org.json"],
  ["https://a.org/{+p}", { p: "@b.org" }, "https://a.org/@b.org"],
  ["https://a.org{+p}", { p: "@evil.org/" }, `${REMOVE}p`],
  ["https://a.org{p}", { p: ".evil.org" }, "begin p with / ? or #"],
  ["https://a.org{.p}", { p: "evil.org" }, "begin p with / ? or #"],
  ["https://a.org{p}:80/", { p: ".evil.org" }, "begin p with / ? or #"],
  ["https://a.org{p}./", { p: ".evil.org" }, "begin p with / ? or #"],
  ["https://a.org{&p}", { p: 1 }, "begin p with / ? or #"],
  ["https://a.org{+p}{+q}", { q: ".evil.org" }, "begin q with / ? or #"],
  ["https://a.org{/p}{+q}", { q: ".evil.org" }, ""],
  ["https://a.org{/p}.evil.org", {}, ""],
  ["https://user@a{p}", { p: ".evil.org" }, "begin p with / ? or #"],
  ["h2-a.b+c://a.org{+p}", { p: "@evil.org/" }, `${REMOVE}p`],
  // Within a host
  ["https://{+t}.a.org/x", { t: "b.c" }, "https://b.c.a.org/x"],
  ["https://api{n}.a.org/x", { n: 1 }, "https://api1.a.org/x"],
  ["https://{+t}.a.org/x", {}, "https://.a.org/x"],
  ...["/", "?", "#", "@", "\\", "%2f"].map((mark): [string, Record<string, unknown>, string] => [
    "https://{+t}.a.org/x",
    { t: `evil.org${mark}` },
    `${REMOVE}t`,
  ]),
  ["https://{t}.a.org/x", { t: "evil.org/" }, `${REMOVE}t`],
  ["https://{+t*}.a.org/x", { t: ["a", "evil.org/"] }, `${REMOVE}t`],
  ["https://{+t*}.a.org/x", { t: { "evil.org/": 1 } }, `${REMOVE}t`],
  ["https://{+t:9}.a.org/x", { t: "evil.org/x" }, `${REMOVE}t`],
  ["https://{+t,u}.a.org/x", { u: "#" }, `${REMOVE}t,u`],
  ["https://{#t}.a.org/x", { t: "evil.org" }, "give each placeholder of it a value"],
  ["https://a{+t}.org/x", { t: "/b" }, `${REMOVE}t`],
  ["https://{t}.a.org{+p}", { t: "b", p: "/x" }, "https://b.a.org/x"],
  ["https://{t}.a.org{+p}", { t: "b", p: ".evil.org" }, "begin p with / ? or #"],
  // A host, a port or a name of a user that is a value
  ["https://user@{host}/x", { host: "a.org" }, "https://user@a.org/x"],
  ["https://{+host}{/p*}{?q}", { host: "a.org:80", p: "x" }, "https://a.org:80/x"],
  ["https://{+host}{+p}", { host: "a.org", p: "/x" }, "https://a.org/x"],
  ["https://{+host}/x", { host: "a.org/x" }, `${REMOVE}host`],
  ["https://{+host}/x", { host: "/evil.org" }, `${REMOVE}host`],
  ["https://{host}/{p}", { p: "evil.org" }, "give each placeholder of it a value"],
  ["https://{host}:80/{p}", { p: "evil.org" }, "give each placeholder of it a value"],
  ["https://u@{/p}", { p: "evil.org" }, "give each placeholder of it a value"],
  ["http://[{+ip}]:80/x", { ip: "::1" }, "http://[::1]:80/x"],
  ["http://[{+ip}]/x", { ip: "::1]@evil.org" }, `${REMOVE}ip`],
  ["https://a.org:{port}/x", { port: 80 }, "https://a.org:80/x"],
  ["https://a.org:{+port}/x", { port: "80@evil.org" }, `${REMOVE}port`],
  ["https://a.org:{+port}/x", { port: "/y" }, `${REMOVE}port`],
  ["https://{user}:{+pw}@a.org/", { user: "b@c", pw: "d:e" }, "https://b%40c:d:e@a.org/"],
  ["https://{+user}@a.org/", { user: "b@evil.org/" }, `${REMOVE}user`],
  ["file:///{p}", { p: "x" }, "file:///x"],
];
for (const [url, values, expected] of hosts) {
  const isValid = /^\w[^ ]*:\/\//.test(expected);
  const effect = isValid ? `returns ${expected}` : "throws";
  Deno.test(`endpoint() ${effect} when the url is ${url} and the values are ${JSON.stringify(values)}`, () => {
    if (isValid) return assertEquals(endpoint(url, values).url, expected);
    const error = assertThrows(() => endpoint(url, values), ValidationError);
    assertEquals([error.option, error.received, error.hint], ["url", url, expected]);
  });
}

const addresses: [url: string, baseUrl: string, expected: string][] = [
  ["HTTP://Example.org/a/", "https://b.org", "HTTP://Example.org/a/"],
  ["{+base}/x", "https://b.org", "https://b.org/x"],
  ["{scheme}://evil.org", "https://b.org", "https://b.org/://evil.org"],
  ["//evil.org/x", "https://b.org", "https://b.org/evil.org/x"],
  ["httpbin/x", "https://b.org/c", "https://b.org/c/httpbin/x"],
  ["/x", "https://b.org/c//", "https://b.org/c/x"],
  ["{/none}/x", "https://b.org", "https://b.org/x"],
];
for (const [url, baseUrl, expected] of addresses) {
  Deno.test(`endpoint() returns ${expected} when the url is ${url} and the base URL is ${baseUrl}`, () => {
    assertEquals(endpoint({ url, baseUrl }).url, expected);
  });
}

// Objects that the caller holds.

Deno.test("endpoint() keeps its defaults when the caller changes options, results or DEFAULTS", () => {
  const options = { deep: { list: [1] } };
  const build = endpoint.defaults(options);
  options.deep.list.push(2);
  const result = build("POST /x");
  (result.body as typeof options).deep.list.push(3);
  result.headers.accept = "changed";
  const merged = build.merge("POST /x");
  (merged.deep as typeof options.deep).list.push(4);
  merged.headers.accept = "changed";
  (build.DEFAULTS.deep as typeof options.deep).list.push(5);
  build.DEFAULTS.headers.accept = "changed";
  assertEquals(build("POST /x").body as unknown, { deep: { list: [1] } });
  assertEquals(build("POST /x").headers.accept, headers.accept);
  assertEquals(endpoint.DEFAULTS.headers, headers);
});

// A value that is a segment of the path must not select another resource.

const dotSegments: [url: string, values: Record<string, unknown>][] = [
  ["/a/{id}/b", { id: ".." }],
  ["/a/:id", { id: "." }],
  ["/a{/list*}", { list: ["b", ".."] }],
  ["/a/{+path}", { path: "b/../c" }],
  ["/a/{+path}", { path: "%2E%2e" }],
  ["https://example.org/{id}#end", { id: ".." }],
];
for (const [url, values] of dotSegments) {
  Deno.test(`endpoint() throws when ${url} gets a segment of dots from ${JSON.stringify(values)}`, () => {
    assertThrows(() => endpoint(url, values), ValidationError, 'without the path segments "." and');
  });
}

Deno.test("endpoint() throws when there is no url", () => {
  // @ts-expect-error -- the url is missing, which callers without types find out at run time
  assertThrows(() => endpoint({ method: "GET" }), ValidationError, "url must be");
  assertThrows(() => endpoint.parse(endpoint.merge({})), ValidationError, "url must be");
});

for (const method of ["", "poſt", "GE T"]) {
  Deno.test(`endpoint() throws when the method is ${JSON.stringify(method)}`, () => {
    assertThrows(() => endpoint({ method, url: "/x" }), ValidationError, "method must be");
  });
}
