// Requests have the headers that the options of the client determine.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type DataStreamOptions, ValidationError } from "../../../mod.ts";
import { VERSION } from "../../helpers/project.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

/** Returns the headers of the request that a client with these options sends. */
async function headersOf(options: DataStreamOptions): Promise<Record<string, string>> {
  const service = upstream(page([]));
  const { fetch, clock } = service.options;
  await new DataStream({ baseUrl: ROOT, fetch, clock, ...options }).metadata().toArray();
  return Object.fromEntries(service.requests[0]!.headers);
}

const accept = "application/vnd.api+json";
const WEIR = `weir/${VERSION}`;

Deno.test("DataStream sends accept, user-agent, and x-api-key when there is a key", async () => {
  assertEquals(await headersOf({}), { accept, "user-agent": WEIR });
  const headers = { accept, "user-agent": WEIR, "x-api-key": "k3y" };
  assertEquals(await headersOf({ apiKey: "k3y" }), headers);
});

for (const userAgent of ["my-app", "my-app/1.0", "my-app/1.0 (mailto:me@example.org) lib/2"]) {
  Deno.test(`DataStream sends the product before Weir's when userAgent is ${userAgent}`, async () => {
    assertEquals((await headersOf({ userAgent }))["user-agent"], `${userAgent} ${WEIR}`);
  });
}

for (const userAgent of ["", "a\r\nx-api-key: b", "a\n", "é", "a/", "/1", "a (b", "(a)", "a  b"]) {
  Deno.test(`new DataStream() throws when userAgent is ${JSON.stringify(userAgent)}`, () => {
    const create = () => new DataStream({ userAgent });
    assertThrows(create, ValidationError, "userAgent must be a product");
  });
}

Deno.test("DataStream.with() changes the given options, and keeps the others and the first client", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const given = { ...options, apiKey: "first", userAgent: "my-app/1.0" };
  const first = new DataStream(given);
  given.userAgent = "other/1.0";
  await first.with({ apiKey: "second" }).metadata().toArray();
  await first.metadata().toArray();
  const sent = requests.map(({ headers }) =>
    ["x-api-key", "user-agent"].map((n) => headers.get(n))
  );
  assertEquals(sent, [["second", `my-app/1.0 ${WEIR}`], ["first", `my-app/1.0 ${WEIR}`]]);
});
