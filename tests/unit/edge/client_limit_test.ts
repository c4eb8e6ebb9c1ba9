// Limit of concurrent downloads per client.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { Hono } from "hono";
import { ValidationError } from "../../../mod.ts";
import { systemClock } from "../../../src/clock.ts";
import { signUrl } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { overSandbox, problemOf, SECRET } from "../../helpers/edge.ts";

const URL_OF_DOWNLOAD = "http://localhost/Records.csv?$select=Id";
const SERVICE = { requestsPerSecond: Infinity, records: 100 };

/** Creates an app, and a function that starts a download over a connection. */
function overConnections(options: Parameters<typeof overSandbox>[1] = {}) {
  // Not the fake clock, which would jump over the reader timeout while Web Crypto works.
  const { app, log, stats } = overSandbox(SERVICE, {
    clock: systemClock,
    requestsPerSecond: Infinity,
    cacheTtl: 0, // a download that shares its pages needs no permit
    ...options,
  });
  const responses: Response[] = [];
  const open = async (
    connection: unknown,
    headers: Record<string, string> = {},
    url = URL_OF_DOWNLOAD,
  ) => {
    const response = await app.fetch(new Request(url, { headers }), connection);
    responses.push(response);
    return response.status;
  };
  const close = () => Promise.all(responses.map((response) => response.body!.cancel()));
  return { app, log, stats, open, close };
}

const at = (clientAddress: string) => ({ clientAddress });

Deno.test(
  "EdgeApp.fetch() returns 429 with retry-after when an address has two downloads of a public server",
  DEADLINE,
  async () => {
    const { app, log, stats, open, close } = overConnections();
    const client = at("192.0.2.1");
    const first = await app.fetch(new Request(URL_OF_DOWNLOAD), client);
    assertEquals([first.status, await open(client)], [200, 200]);
    for (const path of ["/Records.csv", "/Records?$count=true", "/Citations.txt"]) {
      const response = await app.fetch(new Request(`http://localhost${path}`), client);
      assertEquals([response.status, response.headers.get("retry-after")], [429, "30"]);
      const { detail, hint } = await problemOf(response);
      assertStringIncludes(detail, "allows each client 2 concurrent downloads");
      assertStringIncludes(hint, "wait until one of them has ended");
    }
    // No request to the service, not even for the versions of other datasets.
    const before = stats.requests;
    const other = "http://localhost/Records.csv?$filter=DOI eq '10.25976/weir-bb00'";
    assertEquals([await open(client, {}, other), stats.requests], [429, before]);
    assertEquals(await open(at("192.0.2.2")), 200);
    const head = new Request(URL_OF_DOWNLOAD, { method: "HEAD" });
    assertEquals((await app.fetch(head, client)).status, 200);
    await first.text();
    assertEquals(await open(client), 200);
    assertEquals(log, []);
    assertStringIncludes(app.metrics(), "weir_client_downloads_refused_total 4\n");
    assertStringIncludes(app.metrics(), "weir_downloads_refused_total 0\n");
    await close();
  },
);

/** Second arguments of `fetch()` with an address, as the runtimes pass them. */
const connections: [runtime: string, of: (address: string) => unknown][] = [
  ["Deno", (hostname) => ({ remoteAddr: { transport: "tcp", hostname, port: 5_000 } })],
  ["Bun", (address) => ({ requestIP: () => ({ address, port: 5_000, family: "IPv4" }) })],
  ["@hono/node-server", (remoteAddress) => ({ incoming: { socket: { remoteAddress } } })],
  ["another program", at],
];
for (const [runtime, of] of connections) {
  Deno.test(
    `EdgeApp.fetch() limits the downloads of an address when ${runtime} passes it`,
    DEADLINE,
    async () => {
      const { open, close } = overConnections({ maxDownloadsPerClient: 1 });
      assertEquals(await open(of("192.0.2.1")), 200);
      assertEquals(await open(of("192.0.2.1")), 429);
      assertEquals(await open(of("192.0.2.2")), 200);
      await close();
    },
  );
}

