// Faults of the service, on each runtime: before the first page a status, later a broken transfer.
import { assertEquals, assertRejects } from "@std/assert";
import { runProgram } from "../../helpers/programs.ts";
import { until } from "../../helpers/until.ts";
import { startApp, testOnEach } from "./runtimes.ts";
import { DOWNLOAD, isWhole, json, over, pageFor, rowsOf, serveUpstream } from "./upstream.ts";

const hasCurl = await runProgram("curl", "--version") !== undefined;
if (!hasCurl) console.warn("The tests with curl are skipped: curl is not installed");

const refuse = (status: number) => () => Response.json({ message: "no" }, { status });

for (const status of [500, 403]) {
  testOnEach(`a ${status} before the first page is a problem`, async (runtime) => {
    await using upstream = serveUpstream(refuse(status), 0);
    await using server = await startApp(runtime, over(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals(response.status, 502);
    assertEquals(response.headers.get("content-type"), "application/problem+json");
    const problem = await response.json();
    assertEquals([problem.type, problem.status], ["about:blank", 502]);
    await until(() => server.log().includes("Download of Records failed"), "the log");
  });
}

/** An answer whose connection is cut in the middle: it has fewer bytes than it says. */
function cut(): Response {
  const body = ReadableStream.from([new TextEncoder().encode('{"value":[{"Id":41,')]);
  const headers = { "content-type": "application/json", "content-length": "1000" };
  return new Response(body, { headers });
}

const FAULTS: Record<string, () => Response> = {
  "a 500": refuse(500),
  "broken JSON": () => json('{"value":[{"Id":41,'),
  "a cut connection": cut,
};
/** Pages of many pieces. */
const LONG = { rows: 2_000, width: 1_000, pages: 5 };
/** Pages of one piece. */
const SHORT = { rows: 20, width: 1_000, pages: 5 };

for (const [name, fault] of Object.entries(FAULTS)) {
  testOnEach(`${name} after the first page breaks the transfer of fetch`, async (runtime) => {
    await using upstream = serveUpstream(
      (request, number) => number === 2 ? fault() : json(pageFor(request, LONG)),
      rowsOf(LONG),
    );
    await using server = await startApp(runtime, over(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
    await until(() => server.log().includes("Download of Records failed after"), "the log");
    assertEquals(upstream.pages.length, 2);
  });

  testOnEach(`${name} after the first page makes curl fail`, async (runtime) => {
    await using upstream = serveUpstream(
      (request, number) => number === 2 ? fault() : json(pageFor(request, LONG)),
      rowsOf(LONG),
    );
    await using server = await startApp(runtime, over(upstream));
    const url = server.root + DOWNLOAD;
    const { success, stdout } = (await runProgram("curl", "--silent", "--fail", url))!;
    assertEquals([success, isWhole(stdout, LONG)], [false, false]);
    assertEquals(upstream.pages.length, 2);
  }, hasCurl);

  testOnEach(`${name} after a first page that is short never ends clean`, async (runtime) => {
    await using upstream = serveUpstream(
      (request, number) => number === 2 ? fault() : json(pageFor(request, SHORT)),
      rowsOf(SHORT),
    );
    await using server = await startApp(runtime, over(upstream));
    const response = await fetch(server.root + DOWNLOAD);
    assertEquals(response.status, 200);
    await assertRejects(() => response.text());
    assertEquals(upstream.pages.length, 2);
  });
}
