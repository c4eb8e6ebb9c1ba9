// The limit of downloads per client counts the address that each runtime passes to the app.
import { assertEquals } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import { Stall, stallAt } from "./stall.ts";
import { appOptionsFor, DOWNLOAD } from "./upstream.ts";

const METRICS_TOKEN = "metrics-token-of-a-test";

testOnEach("the app limits the downloads of each address", async (runtime) => {
  const stall = new Stall("before the headers");
  await using upstream = stallAt(1, stall, { rows: 10, width: 10, pages: 1 });
  const limits = { metricsToken: METRICS_TOKEN, maxDownloadsPerClient: 1 };
  await using server = await startApp(runtime, appOptionsFor(upstream, limits));
  using one = Deno.createHttpClient({ localAddress: "127.0.0.1" });
  using other = Deno.createHttpClient({ localAddress: "127.0.0.2" });
  // In workerd, the header has the address, as at Cloudflare; the other runtimes ignore it.
  const get = (client: Deno.HttpClient, address: string) =>
    fetch(server.root + DOWNLOAD, { client, headers: { "cf-connecting-ip": address } });
  const open = [get(one, "192.0.2.1"), get(one, "192.0.2.1"), get(other, "192.0.2.2")];
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const countRunning = async () => {
    const text = await (await fetch(`${server.root}/metrics`, { headers })).text();
    return Number(/\nweir_downloads_in_progress (\d+)\n/.exec(text)?.[1]);
  };
  await waitFor(async () => await countRunning() === 2, "two downloads");
  // Real time: the runtime has its own clock.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  assertEquals(await countRunning(), 2);
  stall.end();
  for (const response of await Promise.all(open)) {
    await response.text();
    assertEquals(response.status, 200);
  }
});