Deno.test(
  "EdgeApp.fetch() limits the downloads of an address when a Hono app mounts it in Deno or Node",
  DEADLINE,
  async () => {
    for (const [runtime, of] of connections.filter(([runtime]) => /Deno|hono/.test(runtime))) {
      const { app, close } = overConnections({ maxDownloadsPerClient: 1 });
      const outer = new Hono();
      outer.mount("/", app.fetch);
      const open = () => outer.fetch(new Request(URL_OF_DOWNLOAD), of("192.0.2.1") as object);
      const first = await open();
      assertEquals([first.status, (await open()).status], [200, 429], runtime);
      await first.body!.cancel();
      await close();
    }
  },
);

const pairs: [one: string, other: string, areSame: boolean][] = [
  ["192.0.2.1", "192.0.2.1:4711", true],
  ["192.0.2.1", "::ffff:192.0.2.1", true],
  ["192.0.2.1", "::FFFF:c000:201", true],
  ["192.0.2.1", "192.0.2.11", false],
  ["2001:db8::1", "2001:db8:0:0:ffff::2", true],
  ["2001:db8::1", "[2001:DB8::2]:4711", true],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", true],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:3::", false],
  ["2001:db8::1%eth0", "2001:db8::2", true],
  ["::1", "::2", true],
];
for (const [one, other, areSame] of pairs) {
  const verb = areSame ? "counts" : "does not count";
  Deno.test(`EdgeApp.fetch() ${verb} ${one} and ${other} as one client`, DEADLINE, async () => {
    const { open, close } = overConnections({ maxDownloadsPerClient: 1 });
    assertEquals([await open(at(one)), await open(at(other))], [200, areSame ? 429 : 200]);
    await close();
  });
}

Deno.test(
  "EdgeApp.fetch() does not limit the downloads of a client when its address is not known",
  DEADLINE,
  async () => {
    const { log, open, close } = overConnections({ maxDownloads: 100, maxDownloadsPerClient: 1 });
    const unknown: unknown[] = [undefined, null, "192.0.2.1", {}, at(""), at("unknown")];
    unknown.push(at("256.0.0.1"), at("1.2.3"), at("::1::"), at("a:b"), { clientAddress: 1 });
    unknown.push({ requestIP: () => null }, { remoteAddr: { path: "/run/weir.sock" } });
    unknown.push({ incoming: { socket: {} } }, { incoming: undefined });
    for (const connection of unknown) {
      assertEquals([await open(connection), await open(connection)], [200, 200]);
    }
    assertEquals(log, []);
    await close();
  },
);

Deno.test(
  "EdgeApp.fetch() uses the last address in the header of the option clientAddressHeader",
  DEADLINE,
  async () => {
    const { open, close } = overConnections({
      maxDownloadsPerClient: 1,
      clientAddressHeader: "X-Forwarded-For",
    });
    const proxy = at("10.0.0.1");
    const via = (value: string) => open(proxy, { "x-forwarded-for": value });
    assertEquals([await via("198.51.100.1, 192.0.2.1"), await via("192.0.2.1")], [200, 429]);
    assertEquals(await via("192.0.2.9, 192.0.2.1"), 429); // a client can choose the first address
    assertEquals(await via("192.0.2.1, 192.0.2.2"), 200);
    // A request that bypasses the proxy has the address of its connection.
    assertEquals([await open(proxy), await open(proxy)], [200, 429]);
    assertEquals([await via("unknown"), await via("unknown")], [200, 200]);
    await close();
  },
);

Deno.test("createApp() throws when the header of the address is Forwarded, which has no plain address", () => {
  const error = assertThrows(
    () => overConnections({ clientAddressHeader: "Forwarded" }),
    ValidationError,
  );
  assertStringIncludes(error.message, "the name of a header, such as x-forwarded-for");
});

