// Values are encoded as RFC 3986 and RFC 6570 require.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { endpoint } from "../../../mod.ts";

/** Encodes a value as the value of a query parameter. */
function encode(text: unknown, route = "/x"): string {
  return endpoint(route, { text }).url.replace(/^.*?\?text=/s, "");
}

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

Deno.test("endpoint() encodes a character when the border of the buffer is inside it", () => {
  for (const character of ["'", "é", "水", "🌊", "\ud83c", "\udf0a", "🌊🌊"]) {
    for (let before = 8_184; before <= 8_194; before++) {
      for (const start of ["a".repeat(before), "(".repeat(before)]) {
        const text = start + character + "z".repeat(8_200);
        assertEquals(encode(text) === expectedOf(text), true, `${character} after ${before}`);
      }
    }
  }
});
