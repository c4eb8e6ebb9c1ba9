// ETag, Last-Modified and status 304 follow from the versions of datasets.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import type { AppOptions } from "../../../../edge/app.ts";
import { test } from "../../../helpers/deadline.ts";
import { isVersionRequest, overSandbox } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";
import { FORMAT_NAMES, FORMATS } from "../../../../src/formats/formats.ts";

/** Row of Metadata: DOI, version and time of publication. */
const version = (DOI: string, Version: string, PublishedTimestamp: string) => ({
  DOI,
  Version,
  PublishedTimestamp,
});
const A = version("10.25976/a", "1.0.0", "2024-05-01T10:00:00.000Z");
const B = version("10.25976/b", "2.1.0", "2025-02-03T04:05:06.789Z");

/** Creates an app over a service of one row with datasets, or with a reply to requests for their versions. */
function overDatasets(
  datasets: readonly object[] | (() => Response | Promise<Response>),
  appOptions: Partial<AppOptions> = {},
) {
  const requests: Request[] = [];
  const reply = typeof datasets === "function" ? datasets : () => page([...datasets]);
  const { app, clock, log } = overSandbox({}, {
    now: () => Date.parse("2026-11-22T12:00:00Z"),
    fetch: async (request) => {
      requests.push(request);
      if (isVersionRequest(request)) return await reply();
      return request.url.includes("count=true") ? Response.json({ value: 1 }) : page([{ Id: 1 }]);
    },
    ...appOptions,
  });
  /** Sends a request with `If-None-Match`, which requests the versions. */
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const conditional = { "if-none-match": '"x"', ...headers };
    const response = await app.request(path, { headers: conditional, method });
    const text = await response.text();
    const etag = response.headers.get("etag");
    return { response, text, etag, status: response.status };
  };
  /** Returns the numbers of requests for versions and of others since the last call. */
  const countRequests = () => {
    const counts = [
      requests.filter(isVersionRequest).length,
      requests.filter((request) => !isVersionRequest(request)).length,
    ];
    requests.length = 0;
    return counts;
  };
  return { app, get, clock, log, requests, countRequests };
}

/** A strong tag also has the hash of the bytes. */
const versionIn = (etag: string | null) => /^(?:W\/)?"([0-9a-f]{32})[".]/.exec(etag ?? "")?.[1];

Deno.test("EdgeApp.request() returns 304 without a request for rows when If-None-Match has the ETag", async () => {
  const { get, countRequests } = overDatasets([A, B]);
  const first = await get("/Records.csv");
  assertMatch(first.etag!, /^W\/"[0-9a-f]{32}"$/);
  assertEquals(countRequests(), [1, 1]);
  for (const field of [first.etag!, first.etag!.slice(2), `"x", W/"y,z" ,${first.etag}`]) {
    const same = await get("/Records.csv", { "if-none-match": field });
    assertEquals([same.status, same.text], [304, ""]);
    assertEquals(versionIn(same.etag), versionIn(first.etag));
  }
  assertEquals(countRequests(), [0, 0]);
});

Deno.test("EdgeApp.request() returns 304 to HEAD, and an ETag, after a request for the versions", async () => {
  const { get, countRequests } = overDatasets([A]);
  const { etag, status } = await get("/Records.csv", {}, "HEAD");
  assertEquals([status, countRequests()], [200, [1, 0]]);
  const other = await get("/Records.csv", { "if-none-match": '"x"' }, "HEAD");
  assertEquals([other.status, other.etag], [200, etag]);
  const same = await get("/Records.csv", { "if-none-match": etag! }, "HEAD");
  assertEquals([same.status, same.text], [304, ""]);
  assertEquals(countRequests(), [0, 0]);
});

Deno.test("EdgeApp.request() returns another ETag for each query, format and option that changes the rows", async () => {
  const { get } = overDatasets([A]);
  const queries = ["$select=Id", "limit=1", "separator=;", "tidy=true", "from=2020-01-01"];
  const paths = [
    "/Records.csv",
    "/Records.ndjson",
    "/Observations.csv",
    ...queries.map((query) => `/Records.csv?${query}`),
    "/Records.csv?$count=true",
  ];
  const etags: string[] = [];
  for (const path of paths) {
    const { status, etag } = await get(path);
    assertEquals(status, 200, path);
    etags.push(versionIn(etag)!);
  }
  assertEquals(new Set(etags).size, paths.length);
  for (const path of ["/Records", "/Records.csv?$top=2000", "/Records.csv?filename=a"]) {
    assertEquals(versionIn((await get(path)).etag), etags[0], path);
  }
  assertEquals(versionIn((await get("/Records?$count=true")).etag), etags.at(-1));
});