Deno.test(
  "EdgeApp.fetch() logs once and does not limit clients when the header of the option contains no address",
  DEADLINE,
  async () => {
    const { log, open, close } = overConnections({
      maxDownloadsPerClient: 1,
      clientAddressHeader: "x-forwarded-host",
    });
    const forwarded = { "x-forwarded-host": "weir.example" };
    const proxy = at("10.0.0.1");
    assertEquals([await open(proxy, forwarded), await open(proxy, forwarded)], [200, 200]);
    assertEquals(log.length, 1);
    assertStringIncludes(log[0]!, " warn ");
    assertStringIncludes(log[0]!, "the header x-forwarded-host contains no address");
    assert(!log[0]!.includes("weir.example"));
    await close();
  },
);

Deno.test(
  "EdgeApp.fetch() ignores headers with addresses when no option names one",
  DEADLINE,
  async () => {
    const { log, open, close } = overConnections({ maxDownloadsPerClient: 1 });
    const client = at("192.0.2.1");
    const statuses = [await open(client)];
    for (const name of ["x-forwarded-for", "x-real-ip", "cf-connecting-ip", "forwarded"]) {
      statuses.push(await open(client, { [name]: "198.51.100.7" }));
    }
    assertEquals(statuses, [200, 429, 429, 429, 429]);
    assertEquals(log, []);
    await close();
  },
);

Deno.test(
  "EdgeApp.fetch() logs once and does not limit clients when a proxy or a private network hides their addresses",
  DEADLINE,
  async () => {
    const proxied = { "x-forwarded-proto": "https" };
    const hidden: [address: string, headers?: Record<string, string>][] = [
      ["127.0.0.1", proxied],
      ["::1", { via: "1.1 proxy" }],
      ...[
        "10.1.2.3",
        "172.31.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "169.254.0.1",
        "fd00::1",
        "fe80::1",
      ]
        .map((address): [string] => [address]),
    ];
    for (const [address, headers] of hidden) {
      const { log, open, close } = overConnections({ maxDownloadsPerClient: 1 });
      assertEquals([await open(at(address), headers), await open(at(address), headers)], [
        200,
        200,
      ], address);
      assertEquals(log.length, 1);
      assertStringIncludes(log[0]!, " warn ");
      assertStringIncludes(log[0]!, "set clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER)");
      assert(!log[0]!.includes(address));
      await close();
    }
    const visible: [address: string, headers?: Record<string, string>][] = [
      ["127.0.0.1"],
      ["::1"],
      ...["172.32.0.1", "100.128.0.1", "11.0.0.1", "2001:db8::1", "fd::1", "127::1"]
        .map((address): [string, typeof proxied] => [address, proxied]),
    ];
    for (const [address, headers] of visible) {
      const { log, open, close } = overConnections({ maxDownloadsPerClient: 1 });
      const statuses = [await open(at(address), headers), await open(at(address), headers)];
      assertEquals([statuses, log], [[200, 429], []], address);
      await close();
    }
  },
);

