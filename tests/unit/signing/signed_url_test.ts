import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { signUrl, verifyUrl } from "../../../src/signing/signed_url.ts";

const secret = "0123456789abcdef0123456789abcdef";
const expires = 1_800_000_000;
const before = expires * 1000 - 1;
const plain =
  "https://weir.example/Records.csv?$filter=CharacteristicName eq 'Température, eau'&limit=5";
const verify = (url: string | URL, now = before, by = secret) => verifyUrl(new URL(url), by, now);

Deno.test("signUrl() signs what verifyUrl() takes, until it expires", async () => {
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

Deno.test("signUrl() gives the HMAC-SHA-256 of the path and the sorted pairs", async () => {
  const signed = await signUrl("https://h.example/Records.csv?b=2 3&a=é'", { secret, expires });
  // printf %s '/Records.csv?a=%C3%A9%27&b=2%203&expires=1800000000' | openssl dgst -sha256 -hmac …
  assertEquals(
    new URL(signed).searchParams.get("signature"),
    "11619bcf8bd894fbc71924be65c92f1268fd47bab44d7a7a650d6cc49090d909",
  );
});

Deno.test("signUrl() takes a date, and cuts it to seconds", async () => {
  const date = new Date(expires * 1000 + 999);
  assertEquals(
    await signUrl(plain, { secret, expires: date }),
    await signUrl(plain, { secret, expires }),
  );
});

const spellings: [name: string, spell: (url: string) => string][] = [
  ["decoded where it can be", (url) => url.replaceAll("%24", "$").replaceAll("%27", "'")],
  ["with plus signs for spaces", (url) => url.replaceAll("%20", "+")],
  ["in small hexadecimals", (url) => url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())],
  ["encoded more than it must be", (url) => url.replace("limit", "%6Cimit")],
  ["in another order", (url) => {
    const { origin, pathname, searchParams } = new URL(url);
    return `${origin}${pathname}?${new URLSearchParams([...searchParams].reverse())}`;
  }],
  ["with a fragment", (url) => `${url}#top`],
  ["on another host, behind a proxy", (url) => url.replace("weir.example", "inner.invalid:8000")],
];
for (const [name, spell] of spellings) {
  Deno.test(`a signed URL holds ${name}`, async () => {
    const signed = await signUrl(plain, { secret, expires });
    assert(spell(signed) !== signed);
    assertEquals(await verify(spell(signed)), "valid");
  });
}

const changes: [name: string, change: (url: string) => string][] = [
  ["another value", (url) => url.replace("limit=5", "limit=6")],
  ["another name", (url) => url.replace("limit=5", "Limit=5")],
  ["one option more", (url) => `${url}&bom=true`],
  ["one option less", (url) => url.replace("&limit=5", "")],
  ["an option given twice", (url) => `${url}&limit=5`],
  ["another path", (url) => url.replace(".csv", ".json")],
  ["a later time", (url) => url.replace("expires=1", "expires=2")],
  ["a time with zeros before it", (url) => url.replace("expires=", "expires=0")],
  ["no time", (url) => url.replace(/&expires=\d+/, "")],
  ["two times", (url) => `${url}&expires=${expires}`],
  ["two signatures", (url) => `${url}&signature=${"0".repeat(64)}`],
  ["a signature cut short", (url) => url.slice(0, -2)],
  ["a signature in capitals", (url) => url.replace(/[0-9a-f]{64}$/, (hex) => hex.toUpperCase())],
  ["an empty signature", (url) => url.replace(/[0-9a-f]{64}$/, "")],
  [
    "one digit of the signature changed",
    (url) => url.replace(/.$/, (last) => last === "0" ? "1" : "0"),
  ],
  ["a mark moved from a value to a name", (url) => url.replace("limit=5", "limit%3D5=")],
];
for (const [name, change] of changes) {
  Deno.test(`a signed URL does not hold with ${name}`, async () => {
    const signed = await signUrl(plain, { secret, expires });
    assert(change(signed) !== signed);
    assertEquals(await verify(change(signed)), "wrong");
  });
}

Deno.test("a signed URL does not hold under another secret", async () => {
  assertEquals(
    await verify(await signUrl(plain, { secret, expires }), before, `${secret}!`),
    "wrong",
  );
});

Deno.test("a URL without a signature is unsigned", async () => {
  assertEquals(await verify(plain), "unsigned");
  assertEquals(await verify(`${plain}&expires=${expires}`), "unsigned");
});

const refused: [
  name: string,
  url: string,
  options: Parameters<typeof signUrl>[1],
  message: string,
][] = [
  ["a secret of 31 bytes", plain, { secret: "x".repeat(31), expires }, "at least 32 bytes, got 31"],
  ["no secret", plain, { secret: undefined as unknown as string, expires }, "got 0"],
  ["a path alone", "/Records.csv", { secret, expires }, "absolute URL"],
  ["milliseconds", plain, { secret, expires: expires * 1000 }, "not milliseconds"],
  ["half a second", plain, { secret, expires: 0.5 }, "whole Unix seconds"],
  ["a date that is none", plain, { secret, expires: new Date(NaN) }, "whole Unix seconds"],
  ["a time before 1970", plain, { secret, expires: -1 }, "whole Unix seconds"],
  ["a URL that is signed", `${plain}&signature=00`, { secret, expires }, '"signature" already'],
  ["a URL with a time", `${plain}&expires=1`, { secret, expires }, '"expires" already'],
];
for (const [name, url, options, message] of refused) {
  Deno.test(`signUrl() refuses ${name}`, async () => {
    const error = await assertRejects(() => signUrl(url, options)) as Error;
    assert(error instanceof TypeError || error instanceof RangeError);
    assert(error.message.includes(message), error.message);
    assertEquals(error.message.includes("xxx"), false);
  });
}
