// Downloads per client, with the address that each runtime passes to the app.
import { assertEquals } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { RUNTIMES, startApp, testOn } from "./runtimes.ts";
import {
  appOptionsFor,
  DOWNLOAD,
  jsonResponse,
  pageFor,
  serveUpstream,
  type Upstream,
} from "./upstream.ts";

const SHAPE = { rows: 10, width: 10, pages: 1 };
const METRICS_TOKEN = "metrics-token-of-a-test";
/** Options of an app that limits clients. A download that shares its pages would not count. */
const LIMITED = { metricsToken: METRICS_TOKEN, maxDownloadsPerClient: 2, cacheTtl: 0 };

/** Serves rows when it is released, and the versions of datasets before. */
function serveWaitingUpstream(): { upstream: Upstream; release: () => void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const upstream = serveUpstream(async (request) => {
    if (request.url.includes("/Metadata")) return jsonResponse('{"value":[]}');
    await released;
    return jsonResponse(pageFor(request, SHAPE));
  }, SHAPE.rows);
  return { upstream, release };
}

type Clients = readonly [RequestInit, RequestInit];

/** Two clients with different addresses of the loopback network. */
function openConnections(): { clients: Clients; [Symbol.dispose](): void } {
  const [one, other] = ["127.0.0.1", "127.0.0.2"].map((localAddress) =>
    Deno.createHttpClient({ localAddress })
  );
  return {
    clients: [{ client: one! } as RequestInit, { client: other! } as RequestInit],
    [Symbol.dispose]() {
      one!.close();
      other!.close();
    },
  };
}

/** Two clients whose addresses Cloudflare passes in a header. */
const CLOUDFLARE_CLIENTS: Clients = [
  { headers: { "cf-connecting-ip": "192.0.2.1" } },
  { headers: { "cf-connecting-ip": "192.0.2.2" } },
];

/**
 * Sends three downloads of a client and two of another one, which the service holds. Checks that the third one waits
 * until the others are complete.
 */
async function requireLimitPerClient(
  root: string,
  [one, other]: Clients,
  release: () => void,
): Promise<void> {
  const open = [one, one, one, other, other].map((client) => fetch(root + DOWNLOAD, client));
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const countRunning = async () => {
    const text = await (await fetch(`${root}/metrics`, { headers })).text();
    return Number(/\nweir_downloads_in_progress (\d+)\n/.exec(text)?.[1]);
  };
  await waitFor(async () => await countRunning() === 4, "four downloads");
  // Real time: the runtime has its own clock.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  assertEquals(await countRunning(), 4);
  release();
  const responses = await Promise.all(open);
  assertEquals(responses.map(({ status }) => status), [200, 200, 200, 200, 200]);
  await Promise.all(responses.map((response) => response.text()));
}

for (const runtime of RUNTIMES) {
  const isWorker = runtime.name === "workerd";
  const source = isWorker ? "the header cf-connecting-ip" : "the connection";
  testOn(runtime, `the app limits the downloads of each address of ${source}`, async () => {
    const { upstream: service, release } = serveWaitingUpstream();
    await using upstream = service;
    await using server = await startApp(runtime, appOptionsFor(upstream, LIMITED));
    using connections = openConnections();
    const clients = isWorker ? CLOUDFLARE_CLIENTS : connections.clients;
    await requireLimitPerClient(server.root, clients, release);
  });
}
