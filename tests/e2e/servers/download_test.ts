// Whole downloads, and what stands before them, on each runtime.
import { assertEquals, assertMatch } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { RUNTIMES, startApp, testOn, testOnEach } from "./runtimes.ts";
import { Silence } from "./silence.ts";
import { DOWNLOAD, isWhole, json, over, pageFor, rowsOf, serveUpstream } from "./upstream.ts";

const RECORDS = 100_000;
const sandbox = createSandbox({ records: RECORDS, requestsPerSecond: Infinity });

/** What the app gives in this process, without a server between. */
const reference = await (await createApp({
  access: "public",
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
}).request("/Records.csv")).bytes();

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

Deno.test("what the servers' downloads are held against has each record once", () => {
  const rows = readCsv(new TextDecoder().decode(reference));
  assertEquals(rows.length, 1 + RECORDS);
  assertEquals(new Set(rows.map(([id]) => id)).size, 1 + RECORDS);
});

testOnEach("a download of 100,000 rows comes whole, to the byte", async (runtime) => {
  await using upstream = serveUpstream((request) => sandbox.fetch(request), RECORDS);
  await using server = await startApp(runtime, over(upstream));
  const response = await fetch(`${server.root}/Records.csv`);
  assertEquals(response.headers.get("content-type"), "text/csv; charset=utf-8");
  const bytes = await response.bytes();
  assertEquals(bytes.length, reference.length);
  assertEquals(await digest(bytes), await digest(reference));
  assertEquals(upstream.pages.length, RECORDS / 10_000);
  assertEquals(server.log().includes("broke"), false);
});

testOnEach("HEAD has the headers, no length, and asks the service nothing", async (runtime) => {
  await using upstream = serveUpstream(
    (request) => json(pageFor(request, { rows: 10, width: 10, pages: 1 })),
    10,
  );
  await using server = await startApp(runtime, over(upstream));
  const { status, headers } = await fetch(server.root + DOWNLOAD, { method: "HEAD" });
  assertEquals([status, headers.get("content-length")], [200, null]);
  assertEquals(headers.get("content-type"), "text/csv; charset=utf-8");
  assertMatch(headers.get("content-disposition") ?? "", /^attachment; filename="records.csv"/);
  assertEquals(upstream.asked.length, 0);
  const { body } = await fetch(server.root + DOWNLOAD);
  await body!.cancel();
  assertEquals(upstream.pages.length, 1);
});

for (const runtime of RUNTIMES.filter(({ cutsAfter }) => cutsAfter !== undefined)) {
  testOn(runtime, "a download outlives a silence that would be cut by default", async () => {
    const shape = { rows: 20, width: 1_000, pages: 3 };
    const silence = new Silence("before its headers");
    await using upstream = serveUpstream((request, number) => {
      const page = pageFor(request, shape);
      return number === 2 ? silence.answer(request, page) : json(page);
    }, rowsOf(shape));
    await using server = await startApp(runtime, over(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    // What is tested is this time itself.
    setTimeout(() => silence.end(), runtime.cutsAfter! + 3_000);
    assertEquals(isWhole(await response.text(), shape), true);
  });
}