Deno.test("EdgeApp.request() returns another ETag, at most 60 s later, when the datasets differ", async () => {
  const published = { ...B, PublishedTimestamp: "2026-01-01T00:00:00Z" };
  for (const changed of [[A, { ...B, Version: "2.2.0" }], [A, published], [B]]) {
    let datasets = [A, B];
    const { get, clock } = overDatasets(() => page(datasets));
    const headers = { "if-none-match": (await get("/Records.csv")).etag! };
    datasets = changed;
    clock.advance(59_000);
    assertEquals((await get("/Records.csv", headers)).status, 304);
    clock.advance(1_001);
    assertEquals((await get("/Records.csv", headers)).status, 200);
  }
});

Deno.test("EdgeApp.request() allows caching of 304 only while the versions are less than 60 s old", async () => {
  const { get, clock } = overDatasets([A]);
  const { etag } = await get("/Records.csv");
  clock.advance(40_000); // after the request for the rows
  const { status, response: { headers } } = await get("/Records.csv", { "if-none-match": etag! });
  assertEquals([status, headers.get("cache-control")], [304, "public, max-age=19, no-transform"]);
});

Deno.test("EdgeApp.request() sets Last-Modified to the latest publication, but never to a future time", async () => {
  const lastModified = async (...datasets: object[]) => {
    const { response } = await overDatasets(datasets).get("/Records.csv");
    return response.headers.get("last-modified");
  };
  assertEquals(await lastModified(A, B), "Mon, 03 Feb 2025 04:05:06 GMT");
  const future = version("10.25976/c", "1", "2031-01-01T00:00:00Z");
  assertEquals(await lastModified(future, B), "Sun, 22 Nov 2026 12:00:00 GMT");
  assertEquals(
    await lastModified(version("10.25976/c", "1", "soon"), A),
    "Wed, 01 May 2024 10:00:00 GMT",
  );
  assertEquals(await lastModified(), null);
});

Deno.test("EdgeApp.request() requests the versions once for queries of the same datasets", async () => {
  const { get, requests, countRequests } = overDatasets([A]);
  const filter = "$filter=DOI eq '10.25976/a'";
  for (const path of ["/Records.csv", "/Observations.csv", "/Records"]) {
    await get(
      `${path}?${filter} and CharacteristicName ne 'pH'&$select=Id&$count=${path === "/Records"}`,
    );
  }
  assertEquals(countRequests(), [1, 3]);
  await get("/Locations.csv?$filter=Name eq 'A river' and DOI eq '10.25976/a'");
  assertEquals(countRequests(), [0, 1]);
  await get("/Records.csv?$filter=DOI eq '10.25976/b'");
  const wanted = new URL(requests.find(isVersionRequest)!.url).searchParams.get("$filter");
  assertEquals(wanted, "DOI eq '10.25976/b'");
});

Deno.test("EdgeApp.request() sends no ETag without If-None-Match, and no version that was requested after the rows", async () => {
  const { app, get, countRequests } = overDatasets([A]);
  const response = await app.request("/Records.csv");
  await response.text();
  assertEquals([response.headers.get("etag"), countRequests()], [null, [0, 1]]);
  // Of the bytes alone.
  assertMatch((await get("/Records.csv")).etag!, /^"[0-9a-f]{64}"$/);
  const { etag } = await get("/Records.json");
  assertEquals((await get("/Records.csv", { "if-none-match": etag! })).status, 200);
});

