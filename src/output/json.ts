import { compactRows } from "./compact_rows.ts";
import { COMMA } from "./json_bytes.ts";
import { JsonDocumentWriter } from "./json_document.ts";
import type { PageWriter } from "./page_writer.ts";

/** Writes all pages as one document of JSON, its rows under `value`, as the service has them. */
export function jsonWriter(): PageWriter {
  return new JsonDocumentWriter(
    '{"value":[',
    "]}\n",
    (page, most) => compactRows(page, most, COMMA),
  );
}
