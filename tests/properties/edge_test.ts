// What a caller can put into a URL: signed, it holds in every spelling and in no other; as a file's
// name, it never leaves its header or its folder.
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { contentDisposition, toFileName } from "../../edge/download_response.ts";
import { signUrl, verifyUrl } from "../../src/signing/signed_url.ts";

const secret = "0123456789abcdef0123456789abcdef";
const expires = 1_800_000_000;
const verify = (url: string | URL) => verifyUrl(new URL(url), secret, expires * 1000);

/** Names and values as a URL can hold them: no half of a pair, no name of signing's own. */
const text = fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.toWellFormed());
const name = text.filter((value) => value !== "expires" && value !== "signature");
const pairs = fc.uniqueArray(fc.tuple(name, text), { selector: ([key]) => key, maxLength: 6 });

const urlOf = (pairs: readonly (readonly [string, string])[]) =>
  `https://h.example/Records.csv?${
    pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&")
  }`;

/** Spells each byte of a query raw, encoded in capitals or in small letters, as the dice fall. */
function respell(url: string, dice: number[]): string {
  const { origin, pathname, searchParams } = new URL(url);
  let thrown = 0;
  const spell = (value: string) =>
    Array.from(new TextEncoder().encode(value), (byte) => {
      const throwOf = dice[thrown++ % dice.length]!;
      const hex = byte.toString(16).padStart(2, "0");
      const isPlain = /[\w.~$'():,/-]/.test(String.fromCharCode(byte));
      if (isPlain && throwOf === 0) return String.fromCharCode(byte);
      if (byte === 0x20 && throwOf === 1) return "+";
      return `%${throwOf === 2 ? hex : hex.toUpperCase()}`;
    }).join("");
  const spelled = [...searchParams].map(([key, value]) => `${spell(key)}=${spell(value)}`);
  return `${origin}${pathname}?${spelled.join("&")}`;
}

Deno.test("a signed URL holds in every spelling", async () => {
  const dice = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(pairs, dice, async (pairs, dice) => {
      const signed = await signUrl(urlOf(pairs), { secret, expires });
      assertEquals(await verify(signed), "valid");
      assertEquals(await verify(respell(signed, dice)), "valid");
      const given = [...new URL(urlOf(pairs)).searchParams];
      assertEquals([...new URL(signed).searchParams].slice(0, -2), given);
    }),
    { numRuns: 500, seed: 1 },
  );
});

Deno.test("a signed URL holds for no other names and values", async () => {
  await fc.assert(
    fc.asyncProperty(pairs, pairs, async (pairs, others) => {
      const sorted = (list: typeof pairs) =>
        JSON.stringify([...new URL(urlOf(list)).searchParams].sort());
      fc.pre(sorted(pairs) !== sorted(others));
      const { searchParams } = new URL(await signUrl(urlOf(pairs), { secret, expires }));
      const forged = new URL(urlOf(others));
      for (const key of ["expires", "signature"]) {
        forged.searchParams.set(key, searchParams.get(key)!);
      }
      assertEquals(await verify(forged), "invalid");
    }),
    { numRuns: 500, seed: 1 },
  );
});

Deno.test("a caller's file name stays in its header and its folder, with the format's extension", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (wanted) => {
      let name;
      try {
        name = toFileName(wanted, "csv");
      } catch {
        return; // nothing is left of it
      }
      assert(name.endsWith(".csv") && name.length > 4 && !/^\./.test(name), name);
      assertEquals(/[\\/:*?"<>|\p{C}\p{Zl}\p{Zp}]/u.test(name), false);
      const header = contentDisposition(name);
      assertMatch(
        header,
        /^attachment; filename="[ !#$&'()+,.0-9;=@A-Z[\]^_`a-z{}~-]+\.csv"; filename\*=UTF-8''[\w%.!~-]+\.csv$/,
      );
      assertEquals(decodeURIComponent(header.split("''").at(-1)!), name);
      new Headers({ "content-disposition": header });
    }),
    { numRuns: 5_000, seed: 1 },
  );
});
