// A signed URL is valid in any encoding until it expires, and invalid after any change.
// Tests `verifyUrl()` directly: the edge app rejects some of the signed URLs for other reasons first.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { signUrl } from "../../../edge/app.ts";
import { ValidationError } from "../../../mod.ts";
import { verifyUrl } from "../../../src/signing/signed_url.ts";

const secret = "0123456789abcdef0123456789abcdef";
const expires = 1_800_000_000;
const before = expires * 1000 - 1;
const plain =
  "https://weir.example/Records.csv?$filter=CharacteristicName eq 'Température, eau'&limit=5";
const verify = (url: string | URL, now = before, by = secret) => verifyUrl(new URL(url), by, now);

Deno.test("verifyUrl() returns valid for a URL of signUrl() until it expires", async () => {
  const signed = await signUrl(plain, { secret, expires });
  assertMatch(
    signed,
    /^https:\/\/weir\.example\/Records\.csv\?%24filter=[^'" $+()]+&limit=5&expires=/,
  );
  assertEquals(await verify(signed), "valid");
  assertEquals(await verify(signed, expires * 1000), "valid");
  assertEquals(await verify(signed, expires * 1000 + 1), "expired");
  assertEquals(
    new URL(signed).searchParams.get("$filter"),
    new URL(plain).searchParams.get("$filter"),
  );
});

Deno.test("signUrl() signs the path and the sorted pairs with HMAC-SHA-256", async () => {
  const signed = await signUrl("https://h.example/Records.csv?b=2 3&a=é'", { secret, expires });
  // printf %s '/Records.csv?a=%C3%A9%27&b=2%203&expires=1800000000' | openssl dgst -sha256 -hmac …
  assertEquals(
    new URL(signed).searchParams.get("signature"),
    "11619bcf8bd894fbc71924be65c92f1268fd47bab44d7a7a650d6cc49090d909",
  );
});

const variants: [status: "valid" | "invalid", name: string, change: (url: string) => string][] = [
  ["valid", "$ and ' decoded", (url) => url.replaceAll("%24", "$").replaceAll("%27", "'")],
  ["valid", "plus signs for spaces", (url) => url.replaceAll("%20", "+")],
  ["valid", "codes in lower case", (url) => url.replaceAll(/%../g, (code) => code.toLowerCase())],
  ["valid", "more characters encoded", (url) => url.replace("limit", "%6Cimit")],
  ["valid", "another order", (url) => {
    const { origin, pathname, searchParams } = new URL(url);
    return `${origin}${pathname}?${new URLSearchParams([...searchParams].reverse())}`;
  }],
  ["valid", "another host", (url) => url.replace("weir.example", "inner.invalid:8000")],
  ["invalid", "another value", (url) => url.replace("limit=5", "limit=6")],
  ["invalid", "an additional parameter", (url) => `${url}&bom=true`],
  ["invalid", "a repeated parameter", (url) => `${url}&limit=5`],
  ["invalid", "another path", (url) => url.replace(".csv", ".json")],
  ["invalid", "a later expiry", (url) => url.replace("expires=1", "expires=2")],
  ["invalid", "an expiry with a leading zero", (url) => url.replace("expires=", "expires=0")],
  ["invalid", "no expiry", (url) => url.replace(/&expires=\d+/, "")],
  ["invalid", "two signatures", (url) => `${url}&signature=${"0".repeat(64)}`],
  [
    "invalid",
    "a signature in capitals",
    (url) => url.replace(/.{64}$/, (hex) => hex.toUpperCase()),
  ],
  [
    "invalid",
    "another last digit of its signature",
    (url) => url.replace(/.$/, (last) => last === "0" ? "1" : "0"),
  ],
  [
    "invalid",
    "a character moved from a value to a name",
    (url) => url.replace("limit=5", "limit%3D5="),
  ],
];
for (const [status, name, change] of variants) {
  Deno.test(`verifyUrl() returns ${status} when the URL has ${name}`, async () => {
    const signed = await signUrl(plain, { secret, expires });
    assert(change(signed) !== signed);
    assertEquals(await verify(change(signed)), status);
  });
}

Deno.test("verifyUrl() returns invalid when the secret is another, and unsigned without a signature", async () => {
  const signed = await signUrl(plain, { secret, expires });
  assertEquals(await verify(signed, before, `${secret}!`), "invalid");
  assertEquals(await verify(`${plain}&expires=${expires}`), "unsigned");
});

Deno.test("signUrl() accepts the earliest and the latest expiry, and rounds a date down to seconds", async () => {
  for (const expires of [0, 32_503_680_000]) {
    const date = new Date(expires * 1000 + 999);
    assertEquals(
      await signUrl(plain, { secret, expires: date }),
      await signUrl(plain, { secret, expires }),
    );
  }
});

const refused: [
  name: string,
  given: { url?: string; secret?: string; expires?: Date | number },
  message: string,
][] = [
  ["a secret of 31 bytes", { secret: "x".repeat(31) }, "at least 32 bytes, got 31"],
  ["a path without a host", { url: "/Records.csv" }, "absolute URL"],
  ["a time after the year 3000", { expires: 32_503_680_001 }, "not milliseconds"],
  ["half a second", { expires: 0.5 }, "whole Unix seconds"],
  ["a time before 1970", { expires: -1 }, "whole Unix seconds"],
  ["a signed URL", { url: `${plain}&signature=00` }, 'must not have the parameter "signature"'],
  ["a URL with an expiry", { url: `${plain}&expires=1` }, 'must not have the parameter "expires"'],
];
for (const [name, { url = plain, ...given }, message] of refused) {
  Deno.test(`signUrl() throws a ValidationError when given ${name}`, async () => {
    const error = await assertRejects(
      () => signUrl(url, { secret, expires, ...given }),
      ValidationError,
    );
    assert(error.message.includes(message), error.message);
    assertEquals(error.message.includes("xxx"), false);
  });
}