/** The latest publication of A and B is at 04:05:06, and rows can be ten minutes and a cache's minute older. */
const DATES: [time: string, status: number, others?: Record<string, string>][] = [
  ["Mon, 03 Feb 2025 04:05:06 GMT", 304],
  ["Mon, 03 Feb 2025 04:05:05 GMT", 200],
  // Not from Last-Modified, but the time of a download, maybe of older rows.
  ["Mon, 03 Feb 2025 04:05:07 GMT", 200],
  ["Mon, 03 Feb 2025 04:16:05 GMT", 200],
  ["Mon, 03 Feb 2025 04:16:06 GMT", 304],
  ["Sun, 22 Nov 2026 12:00:00 GMT", 304],
  ["yesterday", 200],
  // RFC 9110, section 13.2.2: it is ignored with If-None-Match.
  ["Mon, 03 Feb 2025 04:05:06 GMT", 200, { "if-none-match": '"x"' }],
];
for (const [time, status, others] of DATES) {
  Deno.test(`EdgeApp.request() answers If-Modified-Since ${time} with ${status} ${others ? "and an ETag" : ""}`, async () => {
    for (const format of ["csv", "parquet"]) {
      const path = `/Records.${format}`;
      const { app, countRequests } = overDatasets([A, B]);
      const headers = { "if-modified-since": time, ...others };
      for (const method of ["HEAD", "GET", "GET"]) {
        const response = await app.request(path, { headers, method });
        const { length } = await response.bytes();
        assertEquals([response.status, length > 0], [status, status === 200 && method === "GET"]);
        const modified = status === 200 ? DATES[0]![0] : null;
        assertEquals(response.headers.get("last-modified"), modified);
      }
      if (status === 304) assertEquals(countRequests(), [1, 0]);
    }
  });
}

for (const format of FORMAT_NAMES) {
  const { writesLate, hasCitations } = FORMATS[format];
  const [first, ...others] = writesLate
    ? ["versions", "rows"]
    : hasCitations
    ? ["rows", "citations"]
    : ["rows"];
  Deno.test(`EdgeApp.request() requests ${first} first for one page of ${format}`, async () => {
    const { app, requests } = overDatasets([A]);
    await (await app.request(`/Locations.${format}`)).bytes();
    const kinds = requests.map((request) =>
      isVersionRequest(request)
        ? "versions"
        : /\/Metadata\b/.test(request.url)
        ? "citations"
        : "rows"
    );
    assertEquals(kinds, [first, ...others]);
  });
}

Deno.test("EdgeApp.request() sends no request for versions, and no ETag, when access is caller", async () => {
  const { get, countRequests } = overDatasets([A], {
    access: "caller",
    apiKey: undefined,
  });
  const { etag, status } = await get("/Records.csv", { "x-api-key": "k", "if-none-match": "*" });
  assertEquals([etag, status], [null, 200]);
  assertEquals(countRequests(), [0, 1]);
});

const failures: [name: string, reply: () => Response | Promise<Response>, time: number][] = [
  ["fails", () => Response.json({}, { status: 500 }), 530],
  ["is refused", () => Response.json({}, { status: 400 }), 530],
  ["gets no response for 10 s", () => new Promise<Response>(() => {}), 10_500],
];
for (const [name, reply, time] of failures) {
  test(`EdgeApp.request() completes a download without an ETag when the request for versions ${name}`, async () => {
    const { get, countRequests, clock, log } = overDatasets(reply);
    const headers = { "if-none-match": "*" };
    const { etag, status, text } = await get("/Records.csv?$select=Id", headers);
    assertEquals([etag, status, text], [null, 200, '"Id"\r\n1\r\n']);
    assertEquals([countRequests(), clock.now()], [[1, 1], time]);
    const errors = log.filter((line) => !/ DataStream (?:has not|answers)/.test(line));
    assertEquals(errors.length, 1);
    assertMatch(errors[0]!, /error .* Request for the versions of the datasets failed: /);
  });
}

Deno.test("EdgeApp.request() returns 502 after one request when the service rejects the API key", async () => {
  const { get, countRequests, log } = overDatasets(() => Response.json({}, { status: 401 }));
  assertEquals((await get("/Records.csv")).status, 502);
  assertEquals([countRequests(), log.length], [[1, 0], 2]);
  assertMatch(log[0]!, /Request for the versions of the datasets failed: .* send an API key/);
});

Deno.test("EdgeApp.request() returns an ETag when the filter of the query is too long for Metadata", async () => {
  // The select and the page size make the request for the versions longer than that for the rows.
  const filter = `DOI eq '${"x".repeat(7_900)}'`;
  const { get, requests } = overDatasets([A]);
  assertMatch((await get(`/Records.csv?$select=Id&$filter=${filter}`)).etag!, /^W/);
  assertEquals(new URL(requests[0]!.url).searchParams.has("$filter"), false);
});
