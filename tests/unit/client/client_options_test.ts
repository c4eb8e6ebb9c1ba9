// What a client is made of, told at once where it is wrong.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  DataStream,
  type DataStreamOptions,
  PRODUCTION_URL,
  QA_URL,
  ValidationError,
} from "../../../mod.ts";

const wrongOptions: [
  name: string,
  options: ConstructorParameters<typeof DataStream>[0],
  message: string,
][] = [
  ["a relative base URL", { baseUrl: "/v1" }, "absolute URL"],
  ["a key over plain HTTP", { baseUrl: "http://example.org", apiKey: "secret-key" }, "https://"],
  ["another protocol", { baseUrl: "ftp://example.org" }, "https://"],
  [
    "a key over plain HTTP to a name like loopback",
    { baseUrl: "http://127.evil.org", apiKey: "k" },
    "https://",
  ],
  ["a key in place of the base URL", { baseUrl: "secret-key" }, "absolute URL"],
  ["a password in the base URL", { baseUrl: "https://:secret-key@example.org" }, "password"],
  ["a user name in the base URL", { baseUrl: "https://me@example.org" }, "no user name"],
  [
    "a query in the base URL",
    { baseUrl: "https://example.org/?a=1" },
    "no user name, password, query",
  ],
  ["an empty key", { apiKey: "" }, "apiKey"],
  ["a key with a line feed", { apiKey: "secret-key\nx: y" }, "apiKey"],
  ["a key with a line feed at its end", { apiKey: "secret-key\n" }, "such as a line feed"],
  ["a key with CRLF at its end", { apiKey: "secret-key\r\n" }, "pass apiKey.trim()"],
  ["a key with a space before it", { apiKey: " secret-key" }, "pass apiKey.trim()"],
  ["a key with a space in it", { apiKey: "secret key" }, "visible ASCII characters"],
  [
    "an option that is like none",
    { banana: 1 } as never,
    "banana is not an option of DataStream: use one of apiKey, baseUrl,",
  ],
  [
    "a misspelt option",
    { apikey: "secret-key" } as never,
    'apikey is not an option of DataStream: did you mean "apiKey"?',
  ],
  ["a misspelt limit", { retry: { atempts: 3 } } as never, 'did you mean "attempts"?'],
  ["a misspelt time", { timeouts: { header: 3 } } as never, 'did you mean "headers"?'],
];
for (const [name, options, message] of wrongOptions) {
  Deno.test(`DataStream refuses ${name}`, () => {
    const error = assertThrows(() => new DataStream(options), TypeError, message);
    assertEquals(error.message.includes("secret-key"), false);
  });
}

Deno.test("DataStream takes plain HTTP on loopback, or where there is no key", () => {
  for (const host of ["localhost:8000", "127.0.0.1", "[::1]:80"]) {
    new DataStream({ baseUrl: `http://${host}/v1`, apiKey: "k" });
  }
  new DataStream({ baseUrl: "http://example.org" });
});

Deno.test("DataStream takes a base URL with a slash or white space at its end", () => {
  for (const end of ["", "/", " ", "/ "]) {
    const { url } = new DataStream({ baseUrl: `https://example.org/v1${end}` }).records();
    assertEquals(url, "https://example.org/v1/Records?%24top=10000");
  }
});

Deno.test("DataStream refuses a faster pace than the service allows, for the service", () => {
  const dotted = PRODUCTION_URL.replace(".org/", ".org./");
  for (const baseUrl of [PRODUCTION_URL, QA_URL, dotted]) {
    assertThrows(
      () => new DataStream({ baseUrl, requestsPerSecond: 3 }),
      ValidationError,
      "at most 2",
    );
  }
  const unencrypted = PRODUCTION_URL.replace("https", "http");
  const fast = { baseUrl: unencrypted, requestsPerSecond: 3 };
  assertThrows(() => new DataStream(fast), ValidationError, "at most 2");
  assertThrows(() => new DataStream({ requestsPerSecond: 0 }), ValidationError, "above 0");
  assertThrows(() => new DataStream({ requestsPerSecond: NaN }), ValidationError, "above 0");
  const text = { requestsPerSecond: "2" } as unknown as DataStreamOptions;
  assertThrows(() => new DataStream(text), ValidationError, 'got "2"');
  new DataStream({ baseUrl: "https://example.org", requestsPerSecond: 3 });
});

const wrongKinds: [name: string, options: unknown, message: string][] = [
  ["a key in place of options", "secret-key", "DataStream must be an object such as { apiKey: … }"],
  ["a number of retries", { retry: 3 }, "retry must be an object such as { attempts: … }, got 3"],
  ["no retries", { retry: false }, "got false"],
  ["one time for all", { timeouts: 100 }, "timeouts must be an object"],
  ["a key that is a number", { apiKey: 5 }, "apiKey must be visible ASCII"],
  ["a fetch that is none", { fetch: 5 }, "fetch must be a function, got 5"],
  ["a user agent that is a number", { userAgent: 5 }, "userAgent must be a product"],
];
for (const [name, options, message] of wrongKinds) {
  Deno.test(`DataStream refuses ${name}`, () => {
    assertThrows(() => new DataStream(options as DataStreamOptions), TypeError, message);
  });
}

const outOfRange: [name: string, options: DataStreamOptions][] = [
  ["retry.attempts", { retry: { attempts: 0 } }],
  ["retry.attempts", { retry: { attempts: 1.5 } }],
  ["retry.attempts", { retry: { attempts: NaN } }],
  ["retry.backoff", { retry: { backoff: -1 } }],
  ["retry.retryAfter", { retry: { retryAfter: Infinity } }],
  ["timeouts.headers", { timeouts: { headers: 0 } }],
  ["timeouts.bytes", { timeouts: { bytes: Infinity } }],
];
for (const [name, options] of outOfRange) {
  Deno.test(`DataStream refuses ${JSON.stringify(options)}`, () => {
    assertThrows(() => new DataStream(options), ValidationError, `${name} must be a`);
  });
}

Deno.test("DataStream takes an option that is undefined as one that is left out", () => {
  const options = { apiKey: undefined, retry: { attempts: undefined }, timeouts: undefined };
  assertEquals(new DataStream(options as DataStreamOptions).metadata().url.length > 0, true);
});
