// With `firewall`, the sandbox refuses what the firewall of DataStream is known to refuse, before the service sees it.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/service.ts";

function guarded(options: SandboxOptions = {}) {
  let time = 0;
  const sandbox = createSandbox({
    firewall: true,
    requestsPerSecond: Infinity,
    now: () => time,
    ...options,
  });
  const request = (query: string, key = sandbox.apiKey): Promise<Response> =>
    sandbox.fetch(`${sandbox.url}/Locations?${query}`, { headers: { "x-api-key": key } });
  const filter = (text: string): Promise<Response> =>
    request(`%24filter=${encodeURIComponent(text)}`);
  return { stats: sandbox.stats, request, filter, wait: (ms: number) => time += ms };
}

Deno.test("the firewall answers 403 with HTML when the query string has more than 2,048 bytes", async () => {
  const { request, stats } = guarded();
  const query = (length: number) => "%24select=Id".padEnd(length, "&");
  assertEquals((await request(query(2048))).status, 200);
  const refused = await request(query(2049), "wrong key");
  assertEquals([refused.status, refused.headers.get("content-type")], [403, "text/html"]);
  assertStringIncludes(await refused.text(), "<html>");
  assertEquals([stats.requests, stats.refused], [2, 1]);
});

Deno.test("the firewall answers 403 when the filter has a text like an attack", async () => {
  const { filter } = guarded();
  for (const text of ["o,p''-DDT", "a -- b", "/* a", "x or 1=1", "<script>"]) {
    const refused = await filter(`MonitoringLocationType eq '${text}'`);
    assertEquals([text, refused.headers.get("content-type")], [text, "text/html"]);
  }
  for (const text of ["pH", "Nitrate < 3", "a-b", "5/", "or 1"]) {
    assertEquals([text, (await filter(`MonitoringLocationType eq '${text}'`)).status], [text, 200]);
  }
});

Deno.test("the firewall answers 429 without Retry-After until an address has sent fewer requests in five minutes", async () => {
  const { request, wait } = guarded({ firewallRequests: 3 });
  for (const at of [0, 1, 2]) assertEquals([at, (await request("")).status], [at, 200]);
  wait(100_000);
  const refused = await request("");
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, null]);
  assertEquals((await refused.json()).error, "Too Many Requests");
  wait(200_000);
  assertEquals((await request("")).status, 200);
});

Deno.test("the firewall removes the filter from next links", async () => {
  for (const firewall of [true, false]) {
    const { filter } = guarded({ firewall });
    const body = await (await filter("MonitoringLocationType ne 'x'")).json();
    const { pathname, search } = new URL(body["@odata.nextLink"]);
    assertEquals([pathname, search.includes("filter")], ["/v1/odata/v4/Locations", !firewall]);
  }
});
