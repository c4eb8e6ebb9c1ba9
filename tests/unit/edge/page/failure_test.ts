// A failure is explained with its remedy, and the form stays.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream, problemOf } from "../../../helpers/edge.ts";
import { elementOf, get, textOf } from "./pages.ts";

// In French; the test in Chromium has the English texts of 503 and 504.
const failures: [answer: number, retryAfter: string, status: number, text: RegExp][] = [
  [504, "", 504, /n’a pas répondu\. Choisissez .*en anglais : DataStream .*Requête \S{8}/],
  [429, "1", 503, /Le service est occupé\. Nouvel essai dans 1 s\..*Message du serveur/],
  [413, "", 413, /Le résultat est trop grand\. Choisissez moins d’années/],
];
for (const [answer, retryAfter, status, text] of failures) {
  Deno.test(`GET / and /download return ${status} with the form, the remedy and the request Id when the service fails`, async () => {
    for (const path of ["/", "/download"]) {
      const headers = { "retry-after": retryAfter };
      const { app } = overUpstream([Response.json({}, { status: answer, headers })]);
      const response = await app.request(`${path}?characteristic=pH&lang=fr`);
      assertEquals(response.status, status);
      const html = await response.text();
      assertMatch(elementOf(html, 'role="alert"'), text);
      assertEquals(html.includes('data-retry="1"'), status === 503);
      assertMatch(html, /name="characteristic" value="pH" checked/);
      assertStringIncludes(html, response.headers.get("x-request-id")!);
    }
  });
}

for (
  const [status, sentence, words] of [
    [503, "The service did not answer.", "DataStream has not answered since"],
    [429, "The service is busy.", "DataStream has refused all requests since"],
    [401, "The service does not accept the key of this server.", "DataStream has rejected the API"],
  ] as const
) {
  Deno.test(`GET / and a download say the same when the service answers ${status}: "${words} …"`, async () => {
    const { app, log } = overSandbox({}, {
      fetch: () => Promise.resolve(new Response("", { status })),
      retry: { attempts: 1 },
    });
    const alert = elementOf(await get(app, "/?characteristic=pH"), 'role="alert"');
    const { detail } = await problemOf(await app.request("/Records.csv"));
    assertStringIncludes(alert, `${sentence} Trying again in `);
    assertStringIncludes(alert, `Message of the server: ${detail}: `);
    assertStringIncludes(detail, words);
    assertEquals(log.filter((line) => line.includes(` ${detail}`)).length, 1);
  });
}

Deno.test("HEAD /download returns 502 when the service rejects the key", async () => {
  const { app } = overSandbox({}, {
    fetch: () => Promise.resolve(Response.json({}, { status: 403 })),
  });
  const { status } = await app.request("/download?characteristic=pH", { method: "HEAD" });
  assertEquals(status, 502);
});

Deno.test("GET /years states its limit of 100,000 rows, and does not suggest the parameter limit", async () => {
  const { app } = overSandbox({ records: 250_000 });
  const html = await get(app, "/years");
  assertStringIncludes(textOf(html), "at least 250000 rows for this query, more than 100000");
  assert(!html.includes("limit="));
});
