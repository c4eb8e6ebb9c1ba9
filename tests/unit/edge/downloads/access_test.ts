// Each access mode admits the right callers, and no response or log line shows a secret.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { signUrl } from "../../../../edge/app.ts";
import { overSandbox, overUpstream, problemOf, SECRET } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";

const NOW = 1_800_000_000_000;
const tokens = ["the-token-of-a-test", "another.token~12"];
const signedAccess = { access: "signed", signingSecret: SECRET, now: () => NOW } as const;

const sign = (path: string, seconds = 60, secret = SECRET) =>
  signUrl(new URL(path, "http://localhost"), { secret, expires: NOW / 1000 + seconds });

Deno.test("EdgeApp.request() passes on a 401 or 403 of the service, and no other status, when access is caller", async () => {
  const given = [401, 403, 500, 404];
  const { app } = overUpstream(given.map((status) => Response.json({}, { status })), {
    access: "caller",
  });
  const statuses: number[] = [];
  for (const _ of given) {
    const response = await app.request("/Records.csv", { headers: { "x-api-key": "k" } });
    statuses.push(response.status);
    await problemOf(response);
  }
  assertEquals(statuses, [401, 403, 502, 502]);
});

Deno.test("EdgeApp.request() uses the server's key when access is public and the request has another", async () => {
  const { app, requests } = overUpstream([page([])]);
  const headers = { "x-api-key": "callers", authorization: "Bearer callers" };
  await (await app.request("/Records.csv", { headers })).text();
  assertEquals(requests.map(({ headers }) => headers.get("x-api-key")), ["k3y-of-a-test"]);
  assertEquals(requests[0]!.headers.has("authorization"), false);
});

Deno.test("EdgeApp.request() accepts no token or key instead of a signature", async () => {
  const { app, stats } = overSandbox({}, { ...signedAccess, tokens });
  const headers = { authorization: `Bearer ${tokens[0]}`, "x-api-key": "sandbox" };
  for (const path of ["/Records?$count=true", "/Citations.txt", "/Locations.geojson"]) {
    assertEquals((await app.request(path, { headers })).status, 403);
    const response = await app.request(await sign(path));
    await response.text();
    assertEquals(response.status, 200);
  }
  assertEquals(stats.requests, 3);
});

Deno.test("EdgeApp.request() shows no key, token, secret or signature in a response or in the log", async () => {
  const apiKey = "k3y-of-a-test";
  const secrets = [apiKey, SECRET, ...tokens];
  const leaky = () => [
    Response.json({ message: `wrong key ${apiKey} ${secrets.join()}` }, { status: 500 }),
    new Error(`sent ${secrets.join()}`),
    Response.json({ value: secrets.join() }),
  ];
  for (const access of ["public", "token", "signed"] as const) {
    const { app, log } = overUpstream(leaky(), { ...signedAccess, access, tokens });
    const headers = { authorization: `Bearer ${tokens[0]}` };
    for (let request = 0; request < 3; request++) {
      const url = await sign("/Records.csv");
      const response = await app.request(access === "signed" ? url : "/Records.csv", { headers });
      assertEquals(response.status, 502);
      const shown = JSON.stringify([await response.text(), [...response.headers]]);
      // Only the key is sent to the service, so only the key can come back in its response.
      assertEquals(shown.includes(apiKey), false, shown);
    }
    assertEquals(log.length, 3);
    for (const secret of secrets) assertEquals(log.join().includes(secret), false, log.join());
    assertEquals(/signature=/.test(log.join()), false);
  }
});

Deno.test("EdgeApp.request() sends requests only to the base URL, whatever the parameters are", async () => {
  const { app, requests } = overUpstream(Array.from({ length: 20 }, () => page([])));
  const paths = [
    "/Records.csv?$skiptoken=Id:https://evil.example/&$select=Id",
    "/Records.csv?$filter=DOI eq 'https://evil.example/'",
    "/Records.csv?$select=Id&$skiptoken=Id:1%26x=//evil.example",
    "//evil.example/Records.csv",
    "/Records.csv?filename=https://evil.example/x",
  ];
  for (const path of paths) {
    const host = { host: "evil.example", "x-forwarded-host": "evil.example" };
    const request = new Request(`http://localhost${path}`, { headers: host });
    await (await app.fetch(request)).text();
  }
  assert(requests.length >= 4);
  for (const { url } of requests) {
    assertStringIncludes(url, "https://upstream.invalid/v1/odata/v4/Records?");
  }
});
