// Each access mode admits the right callers, and no response or log line shows a secret.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { signUrl } from "../../../../edge/app.ts";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";

const NOW = 1_800_000_000_000;
/** Secrets with characters that JSON, URLs and regular expressions escape. One token begins with the other. */
const serverSecrets = {
  apiKey: 'k3y"of\\a+test$1',
  signingSecret: 'a "secret"  of\ta test \\ of 32 bytes & more é',
  tokens: ["the-token-of-a-test", "the-token-of-a-test-and-more=="],
  metricsToken: "metrics~token/of+a-test",
};
const token = serverSecrets.tokens[0]!;
const options = { ...serverSecrets, now: () => NOW };

const sign = (path: string) =>
  signUrl(new URL(path, "http://localhost"), {
    secret: serverSecrets.signingSecret,
    expires: NOW / 1000 + 60,
  });

Deno.test("EdgeApp.request() forwards a 401 or 403 of the service, and no other status, when access is caller", async () => {
  const given = [401, 403, 500, 404];
  const statuses: number[] = [];
  for (const status of given) {
    const reply = () => Response.json({}, { status });
    const { app } = overUpstream([reply, reply], { access: "caller" });
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
  const { app, stats } = overSandbox({}, { ...options, apiKey: "sandbox", access: "signed" });
  const headers = { authorization: `Bearer ${token}`, "x-api-key": "sandbox" };
  for (const path of ["/Records?$count=true", "/Citations.txt", "/Locations.geojson"]) {
    assertEquals((await app.request(path, { headers })).status, 403);
    const response = await app.request(await sign(path));
    await response.text();
    assertEquals(response.status, 200);
  }
  assertEquals(stats.requests, 3);
});

const CALLER_KEY = "the$caller's/key+1%41";

/** Returns the forms of a secret that a client or the service may send. */
function encodingsOf(secret: string): string[] {
  return [
    secret,
    secret.replace(/\s+/g, " "),
    secret.replaceAll("'", "''"),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function assertNoSecrets(text: string, secrets: readonly string[]): void {
  // `-and-more` would be left of the longer token if the shorter one were replaced first.
  const formDecoded = secrets.map((secret) => secret.replaceAll("+", " "));
  for (const form of [...secrets.flatMap(encodingsOf), ...formDecoded, "-and-more"]) {
    assertEquals(text.includes(form), false, `${form} is in ${text}`);
  }
}

for (const access of ["public", "caller", "token", "signed"] as const) {
  Deno.test(`EdgeApp.request() shows no key, token, secret or signature in a response or in the log when access is ${access}`, async () => {
    const key = access === "caller" ? CALLER_KEY : serverSecrets.apiKey;
    const bearer = access === "token" ? token : "token-of-another-server";
    const secrets = [...Object.values(serverSecrets).flat(), CALLER_KEY, bearer];
    const quoted = secrets.join(" ");
    const authorization = `Bearer ${bearer}`;
    const headers = { "x-api-key": CALLER_KEY, authorization, "x-request-id": bearer };
    // A caller may forget to encode a secret.
    const sent = [...secrets, ...secrets.flatMap(encodingsOf).map(encodeURIComponent)];
    for (const logFormat of ["json", "text"] as const) {
      const { app, log } = overUpstream([
        Response.json({ message: quoted }, { status: 500 }),
        new Error(quoted),
        Response.json({ value: quoted }),
        ...sent.map(() => page([])),
      ], { ...options, access, logFormat, logRequests: true, requestsPerSecond: Infinity });
      const get = async (path: string) => {
        const url = access === "signed" ? await sign(path) : path;
        const response = await app.request(url, { headers });
        return `${await response.text()} ${[...response.headers]}`;
      };
      for (let fault = 0; fault < 3; fault++) {
        // The request has the key and the token, so the response could repeat these.
        assertNoSecrets(await get("/Records.csv"), [key, bearer]);
      }
      for (const text of sent) {
        await get(`/Records.csv?$filter=DOI eq '${text}'`);
        await get(`/${text}?${text}=1`);
      }
      // Two lines for each of the three failures, one for each other request, and two about the service.
      assertEquals(log.length, 2 * 3 + 2 * sent.length + 2);
      assertStringIncludes(log.join(), "DOI eq '[secret]'");
      for (const line of log) {
        const { message, query = {} } = logFormat === "json" ? JSON.parse(line) : {};
        assertNoSecrets([line, message, ...Object.values(query)].join(" "), secrets);
        assertEquals(line.includes("signature="), false);
      }
    }
  });
}

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
