import { assertEquals } from "@std/assert";
import type { CsvOptions } from "../../../mod.ts";
import { checkCsvOptions, CsvWriter } from "../../../src/formats/csv.ts";
import type { FoundValue } from "../../../src/formats/distinct_values.ts";
import { createGeojsonWriter } from "../../../src/formats/geojson.ts";
import { createJsonWriter, createNdjsonWriter } from "../../../src/formats/json.ts";
import { PageFault } from "../../../src/formats/json_scanner.ts";
import type { PageOptions, PageWriter, TakenRows } from "../../../src/formats/page_writer.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Creates a writer of CSV. */
const csv = (fields: readonly string[], addsNewFields: boolean, options?: CsvOptions) => () =>
  new CsvWriter(checkCsvOptions(options), fields, { addsNewFields });

/** Functions that create a writer, by a name for messages. */
const WRITERS: Record<string, () => PageWriter> = {
  "CSV": csv([], true),
  "CSV with known fields": csv(["Id", "é"], true),
  "CSV with columns": csv(["é", "zz", "Id"], false, { separator: ";", escapeFormulas: true }),
  "NDJSON": createNdjsonWriter,
  "JSON": () => createJsonWriter(),
  "GeoJSON": () => createGeojsonWriter(),
};

const OPTIONS: readonly PageOptions[] = [{ omitted: ["Id"] }, {
  distinct: ["DOI"],
  omitted: ["Id", "DOI"],
}];

/** Returns everything that a writer gives for a page, or the message of its error. */
function write(
  writer: PageWriter,
  page: Uint8Array,
  cuts: readonly number[],
  options: PageOptions,
  takesEarly: boolean,
) {
  try {
    const arriving = writer.openPage(options);
    let text = "";
    let rows = 0;
    const values: FoundValue[] = [];
    const add = ({ data, values: added, rows: count }: TakenRows<Uint8Array>) => {
      text += decoder.decode(data);
      rows += count;
      values.push(...added);
    };
    let start = 0;
    for (const end of [...cuts, page.length]) {
      const chunk = page.slice(start, end);
      arriving.feed(chunk);
      chunk.fill(0x22); // the caller reuses the memory
      start = end;
      if (takesEarly && arriving.takeableLength > 0) add(arriving.take());
    }
    const { fault, envelope } = arriving.end();
    if (fault !== undefined) throw fault;
    const { ids } = arriving;
    add(arriving.take());
    return { text, rows, ids, envelope, values, state: writer.state };
  } catch (error) {
    if (!(error instanceof PageFault)) throw error;
    return error.message;
  }
}

/** Errors that only a page has of which rows were already taken. */
const LATE_ERRORS = /first appears after the header/;

/**
 * Asserts that each writer gives the same bytes, Ids, members, values and error for a page in chunks as for the
 * page in one chunk, whether its rows are taken as they arrive or at the end.
 *
 * @param chunkings Offsets at which the page is cut, ascending
 */
export function assertSameInChunks(
  page: Uint8Array,
  chunkings: readonly (readonly number[])[],
  message: string,
): void {
  for (const [name, create] of Object.entries(WRITERS)) {
    for (const options of OPTIONS) {
      const wanted = write(create(), page, [], options, false);
      for (const cuts of chunkings) {
        const where = `${name}, cut at ${cuts.slice(0, 9)}: ${message}`;
        assertEquals(write(create(), page, cuts, options, false), wanted, where);
        const early = write(create(), page, cuts, options, true);
        if (typeof early === "string" && LATE_ERRORS.test(early)) continue;
        assertEquals(early, wanted, `${where}, taken early`);
      }
    }
  }
}
