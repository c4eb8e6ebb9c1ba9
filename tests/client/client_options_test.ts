// What a client is made of, told at once where it is wrong.
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, PRODUCTION_URL, QA_URL } from "../../mod.ts";

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
    assertThrows(() => new DataStream({ baseUrl, requestsPerSecond: 3 }), RangeError, "at most 2");
  }
  const unencrypted = PRODUCTION_URL.replace("https", "http");
  const fast = { baseUrl: unencrypted, requestsPerSecond: 3 };
  assertThrows(() => new DataStream(fast), RangeError, "at most 2");
  assertThrows(() => new DataStream({ requestsPerSecond: 0 }), RangeError, "above 0");
  assertThrows(() => new DataStream({ requestsPerSecond: NaN }), RangeError, "above 0");
  new DataStream({ baseUrl: "https://example.org", requestsPerSecond: 3 });
});
