// Recorded results of endpoint() and toRequest() for a table of inputs.
import "../../helpers/reads_fixtures.ts";
import { endpoint, QA_URL, toRequest } from "../../../mod.ts";
import type { EndpointOptions } from "../../../src/endpoint/mod.ts";
import { assertGolden } from "../../helpers/golden.ts";

/** A builder with defaults of every kind. */
const custom = endpoint.defaults({
  baseUrl: "https://example.org/api/",
  headers: { "x-api-key": "key", Accept: "application/vnd.example.v2+json" },
  mediaType: { format: "raw" },
  tenant: "a b",
  nested: { one: 1 },
});

/** Routes, or options in place of a route, with their parameters. */
const INPUTS: readonly (readonly [route: string | EndpointOptions, options?: EndpointOptions])[] = [
  ["/Metadata"],
  ["Metadata"],
  ["GET /Records", { $select: "Id,DOI", $filter: "CharacteristicName eq 'pH'", $top: 10 }],
  ["GET /Records?a=1#end", { $top: 5, b: "x y" }],
  ["HEAD /Records", { $count: "true" }],
  ["  get \t /x  "],
  ["QUERY /x", { a: 1 }],
  ["/{resource}", { resource: "Records" }],
  ["/x/:id/y/:id", { id: "a/b?c" }],
  ["/x/{id}"],
  ["/{+path}", { path: "https://evil.invalid/" }],
  ["/{+path}{#part}", { path: "a/b c%20d", part: "é#" }],
  ["/x{/path*}{?list,map*}", { path: ["a", "b"], list: [1, 2], map: { c: 3, d: "e" } }],
  ["/x{;a,b}{.c}{&d:2}", { a: "", b: null, c: "csv", d: "long" }],
  ["/x{?a,b}", { a: undefined, b: "", c: "left" }],
  ["https://{host}/x", { host: "example.org" }],
  ["https://a{+x}", { x: "@evil.invalid/" }],
  ["https://a{x}.example/", { x: ".evil/" }],
  ["HTTPS://example.org/a/", { b: "Ärger 🦆" }],
  ["//example.org/x"],
  ["/x", { list: ["a", "b"], flag: true, nothing: null, none: undefined, big: 10n, zero: -0 }],
  ["/x", { date: new Date(0), nested: { a: { b: [1] } } }],
  ["/x", { $filter: "Name eq 'O''Brien & Söhne; 100%+'" }],
  ["/x", { "$skiptoken": "Id:5", "a[b]": 1, "ü": 2, "": 3 }],
  ["/x", { headers: { Accept: "text/csv", "User-Agent": undefined, N: 5 } }],
  ["/x", { headers: [["a", "1"], ["A", "2"]] }],
  ["/x", {
    headers: { accept: "application/vnd.a.b+json, text/plain" },
    mediaType: { format: "raw" },
  }],
  ["/x", { mediaType: { format: "raw" } }],
  ["/x", { baseUrl: QA_URL, request: { note: 1 } }],
  ["/x", { baseUrl: "" }],
  ["POST /x", { a: 1, b: undefined, c: null, list: [1, { d: 2 }] }],
  ["POST /x/{id}", { id: 1, data: { whole: true }, other: 2 }],
  ["POST /up{?name}", { name: "a.csv", data: "text", headers: { "content-type": "text/plain" } }],
  ["PATCH /x", { data: null }],
  ["PUT /x", { data: new URLSearchParams({ a: "b c" }) }],
  ["PUT /x", { data: new Uint8Array([104, 105]) }],
  ["DELETE /x"],
  ["DELETE /x", { a: 1 }],
  ["GET /x", { data: "not sent", a: 1 }],
  ["GET /x", { method: "POST", url: "/y" }],
  [{ url: "/x/{id}", method: "patch", id: 7, a: 1 }],
  [{ method: "GET" }],
  [""],
  ["GET"],
  ["BAD METHOD /x"],
  ["/x/{", {}],
  ["/x/{a:0}", { a: "b" }],
  ["/x/{a*:2}", { a: "b" }],
  ["/x", { a: NaN }],
  ["/x", { a: Symbol("s") }],
  ["/x", { a: () => {} }],
  ["/x", { a: "\ud800" }],
  ["/x", { headers: { "bad name": "1" } }],
  ["/x", { headers: { a: "line\nbreak" } }],
  ["POST /x", { data: new Map([["a", 1]]) }],
  ["POST /x", { data: { a: NaN } }],
];

Deno.test("endpoint() and toRequest() give the recorded requests", async () => {
  const results: unknown[] = [];
  for (const [name, build] of Object.entries({ endpoint, custom })) {
    for (const [route, options] of INPUTS) {
      const call = Deno.inspect([route, ...(options ? [options] : [])], {
        breakLength: Infinity,
        depth: 9,
      });
      const result = await outcomeOf(async () => {
        const { method, url, headers, body, ...rest } = build(route as string, options);
        const sent = await outcomeOf(() => describeRequest(build(route as string, options)));
        return { method, url, headers, body: Deno.inspect(body), ...rest, sent };
      });
      results.push({
        call: `${name}(${call.slice(1, -1).replace(/\s*\n\s*/g, " ").trim()})`,
        result,
      });
    }
  }
  const text = JSON.stringify(results, null, 2).replace(
    /(weir-endpoint\.js\/)[\w.-]+/g,
    "$1<version>",
  );
  await assertGolden(`${text}\n`, "wire_log/endpoint.json");
});

async function describeRequest(options: ReturnType<typeof endpoint>): Promise<object> {
  const request = toRequest(options);
  const { method, url, headers, redirect } = request;
  return {
    method,
    url,
    headers: Object.fromEntries(headers),
    redirect,
    body: request.body === null ? null : await request.text(),
  };
}

/** Returns a result, or the name of the error in its place. */
async function outcomeOf<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    return `throws ${(error as Error).name}`;
  }
}
