// Extension and Accept header choose the format of a download.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";

const cases: [path: string, accept: string | undefined, type: string][] = [
  ["/Records", undefined, "text/csv"],
  ["/Records", "text/html, */*;q=0.1", "text/csv"],
  ["/Records", "text/csv;header=present;q=0.1, application/json;q=0.2", "application/json"],
  ["/Records", "application/json;odata.metadata=minimal", "application/json"],
  ["/Records", "application/geo+json, application/json;q=0.9", "application/json"],
  ["/Locations", "application/geo+json, application/json;q=0.9", "application/geo+json"],
  ["/Locations?$format=parquet", "text/plain", "application/vnd.apache.parquet"],
  ["/Locations?$format=application/json;odata.metadata=none", "text/plain", "application/json"],
  ["/Locations?$format=application/geo%2Bjson", "text/plain", "application/geo+json"],
  ["/Locations?$format=%20csv%20", "text/plain", "text/csv"],
];
for (const [path, accept, type] of cases) {
  Deno.test(`EdgeApp.request() returns ${type} for ${path} when accept is ${accept}`, async () => {
    const { app } = overSandbox({ records: 1 });
    const headers: HeadersInit = accept === undefined ? {} : { accept };
    const response = await app.request(path, { headers });
    await response.body?.cancel();
    assertEquals(response.headers.get("vary"), "accept");
    const actual = response.headers.get("content-type")?.split(";")[0];
    assertEquals([response.status, actual], [200, type]);
  });
}