Deno.test(
  "EdgeApp.fetch() limits the downloads of each token, signed URL and API key when maxDownloadsPerClient is set",
  DEADLINE,
  async () => {
    const tokens = ["the-first-token-of-a-test", "the-second-token-of-a-test"];
    const bearers = tokens.map((token) => ({ authorization: `Bearer ${token}` }));
    const signed = await Promise.all(
      [100, 200].map((days) =>
        signUrl(URL_OF_DOWNLOAD, {
          secret: SECRET,
          expires: new Date(Date.now() + days * 86_400_000),
        })
      ),
    );
    for (const maxDownloadsPerClient of [1, undefined]) {
      const third = maxDownloadsPerClient === 1 ? 429 : 200;
      const token = overConnections({ access: "token", tokens, maxDownloadsPerClient });
      assertEquals(await token.open(at("192.0.2.1"), bearers[0]), 200);
      assertEquals(await token.open(at("192.0.2.2"), bearers[0]), third);
      assertEquals(await token.open(at("192.0.2.1"), bearers[1]), 200);
      await token.close();
      const signing = { access: "signed", signingSecret: SECRET, maxDownloadsPerClient } as const;
      const signature = overConnections(signing);
      assertEquals(await signature.open(at("192.0.2.1"), {}, signed[0]), 200);
      assertEquals(await signature.open(at("192.0.2.2"), {}, signed[0]), third);
      assertEquals(await signature.open(at("192.0.2.1"), {}, signed[1]), 200);
      await signature.close();
      const caller = overConnections({
        access: "caller",
        apiKey: undefined,
        maxDownloadsPerClient,
      });
      const key = { "x-api-key": "sandbox" };
      assertEquals(await caller.open(at("192.0.2.1"), key), 200);
      assertEquals(await caller.open(at("192.0.2.2"), key), third);
      await caller.close();
    }
  },
);

Deno.test(
  "EdgeApp.fetch() does not count downloads that come from the cache or join a running request",
  DEADLINE,
  async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { apiKey, url, fetch } = createSandbox(SERVICE);
    const { open, app, close } = overConnections({
      maxDownloadsPerClient: 1,
      apiKey,
      baseUrl: url,
      cacheTtl: 60_000,
      async fetch(request) {
        if (request.url.includes("ResultValue")) await released;
        return await fetch(request);
      },
    });
    const client = at("192.0.2.1");
    const read = async (path: string) => {
      const response = await app.fetch(new Request(`http://localhost${path}`), client);
      await response.text();
      return response.status;
    };
    const cached = "/Records.csv?$select=Id";
    const waiting = "/Records.csv?$select=Id,ResultValue";
    assertEquals(await read(cached), 200);
    const running = [read(waiting), read(waiting), read(waiting)];
    while (!app.metrics().includes("\nweir_downloads_in_progress 1\n")) {
      await systemClock.sleep(1);
    }
    assertEquals(await read(cached), 200);
    assertEquals(await open(client, {}, "http://localhost/Records.csv?$select=Id,DOI"), 429);
    release();
    assertEquals(await Promise.all(running), [200, 200, 200]);
    await close();
  },
);

Deno.test(
  "EdgeApp.fetch() returns 503, not 429, when other clients use all slots",
  DEADLINE,
  async () => {
    const { open, close } = overConnections({ maxDownloads: 2 });
    assertEquals([await open(at("192.0.2.1")), await open(at("192.0.2.2"))], [200, 200]);
    assertEquals(await open(at("192.0.2.1")), 503);
    await close();
  },
);

Deno.test(
  "EdgeApp.fetch() sends a cached download to a client at its limit after the TTL of the dataset versions",
  DEADLINE,
  async () => {
    const { app, clock, stats } = overSandbox({ records: 12_000 }, {
      readerTimeout: 3_600_000,
      cacheTtl: 300_000,
      maxDownloadsPerClient: 1,
    });
    const get = (query: string) =>
      app.fetch(new Request(`http://localhost/Records.csv?$select=${query}`), at("192.0.2.1"));
    const cached = "Id&limit=9";
    const text = await (await get(cached)).text();
    const running = (await get("Id,DOI&$top=1000")).body!.getReader();
    await running.read();
    await clock.sleep(61_000); // The versions are cached for 60 s.
    const before = stats.requests;
    const response = await get(cached);
    assertEquals([response.status, await response.text()], [200, text]);
    assertEquals(stats.requests, before + 1);
    // Another filter: without a slot, no request is sent, not even for the versions.
    assertEquals((await get("Id&$filter=LocationId eq 1015")).status, 429);
    assertEquals(stats.requests, before + 1);
    await running.cancel();
  },
);
