import { csvFromPage, geojsonFromPage, ndjsonFromPage, type ResourceName } from "../../mod.ts";
import type { FormatName } from "../../src/formats/formats.ts";
import { createJsonWriter } from "../../src/formats/json.ts";
import { fieldsOf } from "./resources.ts";

type Make = (page: Uint8Array, resource: ResourceName) => Uint8Array;

/** Functions that convert a page, by format. */
export const PAGE_WRITERS: Record<FormatName, readonly [symbol: string, make: Make][]> = {
  csv: [
    ["csvFromPage", (page) => csvFromPage(page)],
    [
      "csvFromPage with columns",
      (page, resource) => csvFromPage(page, { columns: fieldsOf(resource) }),
    ],
  ],
  ndjson: [["ndjsonFromPage", ndjsonFromPage]],
  json: [["createJsonWriter().write", (page) => createJsonWriter().write(page).bytes]],
  geojson: [["geojsonFromPage", geojsonFromPage]],
};
