import { PageFault } from "../formats/json_scanner.ts";
import {
  brokenJson,
  ByteBuffer,
  completeIds,
  NO_ROW_LIST,
  type PageConversion,
  releaseBuffer,
  RowIdList,
} from "../formats/page_writer.ts";
import { toRowId } from "../formats/row_reader.ts";
import { isObject } from "../validation.ts";

/** Function that starts the conversion of a page. Only one page is converted at a time. */
export type StartConversion<T> = (options: { drops: readonly string[] }) => PageConversion<T>;

/**
 * Starts the conversion of a page to rows.
 *
 * @param toContent Converts the rows. Default: no conversion
 * @param last Length (bytes) of the previous page, updated at the end of each page. A buffer of about this length rarely
 *   has to grow
 */
export function startRowConversion<R, T = R[]>(
  { drops }: { drops: readonly string[] },
  toContent: (rows: R[]) => T = (rows) => rows as T,
  last = { length: 0 },
): PageConversion<T> {
  const body = new ByteBuffer(last.length * 9 >> 3);
  const list = new RowIdList();
  return {
    get ids() {
      return list.ids;
    },
    takeableLength: 0,
    feed: (bytes) => body.append(bytes),
    take: () => ({ content: toContent([]), rows: 0 }),
    end() {
      last.length = body.length;
      const page = parseBody(body);
      const { value, ...envelope } = isObject(page) ? page : {};
      if (!Array.isArray(value) || !value.every(isObject)) {
        const fault = new PageFault(NO_ROW_LIST);
        return { envelope, fault, rows: 0, ids: undefined, take: () => toContent([]) };
      }
      for (const { Id } of value) list.push(toRowId(Id));
      return {
        envelope,
        fault: undefined,
        rows: value.length,
        ids: completeIds(list.ids),
        take() {
          const content = toContent(value as R[]);
          for (const field of drops) for (const row of value) delete row[field];
          return content;
        },
      };
    },
  };
}

/**
 * Parses the JSON of a body, and releases its bytes.
 *
 * @throws {PageFault} If it is malformed
 */
export function parseBody({ bytes, length }: ByteBuffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length)));
  } catch {
    // The message of `JSON.parse` would quote the response, which may contain the API key.
    throw brokenJson();
  } finally {
    releaseBuffer(bytes);
  }
}
