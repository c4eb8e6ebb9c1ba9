// A 403 is about the key, the address or the query: evidence decides, and the message names the cause.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type DataStream, DataStreamError, eq, isIn } from "../../../mod.ts";
import { overSandbox, problemOf } from "../../helpers/edge.ts";
import { weir } from "../../helpers/run_weir.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { page, retryingClient, ROOT } from "../../helpers/upstream.ts";

/** A value of the vocabulary whose apostrophe is two in OData, which rules for SQL refuse. */
const VALUE = "o,p'-DDT";
const filter = eq("CharacteristicName", VALUE);
const forbidden = () => new Response("<html>", { status: 403 });
const next = (id: number) => `${ROOT}/Locations?$skiptoken=Id:${id}`;
const failureOf = (client: DataStream) =>
  assertRejects(() => client.locations().toArray(), DataStreamError);

Deno.test("a query that a firewall refuses costs two requests, and its error names the value, in each interface", async () => {
  const { sandbox, client } = sandboxAndClient({ firewall: true });
  const error = await assertRejects(() => client.records({ filter }).toArray(), DataStreamError);
  assertEquals([error.kind, error.status, sandbox.stats.requests], ["refused", 403, 2]);
  assertStringIncludes(error.detail, `"${VALUE}"`);
  assertStringIncludes(error.message, "use a wider filter, and choose the rows after the download");
  assertEquals(client.service.is, "answering");

  const flags = ["--sandbox-firewall", "--characteristic", VALUE];
  const { code, errors } = await weir(["records", ...flags]);
  assertEquals([code, errors.join().includes(`"${VALUE}"`)], [1, true]);
  assertEquals(/API_KEY|weir setup/.test(errors.join()), false);

  const { app, stats } = overSandbox({ firewall: true });
  const query = new URLSearchParams({
    $filter: `CharacteristicName eq '${VALUE.replace("'", "''")}'`,
  });
  const response = await app.request(`/Records.csv?${query}`);
  assertEquals([response.status, stats.requests], [400, 2]);
  assertStringIncludes((await problemOf(response)).detail, `"${VALUE}"`);
  assertEquals((await app.request("/readyz")).status, 200);
});

Deno.test("each interface downloads through a firewall that accepts its query", async () => {
  const { client } = sandboxAndClient({ firewall: true });
  assertEquals((await client.locations().toArray()).length, 60);
  const { code, output } = await weir(["locations", "--sandbox-firewall"]);
  const { app } = overSandbox({ firewall: true });
  const rows = await (await app.request("/Locations.csv")).text();
  assertEquals([code, output.trim().split(/\r?\n/).length, rows.trim().split("\r\n").length], [
    0,
    61,
    61,
  ]);
});

Deno.test("a wrong key costs two requests and no wait, and one a minute later", async () => {
  const { sandbox: { stats }, client, clock } = sandboxAndClient({}, { apiKey: "wrong" });
  const requests: number[] = [];
  for (const time of [0, 10_000, 60_000]) {
    clock.advance(time);
    const error = await failureOf(client);
    assertEquals([error.kind, error.status, error.isTemporary], ["status", 403, false]);
    assertStringIncludes(error.hint, "check the API key");
    requests.push(stats.requests);
  }
  assertEquals([requests, client.service.is], [[2, 2, 3], "key rejected"]);
  assert(clock.now() < 71_100, `${clock.now()} ms`);
});

Deno.test("a server sends one request a minute with a rejected key, and tells every client who can replace it", async () => {
  const { app, stats, clock, log } = overSandbox({}, { apiKey: "wrong" });
  await app.request("/Metadata.csv");
  for (const requests of [2, 3, 4]) {
    const responses = await Promise.all(
      ["/Records.csv", "/Locations.csv", "/Citations.txt"].map((path) => app.request(path)),
    );
    for (const response of responses) {
      const { detail, hint } = await problemOf(response);
      assertStringIncludes(detail, "DataStream has rejected the API key since");
      assertStringIncludes(hint, "ask the operator of this server to set another API key");
    }
    assertEquals(stats.requests, requests);
    clock.advance(60_000);
  }
  const changes = log.filter((line) => line.includes("DataStream has rejected the API key since"));
  assertEquals([changes.length, changes[0]!.includes(" warn ")], [1, true]);
});

