import { csvFromPage, geojsonFromPage, ndjsonFromPage, type ResourceName } from "../../../mod.ts";
import type { TextFormat } from "../../helpers/resources.ts";
import { createJsonWriter } from "../../../src/formats/json.ts";
import {
  type PageEnvelope,
  type PageWriter,
  type TakenRows,
  writePage,
} from "../../../src/formats/page_writer.ts";
import { fieldsOf } from "../../helpers/resources.ts";

type Make = (page: Uint8Array, resource: ResourceName) => Uint8Array;

export const PAGE_WRITERS: Record<TextFormat, readonly [symbol: string, make: Make][]> = {
  csv: [
    ["csvFromPage", (page) => csvFromPage(page)],
    [
      "csvFromPage with columns",
      (page, resource) => csvFromPage(page, { columns: fieldsOf(resource) }),
    ],
  ],
  ndjson: [["ndjsonFromPage", ndjsonFromPage]],
  json: [["createJsonWriter", (page) => writePage(createJsonWriter(), page)]],
  geojson: [["geojsonFromPage", geojsonFromPage]],
};

type WrittenPage = Pick<PageEnvelope, "envelope"> & TakenRows<Uint8Array>;

/** Writes a page, and returns also its envelope. Throws a `PageFault`. */
export function writeWholePage(writer: PageWriter, page: Uint8Array): WrittenPage {
  const conversion = writer.openPage();
  conversion.feed(page);
  const { fault, envelope } = conversion.end();
  if (fault !== undefined) throw fault;
  return { envelope, ...conversion.take() };
}
