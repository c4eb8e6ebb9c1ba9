// A page that ends too early, as a gateway leaves one when it drops the connection.
import "../../helpers/no_permission.ts";
import { assert, assertThrows } from "@std/assert";
import { csvFromPage, geojsonFromPage, ndjsonFromPage, type ResourceName } from "../../../mod.ts";
import { fieldNames } from "../../../src/odata/resources.ts";
import { jsonWriter } from "../../../src/output/json.ts";
import { assertLinear } from "../../helpers/doubling.ts";
import {
  FORMATS_OF,
  RESOURCE_NAMES,
  samplePage,
  truncatedPage,
} from "../../helpers/sample_pages.ts";

type Make = (page: Uint8Array, resource: ResourceName) => Uint8Array;

const MAKERS: Record<string, readonly [symbol: string, make: Make][]> = {
  csv: [
    ["csvFromPage", (page) => csvFromPage(page)],
    [
      "csvFromPage with columns",
      (page, resource) => csvFromPage(page, { columns: fieldNames(resource) }),
    ],
  ],
  ndjson: [["ndjsonFromPage", ndjsonFromPage]],
  json: [["jsonWriter().write", (page) => jsonWriter().write(page).bytes]],
  geojson: [["geojsonFromPage", geojsonFromPage]],
};

for (const resource of RESOURCE_NAMES) {
  for (const [symbol, make] of FORMATS_OF[resource].flatMap((format) => MAKERS[format]!)) {
    Deno.test(`${symbol}() throws when a page of ${resource} is truncated at any byte`, async () => {
      const page = new TextEncoder().encode(await samplePage(resource));
      assert(make(page, resource).length > 0);
      for (let length = 0; length < page.length; length++) {
        const truncated = page.slice(0, length);
        assertThrows(() => make(truncated, resource), SyntaxError, "a page of JSON");
      }
    });

    Deno.test(`${symbol}() takes linear time when a page of ${resource} is truncated`, async () => {
      const sample = await samplePage(resource);
      await assertLinear(
        (copies) => truncatedPage(sample, copies),
        (page) => make(page, resource),
      );
    });
  }
}
