import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { endpoint } from "../../../mod.ts";

/** Encodes a text as the value of a query parameter. */
const encode = (text: string) => endpoint("/x", { text }).url.split("?text=")[1];

/** Encodes each byte of UTF-8 that is not an unreserved character (RFC 3986, section 2.3). */
function expectedOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte);
    return byte < 128 && /[A-Za-z0-9._~-]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

Deno.test("endpoint() encodes every byte that is not unreserved when a text has any character", () => {
  for (let code = 0; code < 0x11_0000; code = code < 0x3000 ? code + 1 : code + 97) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    for (const text of [character, `'a/b ${character}`]) {
      if (encode(text) !== expectedOf(text)) assertEquals(encode(text), expectedOf(text));
    }
  }
});

Deno.test("endpoint() encodes the whole text when it is longer than the buffers", () => {
  for (const piece of ["'a/b c", "é", "🌊(", "~@*+"]) {
    for (const length of [1, 682, 683, 1_365, 1_366, 2_048, 4_096, 5_000]) {
      const text = piece.repeat(length);
      assertEquals(encode(text) === expectedOf(text), true, `${length} times ${piece}`);
    }
  }
});
