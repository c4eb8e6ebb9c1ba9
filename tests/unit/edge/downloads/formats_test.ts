// Extension and Accept header choose the format of a download.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";

const typeOf = async (path: string, accept?: string) => {
  const { app } = overSandbox({ records: 1 });
  const response = await app.request(path, { headers: accept === undefined ? {} : { accept } });
  await response.body?.cancel();
  assertEquals(response.headers.get("vary"), "accept");
  return [response.status, response.headers.get("content-type")?.split(";")[0]];
};

const negotiated: [accept: string | undefined, type: string, resource?: string][] = [
  [undefined, "text/csv"],
  ["text/csv;header=present;q=0.1, application/json;q=0.2", "application/json"],
  ["application/json;odata.metadata=minimal", "application/json"],
  ["application/geo+json, application/json;q=0.9", "application/json"],
  ["application/geo+json, application/json;q=0.9", "application/geo+json", "Locations"],
];
for (const [accept, type, resource = "Records"] of negotiated) {
  Deno.test(`EdgeApp.request() returns ${type} for /${resource} when accept is ${accept}`, async () => {
    assertEquals(await typeOf(`/${resource}`, accept), [200, type]);
  });
}

const formats: [format: string, type: string][] = [
  ["parquet", "application/vnd.apache.parquet"],
  ["application/json;odata.metadata=none", "application/json"],
  ["application/geo%2Bjson", "application/geo+json"],
  ["%20csv%20", "text/csv"],
];
for (const [format, type] of formats) {
  Deno.test(`EdgeApp.request() returns ${type} for /Locations?$format=${format}, whatever accept is`, async () => {
    assertEquals(await typeOf(`/Locations?$format=${format}`, "text/plain"), [200, type]);
  });
}
