// Requests have the headers that the options of the client determine.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, type DataStreamOptions, ValidationError } from "../../../mod.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";
import { VERSION } from "../../helpers/project.ts";

/** Returns the headers of the request that a client with these options sends. */
async function headersOf(options: DataStreamOptions): Promise<Record<string, string>> {
  const service = upstream(page([]));
  const { fetch, clock } = service.options;
  await new DataStream({ baseUrl: ROOT, fetch, clock, ...options }).metadata().toArray();
  return Object.fromEntries(service.requests[0]!.headers);
}

const accept = "application/vnd.api+json";

Deno.test("DataStream sends accept, user-agent, and x-api-key when there is a key", async () => {
  assertEquals(await headersOf({}), { accept, "user-agent": `weir/${VERSION}` });
  assertEquals(await headersOf({ apiKey: "k3y" }), {
    accept,
    "user-agent": `weir/${VERSION}`,
    "x-api-key": "k3y",
  });
});

for (const userAgent of ["my-app", "my-app/1.0", "my-app/1.0 (mailto:me@example.org) lib/2"]) {
  Deno.test(`DataStream sends the product before Weir's when userAgent is ${userAgent}`, async () => {
    const headers = await headersOf({ userAgent });
    assertEquals(headers["user-agent"], `${userAgent} weir/${VERSION}`);
  });
}

for (
  const userAgent of ["", " ", "a\r\nx-api-key: b", "a\n", "é", "a/", "/1", "a (b", "a  b", "a\0"]
) {
  Deno.test(`new DataStream() throws when userAgent is ${JSON.stringify(userAgent)}`, () => {
    assertThrows(
      () => new DataStream({ userAgent }),
      ValidationError,
      "userAgent must be a product",
    );
  });
}

/** Runs a test with another global `navigator`. */
async function withNavigator(value: object | undefined, test: () => Promise<void>): Promise<void> {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator")!;
  Object.defineProperty(globalThis, "navigator", { configurable: true, value });
  try {
    await test();
  } finally {
    Object.defineProperty(globalThis, "navigator", own);
  }
}

Deno.test("DataStream sends no user-agent when it runs in a browser", async () => {
  const browser = { userAgent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0" };
  await withNavigator(browser, async () => {
    assertEquals(await headersOf({ userAgent: "my-app/1.0" }), { accept });
    assertEquals(await headersOf({ apiKey: "k3y" }), { accept, "x-api-key": "k3y" });
  });
});

Deno.test("DataStream sends user-agent when the runtime has no name", async () => {
  for (const navigator of [undefined, {}]) {
    await withNavigator(navigator, async () => {
      assertEquals((await headersOf({}))["user-agent"], `weir/${VERSION}`);
    });
  }
});

Deno.test("DataStream sends the key of its own client when two clients have different keys", async () => {
  const { options, requests } = upstream(...Array.from({ length: 6 }, () => () => page([])));
  const one = new DataStream({ ...options, apiKey: "one" });
  const two = new DataStream({ ...options, apiKey: "two" });
  const [locations, metadata] = [() => one.locations().toArray(), () => two.metadata().toArray()];
  await Promise.all(
    [locations, metadata, locations, metadata, metadata, locations].map((f) => f()),
  );
  assertEquals(requests.length, 6);
  for (const { headers, url } of requests) {
    assertEquals(headers.get("x-api-key"), url.includes("/Locations") ? "one" : "two");
  }
});

Deno.test("DataStream.with() changes the given options, and keeps the others and the first client", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const given = { ...options, apiKey: "first", userAgent: "my-app/1.0" };
  const first = new DataStream(given);
  given.userAgent = "other/1.0";
  await first.with({ apiKey: "second" }).metadata().toArray();
  await first.metadata().toArray();
  assertEquals(requests.map(({ headers }) => headers.get("x-api-key")), ["second", "first"]);
  for (const { headers } of requests) {
    assertEquals(headers.get("user-agent"), `my-app/1.0 weir/${VERSION}`);
  }
});

Deno.test("DataStream.with() throws when an option is unknown or invalid", () => {
  const client = new DataStream();
  assertThrows(
    () => client.with({ apikey: "k" } as DataStreamOptions),
    ValidationError,
    '"apiKey"?',
  );
  assertThrows(() => client.with({ apiKey: "k\n" }), ValidationError, "apiKey");
});
