// A page that ends too early, as a gateway leaves one when it drops the connection.
import "../../helpers/no_permission.ts";
import { assert, assertThrows } from "@std/assert";
import { formatsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { PAGE_WRITERS } from "./page_writers.ts";
import { samplePage } from "./sample_pages.ts";

for (const resource of RESOURCE_NAMES) {
  for (const [symbol, make] of formatsOf(resource).flatMap((format) => PAGE_WRITERS[format])) {
    Deno.test(`${symbol}() throws when a page of ${resource} is truncated at any byte`, async () => {
      const page = new TextEncoder().encode(await samplePage(resource));
      assert(make(page, resource).length > 0);
      for (let length = 0; length < page.length; length++) {
        const truncated = page.slice(0, length);
        assertThrows(() => make(truncated, resource), SyntaxError, "a page of JSON");
      }
    });
  }
}
