// Rows that are objects in memory as a workbook. Rows of the service are written from their bytes by `xlsx_writer.ts`.
import { type Bytes, concatBytes, utf8Encoder } from "../bytes.ts";
import type { Language } from "../language.ts";
import { VERSION } from "../version.ts";
import type { Citation } from "./citations.ts";
import { toSource } from "./data_package.ts";
import { createWriter, FORMATS, withoutPageSize } from "./formats.ts";
import { writePage } from "./page_writer.ts";
import { createXlsxFormat } from "./xlsx_writer.ts";

/** Facts about a workbook. */
interface AboutRows {
  title: string;
  url: string;
  time: Date;
  language?: Language | undefined;
  citations?: readonly Citation[] | undefined;
}

/** Lists are joined with `; `, and empty texts and null become empty cells. */
export async function rowsToXlsx(
  columns:
    readonly (readonly [name: string, type: "text" | "integer" | "texts", meaning: string])[],
  rows: readonly object[],
  { title, url, time, language, citations = [] }: AboutRows,
): Promise<Bytes> {
  const format = createXlsxFormat({ language }, {
    time,
    types: Object.fromEntries(columns.map(([name, type]) => [name, type])),
    describe: () => ({
      profile: "data-package",
      title,
      ...(citations.length > 0 && { sources: citations.map(toSource) }),
      resources: [{
        profile: "data-resource",
        title,
        format: "xlsx",
        mediatype: FORMATS.xlsx.mediaType,
        encoding: "utf-8",
        rows: rows.length,
        schema: {
          fields: columns.map(([name, type, description]) => ({
            name,
            type: type === "integer" ? type : "string",
            description,
          })),
        },
      }],
      weir: { version: VERSION, url: withoutPageSize(url) },
    }),
  });
  const select = columns.map(([name]) => name);
  const writer = createWriter(format, { resource: "Metadata", select });
  const page = writePage(writer, utf8Encoder.encode(JSON.stringify({ value: rows })));
  return concatBytes([page, await writer.end()]);
}
