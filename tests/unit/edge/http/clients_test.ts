// Each address, token or key counts as one client, whose downloads do not block those of others.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Hono } from "hono";
import { type AppOptions, signUrl } from "../../../../edge/app.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream, problemOf, SECRET } from "../../../helpers/edge.ts";

const URL_OF_DOWNLOAD = "http://localhost/Records.csv?$select=Id";

const at = (clientAddress: string) => ({ clientAddress });

type ClientRequest = [connection: unknown, headers?: Record<string, string>, url?: string];

/** Creates an app that gives each client one slot, over a service that never responds. */
function overSilence(options: Partial<AppOptions> = {}) {
  const permit = { responded() {}, extend() {}, release() {} };
  const { app, clock, log } = overUpstream([], {
    maxDownloadsPerClient: 1,
    fetch: () => new Promise(() => {}),
    rateLimiter: { acquire: () => Promise.resolve(permit) },
    ...options,
  });
  /** Requests downloads concurrently; returns the number of those that have a slot. */
  const countRunning = async (
    requests: readonly ClientRequest[],
    { fetch }: { fetch(request: Request, connection: object): unknown } = app,
  ) => {
    const stop = new AbortController();
    const responses = requests.map(([connection, headers = {}, url = URL_OF_DOWNLOAD]) =>
      fetch(new Request(url, { headers, signal: stop.signal }), connection as object)
    );
    await clock.sleep(2_000);
    const running = /^weir_downloads_in_progress (.*)$/m.exec(app.metrics())?.[1];
    stop.abort();
    await Promise.all(responses);
    return Number(running);
  };
  return { app, log, clock, countRunning };
}

/** Addresses of which each line is one client. */
const clients = [
  ["192.0.2.1", "192.0.2.1:4711", "::ffff:192.0.2.1", "::FFFF:c000:201"],
  ["192.0.2.11"],
  ["2001:db8::1", "2001:db8:0:0:ffff::2", "[2001:DB8::2]:4711", "2001:db8::1%eth0"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"],
  ["2001:db8:1:3::"],
  ["::1", "::2"],
  ...["10.1.2.3", "192.168.0.1", "fd00::1", "127.0.0.1"].map((address) => [address]),
];
/** Second arguments of `fetch()` in Deno, in Bun and of @hono/node-server, for the first client. */
const connections = [
  { remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 5_000 } },
  { requestIP: () => ({ address: "192.0.2.1", port: 5_000, family: "IPv4" }) },
  { incoming: { socket: { remoteAddress: "192.0.2.1" } } },
];
test("EdgeApp.fetch() counts the forms in which runtimes pass an IPv4 address, and a /64 network of IPv6, as one client, also through a Hono app", async () => {
  const { app, countRunning, log } = overSilence();
  const outer = new Hono();
  outer.mount("/", app.fetch);
  const all = [...clients.flat().map(at), ...connections];
  const running = await countRunning(all.map((connection) => [connection]), outer as never);
  assertEquals([running, log], [clients.length, []]);
});

test("EdgeApp.fetch() limits no client whose address is not known", async () => {
  const { countRunning } = overSilence();
  assertEquals(await countRunning([[undefined], [{}], [null], [at("unknown")]]), 4);
});

test("EdgeApp.fetch() uses the last address in the header of the option clientAddressHeader, and no other header", async () => {
  const name = "x-forwarded-for";
  const { countRunning } = overSilence({ clientAddressHeader: name });
  const from = (value: string): ClientRequest => [at("198.51.100.7"), { [name]: value }];
  assertEquals(await countRunning(["192.0.2.1", "203.0.113.9, 192.0.2.1"].map(from)), 1);
  assertEquals(await countRunning(["192.0.2.1, 192.0.2.2", "192.0.2.1"].map(from)), 2);
  assertEquals(await countRunning([[at("198.51.100.7")], [at("198.51.100.7")]]), 1);
  const names = [name, "x-real-ip", "cf-connecting-ip", "forwarded"];
  const ignored = names.map((name): ClientRequest => [at("192.0.2.1"), { [name]: "192.0.2.2" }]);
  assertEquals(await overSilence().countRunning(ignored), 1);
});

