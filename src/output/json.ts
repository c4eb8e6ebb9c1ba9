import { compactRows } from "./compact_rows.ts";
import { COMMA } from "./json_bytes.ts";
import { JsonDocumentWriter } from "./json_document.ts";
import type { PageWriter, WriterState } from "./page_writer.ts";

/**
 * Writes all pages as one document of JSON, its rows under `value`, as the service has them.
 *
 * @param from The state of the writer to go on from
 */
export function jsonWriter(from?: WriterState): PageWriter {
  return new JsonDocumentWriter(
    '{"value":[',
    "]}\n",
    (page, hidesId) => compactRows(page, COMMA, hidesId),
    from,
  );
}
