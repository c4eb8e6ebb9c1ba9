// The server sends citations as text and in the formats of reference managers.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { test } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream } from "../../../helpers/edge.ts";
import { sandboxRequests } from "../../../helpers/sandbox.ts";
import { page } from "../../../helpers/upstream.ts";

test("EdgeApp.request() adds bbox to the filter of the citations", async () => {
  const { app, requests } = overUpstream([page([])]);
  const response = await app.request("/Citations.txt?bbox=-64,46,-62,47&$filter=DOI eq 'x'");
  assertEquals(await response.text(), "No dataset matches.\n");
  const filter = new URL(requests[0]!.url).searchParams.get("$filter")!;
  assertStringIncludes(filter, "DOI eq 'x' and Longitude gt '-64'");
});

test("EdgeApp.request() sends no request for HEAD /Citations.txt", async () => {
  const { app, stats } = overSandbox();
  const response = await app.request("/Citations.txt", { method: "HEAD" });
  assertEquals([response.status, stats.requests], [200, 0]);
});

test("EdgeApp.request() returns the citations of the matching locations when the filter has the name of a location", async () => {
  const { app, stats } = overSandbox();
  const [location] = await sandboxRequests().rows("Locations");
  const filter = encodeURIComponent(`Name eq '${String(location!.Name).replaceAll("'", "''")}'`);
  const citations = await (await app.request(`/Citations.json?$filter=${filter}`)).json();
  assertEquals(citations.map(({ doi }: { doi: string }) => doi), [location!.DOI]);
  assertEquals(stats.requests, 2);
  const none = await app.request("/Citations.txt?$filter=Name eq 'none'&bbox=-64,46,-62,47");
  assertEquals(await none.text(), "No dataset matches.\n");
});
