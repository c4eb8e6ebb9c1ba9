// The page works in each access mode, never shows a key, and does not hold up downloads.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream, SECRET } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { page } from "../../../helpers/upstream.ts";
import { elementOf, get, headingOf, textOf, TOKEN } from "./pages.ts";

Deno.test("GET / does not count as a download, and returns 503 while three pages are loading", async () => {
  const { app } = overSandbox({ records: 30 }, { maxDownloads: 1 });
  const download = await app.request("/Records.csv");
  assertEquals(headingOf(await get(app, "/?from=2000")), "30 measurements");
  await download.text();

  const hanging = new Promise<Response>(() => {});
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
  const { app: busy } = overSandbox({}, { clock, fetch: () => hanging });
  for (let times = 0; times < 3; times++) busy.request("/");
  const fourth = await busy.request("/");
  assertEquals([fourth.status, fourth.headers.get("retry-after")], [503, "30"]);
  assertStringIncludes(await fourth.text(), "limit of 3 concurrent requests for the page");
});

Deno.test("GET / does not share results when callers bring their keys", async () => {
  const { app, stats, log } = overSandbox({ records: 30 }, {
    access: "caller",
    logRequests: true,
  });
  const headers = { "x-api-key": "sandbox" };
  for (let times = 0; times < 2; times++) await get(app, "/?from=2000", { headers });
  assertEquals(stats.requests, 3);
  const html = await get(app, "/?characteristic=pH");
  assertEquals(stats.requests, 3);
  assertStringIncludes(elementOf(html, 'role="alert"'), "An API key is required");
  // A key is often copied with white space.
  const body = new URLSearchParams({ token: "sandbox\u200b ", from: "2000" });
  assertEquals(headingOf(await get(app, "/", { method: "POST", body })), "30 measurements");
  const file = await app.request("/download", { method: "POST", body });
  assertEquals(readCsv(await file.text()).length, 1 + 30);
  assertMatch(log.join("\n"), /POST \/ 200 .*\n.*POST \/Records\.csv 200 complete: 30 rows/);
  const refused = await app.request("/?from=2000", { headers: { "x-api-key": "wrong" } });
  assertEquals(refused.status, 403);
  assertEquals((await refused.text()).includes("wrong"), false);
});

Deno.test("GET / and POST / require a token, and sign the links until the time that they show, when access is signed", async () => {
  const { app, stats } = overSandbox({ hostileNames: false, records: 300 }, {
    access: "signed",
    signingSecret: SECRET,
    tokens: [TOKEN],
    now: () => 1_800_000_000_000,
  });
  const empty = await app.request("/");
  assertEquals([empty.status, stats.requests], [200, 0]);
  const response = await app.request("/?characteristic=pH");
  assertEquals([response.status, stats.requests], [401, 0]);
  assertEquals(response.headers.get("www-authenticate"), "Bearer");
  assertStringIncludes(await response.text(), "A token is required");
  const body = new URLSearchParams({ token: TOKEN, characteristic: "pH" });
  const html = await get(app, "/", { method: "POST", body });
  assertStringIncludes(html, "valid until 2027-01-22 08:00 UTC");
  assertEquals(html.includes(TOKEN), false);
  // The cached names of datasets are for requests with a token only.
  const name = "Synthetic Lakes, Long-Term Monitoring";
  assertStringIncludes(html, name);
  for (const path of ["/", "/?characteristic=pH"]) {
    assertEquals((await get(app, path)).includes(name), false, path);
  }
  const { app: other } = overSandbox({ hostileNames: false }, { access: "token", tokens: [TOKEN] });
  const headers = { authorization: `Bearer ${TOKEN}` };
  assertStringIncludes(await get(other, "/?characteristic=pH", { headers }), name);
  assertEquals((await get(other, "/?characteristic=pH")).includes(name), false);
  const file = await app.request("/download", { method: "POST", body });
  await file.body?.cancel();
  const link = file.headers.get("content-location")!;
  assertStringIncludes(link, `expires=${Date.parse("2027-01-22T08:00Z") / 1_000}&`);
  const signed = await app.request(link, { method: "HEAD" });
  assertEquals([file.status, signed.status], [200, 200]);
});

Deno.test("GET /measured without a key has a form that leads back to it with the key", async () => {
  const { app, log } = overSandbox({ records: 300 }, { access: "caller", logRequests: true });
  const refused = await app.request("/measured?characteristic=pH");
  assertEquals(refused.status, 401);
  const [, action = ""] =
    /<form[^>]* method="post"[^>]* action="([^"]*)"/.exec(await refused.text()) ?? [];
  const body = new URLSearchParams({ token: "sandbox", lang: "en", dataset: "" });
  const html = await get(app, action.replaceAll("&amp;", "&"), { method: "POST", body });
  assertMatch(textOf(html), /Characteristic Results Years pH \d+ /);
  assertEquals((log.join() + html).includes("sandbox"), false);
});

Deno.test("POST / rejects a form that is too large", async () => {
  const { app } = overSandbox({}, { access: "token", tokens: [TOKEN] });
  const response = await app.request("/", { method: "POST", body: "a".repeat(100_001) });
  assertEquals(response.status, 413);
});

Deno.test("HEAD / sends no request to the service", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/?characteristic=pH", { method: "HEAD" });
  assertEquals([response.status, stats.requests], [200, 0]);
});

Deno.test("GET / aborts every request to the service when the client disconnects", async () => {
  for (const part of ["Metadata", "Locations", "Observations"]) {
    const client = new AbortController();
    const seen: boolean[] = [];
    const { app } = overUpstream([], {
      fetch({ url, signal }) {
        if (url.includes(part)) {
          client.abort();
          seen.push(signal.aborted);
        }
        return Promise.resolve(page(url.includes("Metadata") ? [] : [{ Id: 1 }]));
      },
    });
    const url = "http://localhost/?from=2000";
    await app.fetch(new Request(url, { signal: client.signal }));
    assertEquals(seen, [true], part);
  }
});

const PH = "characteristic=pH&where=Manitoba&from=2015&to=2020";

Deno.test("GET / links its files, has no inline script or style, and is small", async () => {
  const { app } = overSandbox({ records: 3_000 });
  const types = {
    "/": "text/html",
    "/weir.css": "text/css",
    "/weir.js": "text/javascript",
    "/weir.svg": "image/svg+xml",
  };
  let bytes = 0;
  for (const [path, type] of Object.entries(types)) {
    const { headers, body } = await app.request(path);
    assertStringIncludes(headers.get("content-type")!, type);
    const zipped = body!.pipeThrough(new CompressionStream("gzip"));
    bytes += (await new Response(zipped).bytes()).length;
  }
  assert(bytes < 30_000, `${bytes} bytes`);
  for (const path of ["/", `/?${PH}`, "/datasets/10.25976/weir-aa00", "/fields"]) {
    assertEquals(
      /\son\w+=|\sstyle=|<style|<script(?! src="\/weir\.js" type="module">)|(src|srcset)="http/
        .test(await get(app, path)),
      false,
    );
  }
});