Deno.test("a query waits for the five minutes for which a firewall blocks an address, a minute between two requests at most", async () => {
  const { sandbox: { stats }, client, clock } = sandboxAndClient({
    firewall: true,
    firewallRequests: 10,
  });
  assertEquals((await client.locations({ top: 5 }).toArray()).length, 60);
  assert(clock.now() > 300_000 && clock.now() < 900_000, `${clock.now()} ms`);
  assert(stats.refused > 5 && stats.refused < 20, `${stats.refused} refused`);
  assertEquals(stats.requests, stats.refused + 13); // twelve pages, and the count
});

Deno.test("a 401 is a rejected key, without another request", async () => {
  const { client, requests } = retryingClient([() => new Response("", { status: 401 })]);
  assertEquals([(await failureOf(client)).status, requests.length], [401, 1]);
  assertEquals(client.service.is, "key rejected");
});

Deno.test("a 403 to a query that was answered before is waited for, also with a rows limit per page", async () => {
  const { client, times } = retryingClient([
    page([{ Id: 1 }], next(1)),
    forbidden,
    forbidden,
    page([{ Id: 2 }]),
  ]);
  assertEquals(await client.locations({ select: ["Id"] }).toArray(), [{ Id: 1 }, { Id: 2 }]);
  assertEquals(times.slice(0, 4).map((time) => Math.round(time / 1_000)), [0, 1, 2, 4]);
});

Deno.test("a 403 to the known-good request, too, is a block if the key worked in the last 15 minutes, else a rejected key", async () => {
  for (const [age, is] of [[890_000, "answering"], [910_000, "key rejected"]] as const) {
    const answers = is === "answering" ? [page([{ Id: 2 }])] : [];
    const { client, clock, requests } = retryingClient(
      [page([{ Id: 1 }]), forbidden, forbidden, ...answers],
    );
    await client.metadata().toArray();
    clock.advance(age);
    const rows = client.locations().toArray();
    if (is === "answering") assertEquals((await rows).length, 1);
    else assertEquals((await assertRejects(() => rows, DataStreamError)).status, 403);
    assertEquals([client.service.is, requests.length], [is, is === "answering" ? 4 : 3]);
  }
});

Deno.test("a query is sent again when the known-good request finds an outage", async () => {
  const outage = () => new Response("", { status: 503 });
  const { client, requests } = retryingClient([forbidden, outage, page([{ Id: 1 }])]);
  assertEquals([(await client.locations().toArray()).length, requests.length], [1, 3]);
});

Deno.test("a page of HTML is no answer: a 403 after it is not taken for a block", async () => {
  const headers = { "content-type": "text/html" };
  const html = () => new Response("<html>", { headers });
  const { client, requests } = retryingClient([html, forbidden, forbidden]);
  const { status, isTemporary } = await failureOf(client);
  assertEquals([status, isTemporary, requests.length], [403, false, 3]);
});

Deno.test("no error names the length of a query when the key is rejected, or the query was answered", async () => {
  const regions = Array.from({ length: 200 }, (_, index) => `admin.4.ca.${index}`);
  const long = { filter: isIn("RegionId", regions), top: 1, unchecked: true } as const;
  for (
    const [answers, hint] of [
      [[forbidden, forbidden], "check the API key"],
      [[page([{ Id: 1 }], next(1)), () => new Response("", { status: 400 })], "check the names"],
    ] as const
  ) {
    const { client, requests } = retryingClient([...answers]);
    const error = await assertRejects(() => client.locations(long).toArray(), DataStreamError);
    assertEquals([error.rule, requests.length], [undefined, 2]);
    assertEquals([error.hint.startsWith(hint), error.hint.includes("firewall")], [true, false]);
  }
});
