// Long values are encoded in parts. `tests/properties/endpoint_test.ts` tries random texts.
import "../../helpers/no_permission.ts";
import { assert } from "@std/assert";
import { endpoint } from "../../../mod.ts";

Deno.test("endpoint() encodes a character when the border of the buffer is inside it", () => {
  for (const character of ["'", "é", "水", "🌊", "\ud83c", "\udf0a", "🌊🌊"]) {
    for (let before = 8_184; before <= 8_194; before++) {
      for (const start of ["a".repeat(before), "(".repeat(before)]) {
        const text = start + character + "z".repeat(8_200);
        const expected = encodeURIComponent(text.toWellFormed())
          .replaceAll("'", "%27").replaceAll("(", "%28");
        const { url } = endpoint("/x", { text });
        assert(url.endsWith(`?text=${expected}`), `${character}, ${before}`);
      }
    }
  }
});
