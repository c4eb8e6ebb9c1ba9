// Each option of a client is checked before the first request, and has an effect.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  DataStream,
  type DataStreamOptions,
  PRODUCTION_URL,
  QA_URL,
  ValidationError,
} from "../../../mod.ts";

const SECRET = "secret-key";

const invalidOptions: [options: unknown, option: string, message: string][] = [
  [{ baseUrl: "/v1" }, "baseUrl", `an absolute URL such as ${PRODUCTION_URL}, got another value`],
  [{ baseUrl: "http://example.org", apiKey: SECRET }, "baseUrl", 'got "http://example.org": http:'],
  [{ baseUrl: "http://127.evil.org", apiKey: SECRET }, "baseUrl", 'got "http://127.evil.org"'],
  [{ baseUrl: `https://:${SECRET}@example.org` }, "baseUrl", "must have no user name"],
  [{ baseUrl: `https://${SECRET}@a.org` }, "baseUrl", "must have no user name"],
  [{ baseUrl: `https://a.org/#${SECRET}` }, "baseUrl", "must have no user name"],
  [SECRET, "options", "an object such as { apiKey: … }"],
  [{ apiKey: "" }, "apiKey", "apiKey must not be empty: omit it, or set it"],
  [{ apiKey: "secret key" }, "apiKey", "must be visible ASCII characters, got others (not shown)"],
  [{ apiKey: `${SECRET}\n` }, "apiKey", "such as a line feed: pass apiKey.trim()"],
  [{ banana: SECRET }, "banana", "is not an option of DataStream: use one of apiKey, baseUrl,"],
  [{ retry: { atempts: 3 } }, "retry.atempts", 'did you mean "attempts"?'],
  [{ retry: { attempts: 1001 } }, "retry.attempts", "a whole number from 1 to 1000, got 1001"],
  [{ retry: { backoff: -1 } }, "retry.backoff", "a whole number from 0 to 3600000, got -1"],
  [{ retry: { retryAfter: 4e6 } }, "retry.retryAfter", "a whole number from 0 to 3600000"],
  [{ timeouts: { headers: 0 } }, "timeouts.headers", "a whole number from 1 to 3600000"],
  [{ requestsPerSecond: 0 }, "requestsPerSecond", "must be a number above 0, got 0"],
];
for (const [options, option, message] of invalidOptions) {
  Deno.test(`new DataStream() throws a ValidationError when it gets ${JSON.stringify(options)}`, () => {
    const create = () => new DataStream(options as DataStreamOptions);
    const error = assertThrows(create, ValidationError, message);
    assertEquals(error.option, option);
    assert(!`${error.stack} ${error.received}`.includes(SECRET));
  });
}

Deno.test("new DataStream() throws when the rate is above 2 for DataStream", () => {
  for (const baseUrl of [PRODUCTION_URL, QA_URL, PRODUCTION_URL.replace(".org/", ".org./")]) {
    const create = () => new DataStream({ baseUrl, requestsPerSecond: 3 });
    assertThrows(create, ValidationError, "requestsPerSecond must be at most 2 for DataStream");
  }
  new DataStream({ baseUrl: "https://example.org", requestsPerSecond: 3 });
});

Deno.test("new DataStream() accepts plain HTTP on loopback, or without a key", () => {
  for (const host of ["localhost:8000", "127.0.0.1", "[::1]:80"]) {
    new DataStream({ baseUrl: `http://${host}/v1`, apiKey: "k" });
  }
  new DataStream({ baseUrl: "http://example.org" });
});

Deno.test("new DataStream() accepts a base URL that ends with a slash or white space", () => {
  for (const end of ["", "/", " ", "/ "]) {
    const { url } = new DataStream({ baseUrl: `https://example.org/v1${end}` }).records();
    assertEquals(url, "https://example.org/v1/Records?%24top=10000");
  }
});

Deno.test("new DataStream() accepts the lowest and the highest value of each number", () => {
  const retries = [
    { attempts: 1, backoff: 0, retryAfter: 0 },
    { attempts: 1_000, backoff: 3_600_000, retryAfter: 3_600_000 },
  ];
  for (const retry of retries) new DataStream({ retry });
  for (const time of [1, 3_600_000]) new DataStream({ timeouts: { headers: time, bytes: time } });
  for (const rate of [Number.MIN_VALUE, 2]) new DataStream({ requestsPerSecond: rate });
});
