// A page that ends too early, as a gateway leaves one when it drops the connection.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStreamError } from "../../../mod.ts";
import { formatsOf } from "../../helpers/formats.ts";
import { RESOURCE_NAMES } from "../../helpers/resources.ts";
import { cutPoints } from "../../helpers/cut_points.ts";
import { queryOver, readWholeQuery } from "../../helpers/page_readers.ts";
import { samplePage } from "../../helpers/sample_pages.ts";

for (const resource of RESOURCE_NAMES) {
  for (const format of ["rows", ...formatsOf(resource)] as const) {
    const symbol = format === "rows" ? "toArray" : format;
    Deno.test(`${symbol}() rejects when a page of ${resource} is truncated`, async () => {
      const page = new TextEncoder().encode(await samplePage(resource));
      await readWholeQuery(queryOver(resource, page), format);
      for (const length of cutPoints(page)) {
        const query = queryOver(resource, page.slice(0, length));
        const error = await assertRejects(() => readWholeQuery(query, format), DataStreamError);
        assertEquals(error.kind, "page");
      }
    });
  }
}
