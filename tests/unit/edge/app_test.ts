// The app serves its routes with the common headers, hides internal errors, and checks its options.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { type AppOptions, createApp } from "../../../edge/app.ts";
import { FakeClock } from "../../helpers/fake_clock.ts";
import { overSandbox, overUpstream, problemOf, SECRET } from "../../helpers/edge.ts";

/** A programming error, as it occurs in JavaScript. */
const fail = () => (undefined as unknown as string).length;
const BUG = "Cannot read properties of undefined (reading 'length')";

Deno.test("EdgeApp.request() returns 500 for a download and the web page, and logs the error, when clock.sleep() throws", async () => {
  const clock = new FakeClock();
  const { app, log } = overSandbox({}, { clock, requestsPerSecond: 1 });
  await (await app.request("/Metadata.csv")).text();
  clock.sleep = fail as unknown as FakeClock["sleep"]; // the next request waits for the rate limit
  for (const path of ["/Metadata.csv?$select=DOI", "/?characteristic=pH"]) {
    const response = await app.request(path);
    assertEquals(response.status, 500);
    assertEquals((await response.clone().text()).includes(BUG), false);
    await problemOf(response);
    assertStringIncludes(log.pop()!, BUG);
    assertEquals(log, []);
  }
});

Deno.test("EdgeApp.request() returns 500 after one request, and logs the option, when fetch returns no Response", async () => {
  let calls = 0;
  const fetch = () => [undefined, calls++][0] as unknown as Response;
  const { app, log } = overSandbox({}, { fetch });
  assertEquals([(await app.request("/Metadata.csv?$select=DOI")).status, calls], [500, 1]);
  assertStringIncludes(log.pop()!, "The option fetch must return a Response, got undefined");
});

Deno.test("createApp() logs to standard error, without the key, when it has no log option or log() throws", async () => {
  const logged: unknown[][] = [];
  const { error } = console;
  console.error = (...line) => void logged.push(line);
  try {
    for (const log of [undefined, () => void fail()]) {
      const reply = Response.json({ message: "no k3y-of-a-test" }, { status: 500 });
      const { app } = overUpstream([reply], { log });
      assertEquals((await app.request("/Records.csv")).status, 502);
    }
  } finally {
    console.error = error;
  }
  // The second app also logs the error of its log.
  const texts = ["Download of Records failed", "DataStream has not answered"];
  const wanted = [...texts, ...texts.flatMap((text) => [text, BUG])];
  assertEquals(logged.map(({ length }) => length), wanted.map(() => 1));
  wanted.forEach((text, index) => assertStringIncludes(String(logged[index]), text));
  assertEquals(logged.join().includes("k3y-of-a-test"), false);
});

const signed = { access: "signed", signingSecret: SECRET } as const;
const refused: [options: Partial<AppOptions>, message: string][] = [
  [{ access: "all" as "public" }, '"all"'],
  [{ access: undefined as unknown as "public" }, "access must be one of"],
  [{ ...signed, apiKey: "" }, "apiKey must be set for signed access"],
  [{ ...signed, signingSecret: "é".repeat(15) + "x" }, "got 31"],
  [{ access: "token" }, "tokens must be set for token access"],
  [{ access: "token", tokens: ["sixteen and more of them"] }, "(not shown)"],
  [{ access: "token", tokens: ["x".repeat(15)] }, "at least 16"],
  [{ tokens: [`anna=${"x".repeat(15)}`] }, "at least 16"],
  [{ tokens: [`an na=${"x".repeat(16)}`] }, "after a name of at most 32 letters"],
  [{ tokens: ["anna=", "lab="].map((name) => name + "x".repeat(16)) }, "has one token twice"],
  [{ tokens: "a-token" as unknown as string[] }, "tokens must be a list of strings"],
  [{ access: "caller", apiKey: undefined, baseUrl: "http://example.org/v1" }, "https://"],
  [{ corsOrigins: ["https://a.example/"] }, "corsOrigins must be"],
  [{ maxRow: 1 } as object, 'maxRow is not an option of createApp(): did you mean "maxRows"?'],
  [{ maxRows: 0 }, "maxRows"],
  [{ maxDownloads: 0.5 }, "maxDownloads"],
  [{ maxDownloadsPerClient: 0 }, "maxDownloadsPerClient"],
  [{ clientAddressHeader: "x-forwarded-for:" }, "must be the name of a header"],
  [{ clientAddressHeader: "Forwarded" }, "the name of a header, such as x-forwarded-for"],
  [{ maxCachedBytes: 0 }, "maxCachedBytes"],
  [{ cacheTtl: 86_400_001 }, "cacheTtl"],
  [{ pageRows: 10_001 }, "pageRows"],
  [{ readerTimeout: 0 }, "readerTimeout"],
];
for (const [options, message] of refused) {
  Deno.test(`createApp() throws a ValidationError when given ${Deno.inspect(options)}`, () => {
    const create = () => createApp({ access: "public", apiKey: "k", ...options });
    assertThrows(create, ValidationError, message);
  });
}
