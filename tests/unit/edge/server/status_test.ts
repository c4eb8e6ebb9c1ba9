// /status shows the state of the server to who has the metrics token, and is never stored.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
// Loaded here, because a fake clock does not wait for imports.
import "../../../../edge/server/status.ts";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";

const token = "metrics-token-of-a-test=";
const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
/** Returns the cells of each row. */
const rowsOf = (text: string) =>
  text.split("<tr>").map((row) => [...row.matchAll(/<td>(.*?)<\/td>/g)].map(([, cell]) => cell));

test("EdgeApp.request() shows the requests in progress on /status, with client, rows and wait", async () => {
  const tokens = ["anna=the-first-token-of-a-test", "the-second-token-of-a-test"];
  const { app, clock } = overSandbox({ records: 3_000 }, {
    access: "token",
    apiKey: "sandbox",
    tokens,
    metricsToken: token,
    pageRows: 1_000,
    maxDownloads: 1,
  });
  const open = tokens.map((text, index) =>
    app.request(`/Records.csv?$select=Id&filename=<b>${index}`, {
      headers: bearer(text.split("=").at(-1)!),
    })
  );
  const reader = (await open[0]!).body!.getReader();
  await reader.read();
  await clock.sleep(2_000);
  const response = await app.request("/status", { headers: basic(`anyone:${token}`) });
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("cache-control"), "no-store");
  const text = await response.text();
  const rows = rowsOf(text);
  const [first, second] = rows.filter((row) => row[1] === "/Records.csv");
  assertEquals([first![0], first![2]], ["anna", "sends rows"]);
  assert(Number(first![4]) > 0, `${first}`);
  assertMatch(second![0]!, /^[0-9a-f]{8}$/);
  const valueOf = (name: string) => rows.find((row) => row[0] === name)?.[1];
  assertEquals([valueOf("DataStream"), valueOf("ready")], ["answers", "yes"]);
  assertMatch(valueOf("of them csv")!, /MB$/);
  assertEquals([valueOf("limit"), valueOf("block")], ["0", "0"]);
  assertEquals([text.includes("<script"), text.includes("<b>"), text.includes(token)], [
    false,
    false,
    false,
  ]);
  await reader.cancel();
  await (await open[1]!).body!.cancel();
});

test("EdgeApp.request() shows how long a request has waited at the rate limiter so far on /status", async () => {
  const { app, clock } = overUpstream([() => new Promise(() => {})], { metricsToken: token });
  const client = new AbortController();
  const { signal } = client;
  const open = ["Records", "Metadata"].map((name) => app.request(`/${name}.csv`, { signal }));
  await clock.sleep(3_000);
  const rows = rowsOf(await (await app.request("/status", { headers: bearer(token) })).text());
  assertEquals(rows.find((row) => row[1] === "/Metadata.csv")?.[6], "3.0 s");
  client.abort();
  await Promise.all(open);
});

Deno.test("EdgeApp.request() shows why DataStream does not serve on /status", async () => {
  const busy = Response.json({}, { status: 429, headers: { "retry-after": "71" } });
  const { app } = overUpstream([busy], { metricsToken: token });
  assertEquals((await app.request("/Records.csv")).status, 503);
  const text = await (await app.request("/status", { headers: bearer(token) })).text();
  assertStringIncludes(text, "(status 429)");
  assertStringIncludes(text, "<td>block</td><td>1</td>");
});

Deno.test("EdgeApp.request() refuses /status without the metrics token, and asks browsers for it", async () => {
  const tokens = ["the-first-token-of-a-test"];
  const options = { access: "token", apiKey: "sandbox", tokens } as const;
  const { app } = overSandbox({}, { ...options, metricsToken: token });
  const other = { authorization: `Basic ${"=".repeat(5)}` };
  for (const headers of [{}, basic(`${token}:`), basic(token), bearer(tokens[0]!), other]) {
    const response = await app.request(`/status?token=${token}`, { headers });
    await response.text();
    assertEquals(response.status, 401);
    assertMatch(response.headers.get("www-authenticate")!, /^Basic realm="Weir", .*, Bearer$/);
  }
  const { app: without } = overSandbox({}, options);
  assertEquals((await without.request("/status", { headers: basic(`a:${token}`) })).status, 404);
});
