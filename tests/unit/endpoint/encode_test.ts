import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { encode } from "../../../src/endpoint/encode.ts";

/** RFC 3986 to the letter: each byte of UTF-8 that is not unreserved. */
function byTheBook(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte);
    return byte < 128 && /[A-Za-z0-9._~-]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

Deno.test("encode() encodes every character as RFC 3986 has it, alone and among others", () => {
  for (let code = 0; code < 0x11_0000; code = code < 0x3000 ? code + 1 : code + 97) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    for (const text of [character, `'a/b ${character}`]) {
      if (encode(text) !== byTheBook(text)) assertEquals(encode(text), byTheBook(text));
    }
  }
});

Deno.test("encode() encodes a text of any length", () => {
  for (const piece of ["'a/b c", "é", "🌊(", "~@*+"]) {
    for (const length of [1, 682, 683, 1_365, 1_366, 2_048, 4_096, 5_000]) {
      const text = piece.repeat(length);
      assertEquals(encode(text) === byTheBook(text), true, `${length} times ${piece}`);
    }
  }
});
