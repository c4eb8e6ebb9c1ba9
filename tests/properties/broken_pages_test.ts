// A page that breaks in each way at each byte: every row is delivered once, in order, and no part of a row.
import { assert, assertEquals } from "@std/assert";
import { breakableResult, BREAKS, readChunks } from "../helpers/broken_pages.ts";
import { formatsOf } from "../helpers/formats.ts";
import { RESOURCE_NAMES } from "../helpers/resources.ts";

for (const resource of RESOURCE_NAMES) {
  for (const format of formatsOf(resource)) {
    for (const way of BREAKS) {
      Deno.test(`${format}() returns each row of ${resource} once when a page has a ${way} at any byte`, async () => {
        const result = await breakableResult(resource);
        const wanted = (await readChunks(result.intact(), format)).join("");
        for (let at = 0; at <= result.page.length; at++) {
          const { query } = result.break(at, way);
          let text = "";
          for (const chunk of await readChunks(query, format)) {
            text += chunk;
            assert(wanted.startsWith(text), `${way} at ${at}: ${text}`);
          }
          assertEquals(text, wanted, `${way} at ${at}`);
        }
      });
    }
  }
}
