// count() sends one request, and reads the number in each form of the service.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, eq } from "../../../mod.ts";
import { sandboxAndClient } from "../../helpers/sandbox.ts";
import { ROOT, upstream } from "../../helpers/upstream.ts";

const forms: [name: string, body: unknown][] = [
  ["a number", { value: 1234567 }],
  ["a string of digits", { value: "1234567" }],
  ["the count member of OData 4", { "@odata.count": 1234567, value: [] }],
  ["the count member without its @", { "odata.count": "1234567", value: [] }],
  ["a bare number", 1234567],
];
for (const [name, body] of forms) {
  Deno.test(`count() reads the count when the response is ${name}`, async () => {
    const { options, requests } = upstream(Response.json(body));
    const client = new DataStream(options);
    const query = client.records({ filter: eq("DOI", "x"), select: ["Id"], top: 5 });
    assertEquals(await query.count(), 1_234_567);
    assertEquals(requests[0]?.url, `${ROOT}/Records?%24filter=DOI%20eq%20%27x%27&%24count=true`);
  });
}

for (const body of [{ value: [] }, { value: "1,234" }, { value: -1 }, { value: 1.5 }, {}, null]) {
  Deno.test(`count() fails when the response is ${JSON.stringify(body)}`, async () => {
    const { options } = upstream(Response.json(body));
    const count = () => new DataStream(options).records().count();
    const error = await assertRejects(count, DataStreamError, "Expected a count from");
    assertEquals(error.kind, "page");
  });
}

Deno.test("count() rejects when its signal aborts while the count arrives", async () => {
  const stop = new AbortController();
  const { options } = upstream(() => {
    stop.abort("enough");
    return Response.json({ value: 1 });
  });
  const query = new DataStream(options).records({ signal: stop.signal });
  assertEquals(await query.count().catch((error) => error), "enough");
});

Deno.test("count() ignores limit, page size and position when it counts a resource", async () => {
  const { client } = sandboxAndClient({ records: 500 });
  assertEquals(await client.records({ limit: 3, top: 2, skipToken: "Id:500500" }).count(), 500);
});
