// A download is sent as it arrives, no faster than its client reads.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { test } from "../../../helpers/deadline.ts";
import { isVersionRequest, overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";

/** Never responds. */
const hang = ({ signal }: Request) =>
  new Promise<Response>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason))
  );

test("EdgeApp.request() sends each page when it arrives and requests one page ahead of the client", async () => {
  const { app, stats, clock } = overSandbox({ records: 3_000 });
  const response = await app.request("/Records.csv?$select=Id&$top=1000");
  assertEquals(stats.requests, 1);
  const reader = response.body!.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value).split("\r\n").length, 1 + 1_000 + 1);
  await clock.sleep(10_000);
  assertEquals(stats.requests, 4); // with the versions of the datasets and a count
  await reader.read();
  await clock.sleep(10_000);
  assertEquals(stats.requests, 6);
  await reader.cancel();
});

// The server of Node aborts with a text, not with an error.
for (const reason of [undefined, "Error: aborted"]) {
  test(`EdgeApp.request() aborts the request, releases the permit and logs a line when the client leaves before the first page (reason: ${reason})`, async () => {
    for (
      const path of ["/Records.csv", "/Records?$count=true", "/Citations.txt", "/"]
    ) {
      const limits = { maxDownloads: 1, logRequests: true };
      const { app, requests, clock, log } = overUpstream([hang, page([])], limits);
      const client = new AbortController();
      const answer = app.request(path, { signal: client.signal });
      await clock.sleep(1_000);
      client.abort(reason);
      const { status, body } = await answer;
      await body?.cancel();
      assertEquals([status, requests[0]!.signal.aborted, log.length], [499, true, 1], path);
      assertMatch(log[0]!, / info .* 499 aborted: 0 rows, .* 1 upstream request/);
      const next = await app.request("/Records.csv");
      assertEquals(next.status, 200);
      await next.text();
    }
  });
}

test("EdgeApp.request() sends no request when the client has already disconnected", async () => {
  const { app, requests, log } = overUpstream([], { maxDownloads: 1 });
  for (let times = 0; times < 2; times++) {
    const response = await app.request("/Records.csv", { signal: AbortSignal.abort() });
    await response.body?.cancel();
    assertEquals([response.status, requests.length, log], [499, 0, []]);
  }
});

test("EdgeApp.request() closes a download when the client disconnects after its first row has arrived", async () => {
  const client = new AbortController();
  let hasRows = false;
  const date = new Date(0).toUTCString();
  const versions = page([{ DOI: "10.1/a", Version: "1", PublishedTimestamp: "2024-01-01" }]);
  const { app, log } = overSandbox({}, {
    fetch: (request) => {
      hasRows = !isVersionRequest(request);
      return Promise.resolve(hasRows ? page([{ Id: 1 }], undefined, { date }) : versions);
    },
    // Read for Last-Modified, the last header.
    now() {
      if (hasRows) client.abort();
      return 0;
    },
  });
  const headers = { "if-none-match": '"x"' };
  const response = await app.request("/Records.csv", { headers, signal: client.signal });
  assertEquals([response.status, app.openResponses(), log], [499, 0, []]);
});
