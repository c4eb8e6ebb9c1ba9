// Signed URLs verify only unchanged queries, and file names are safe, with random text.
// Tests functions directly, because thousands of requests would take too long.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { signUrl } from "../../edge/app.ts";
import fc from "fast-check";
import { verifyUrl } from "../../src/signing/signed_url.ts";
import { contentDisposition, toFileName } from "../../edge/downloads/headers.ts";

const secret = "0123456789abcdef0123456789abcdef";
const expires = 1_800_000_000;
const verify = (url: string | URL) => verifyUrl(new URL(url), secret, expires * 1000);

/** Well-formed names and values; the names exclude the parameters of the signature. */
const text = fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.toWellFormed());
const name = text.filter((value) => value !== "expires" && value !== "signature");
const pairs = fc.uniqueArray(fc.tuple(name, text), { selector: ([key]) => key, maxLength: 6 });

const urlOf = (pairs: readonly (readonly [string, string])[]) =>
  `https://h.example/Records.csv?${
    pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&")
  }`;

/** Encodes each byte of a query by a random choice: literal, `+`, or lower or upper case hex. */
function reencode(url: string, choices: number[]): string {
  const { origin, pathname, searchParams } = new URL(url);
  let index = 0;
  const encode = (value: string) =>
    Array.from(new TextEncoder().encode(value), (byte) => {
      const choice = choices[index++ % choices.length]!;
      const hex = byte.toString(16).padStart(2, "0");
      const isPlain = /[\w.~$'():,/-]/.test(String.fromCharCode(byte));
      if (isPlain && choice === 0) return String.fromCharCode(byte);
      if (byte === 0x20 && choice === 1) return "+";
      return `%${choice === 2 ? hex : hex.toUpperCase()}`;
    }).join("");
  const encoded = [...searchParams].map(([key, value]) => `${encode(key)}=${encode(value)}`);
  return `${origin}${pathname}?${encoded.join("&")}`;
}

Deno.test("verifyUrl() accepts a signed URL when its query is encoded differently", async () => {
  const choices = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(pairs, choices, async (pairs, choices) => {
      const signed = await signUrl(urlOf(pairs), { secret, expires });
      assertEquals(await verify(signed), "valid");
      assertEquals(await verify(reencode(signed, choices)), "valid");
      const given = [...new URL(urlOf(pairs)).searchParams];
      assertEquals([...new URL(signed).searchParams].slice(0, -2), given);
    }),
    { numRuns: 500, seed: 1 },
  );
});

Deno.test("verifyUrl() rejects a signature when the names or values are different", async () => {
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

Deno.test("toFileName() returns a safe name with an extension when the text is random", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (wanted) => {
      let name;
      try {
        name = toFileName(wanted, "csv");
      } catch {
        return; // no valid characters
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