test("EdgeApp.fetch() counts each token or API key as a client, and each address when access is signed", async () => {
  const tokens = ["the-first-token-of-a-test", "the-second-token-of-a-test"];
  const urls = await Promise.all(
    [1_900_000_000, 2_000_000_000].map((expires) =>
      signUrl(URL_OF_DOWNLOAD, { secret: SECRET, expires })
    ),
  );
  const [first, second] = [at("192.0.2.1"), at("192.0.2.2")];
  const bearer = (token = "") => ({ authorization: `Bearer ${token}` });
  const [a, b] = [{ "x-api-key": "a" }, { "x-api-key": "b" }];
  const cases: [options: Partial<AppOptions>, requests: ClientRequest[]][] = [
    [
      { access: "token", tokens },
      [[first, bearer(tokens[0])], [second, bearer(tokens[0])], [first, bearer(tokens[1])]],
    ],
    [{ access: "caller", apiKey: undefined }, [[first, a], [second, a], [first, b]]],
    [
      { access: "signed", signingSecret: SECRET },
      [[first, {}, urls[0]], [first, {}, urls[1]], [second, {}, urls[0]]],
    ],
  ];
  for (const [options, requests] of cases) {
    assertEquals(await overSilence(options).countRunning(requests), 2, options.access);
  }
});

test("EdgeApp.fetch() returns 429 with retry-after when a client waits 60 s for its own downloads", async () => {
  const { app, clock } = overSilence({ timeouts: { headers: 3_600_000 } });
  const request = (path: string) =>
    Promise.resolve(app.fetch(new Request(`http://localhost${path}`), at("192.0.2.1")));
  const first = request("/Records.csv?$select=Id");
  const refused = await Promise.all(
    ["/Records.csv", "/Records?$count=true", "/Citations.txt"].map(request),
  );
  const statuses = refused.map(({ status, headers }) => [status, headers.get("retry-after")]);
  assertEquals(statuses.filter(([status]) => status === 429), [[429, "30"], [429, "30"]]);
  const problem = refused.find(({ status }) => status === 429)!;
  const { detail, hint } = await problemOf(problem);
  assertStringIncludes(detail, "allows each client 1 concurrent downloads");
  assertStringIncludes(hint, "wait until one of them has ended");
  assertStringIncludes(app.metrics(), "weir_client_downloads_refused_total 2\n");
  assertStringIncludes(app.metrics(), "weir_downloads_refused_total 0\n");
  assertEquals([(await first).status, clock.now() < 130_000], [504, true]);
});

test("EdgeApp.request() delays a second client by two starts when another one has 100 requests", async () => {
  const { app, clock } = overSandbox({ records: 100 });
  const client = new AbortController();
  const { signal } = client;
  const open = async (address: string, limit: number) => {
    const url = `${URL_OF_DOWNLOAD}&limit=${limit}`;
    const response = await app.fetch(new Request(url, { signal }), at(address));
    return response.text();
  };
  const many = Array.from({ length: 100 }, (_, index) => open("192.0.2.1", index + 1));
  await clock.sleep(3_000);
  const start = clock.now();
  await open("192.0.2.2", 101);
  const waited = clock.now() - start;
  assert(waited <= 3 * 530 + 100, `${waited} ms`);
  client.abort();
  await Promise.allSettled(many);
});

test("EdgeApp.request() sends the requests of the page before those of 20 downloads", async () => {
  const { app, clock } = overSandbox({ records: 500 }, { cacheTtl: 0, pageRows: 100 });
  const client = new AbortController();
  const { signal } = client;
  const downloads = Array.from({ length: 20 }, async (_, index) => {
    const request = new Request(`${URL_OF_DOWNLOAD}&filename=${index}`, { signal });
    await (await app.fetch(request, at(`192.0.2.${index}`))).text();
  });
  await clock.sleep(5_000);
  const start = clock.now();
  assertEquals((await app.request("/")).status, 200);
  const starts = (clock.now() - start) / 530;
  assert(starts <= 3 * 3, `${starts} starts`); // at most three for each of its requests
  client.abort();
  await Promise.allSettled(downloads);
});
