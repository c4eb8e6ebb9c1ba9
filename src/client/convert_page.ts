import type { Bytes } from "../bytes.ts";
import {
  brokenJson,
  completeIds,
  NO_ROW_LIST,
  type PageConversion,
  PageFault,
  releaseBuffer,
  RowIdList,
  toRowId,
} from "../formats/page_writer.ts";
import { isObject } from "../validation.ts";

/** Function that starts the conversion of a page. Only one page is converted at a time. */
export type StartConversion<T> = (options: { drops: readonly string[] }) => PageConversion<T>;

/**
 * Starts the conversion of a page to rows.
 *
 * @param toContent Converts the rows. Default: no conversion
 */
export function startRowConversion<R, T = R[]>(
  { drops }: { drops: readonly string[] },
  toContent: (rows: R[]) => T = (rows) => rows as T,
): PageConversion<T> {
  const body = new JsonBody();
  const list = new RowIdList();
  return {
    get ids() {
      return list.ids;
    },
    takeableLength: 0,
    feed: (bytes) => body.feed(bytes),
    take: () => ({ content: toContent([]), rows: 0 }),
    end() {
      const page = body.parse();
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

/** Collects a body of JSON. */
export class JsonBody {
  #bytes: Bytes = new Uint8Array(0);
  /** Length of the body (bytes). */
  #length = 0;

  /** Adds bytes. */
  feed(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#bytes.subarray(0, this.#length));
      releaseBuffer(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /**
   * Parses the JSON, and releases its bytes.
   *
   * @throws {PageFault} If it is malformed
   */
  parse(): unknown {
    const bytes = this.#bytes.subarray(0, this.#length);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      releaseBuffer(bytes);
      return JSON.parse(text);
    } catch {
      // The message of `JSON.parse` would quote the response, which may contain the API key.
      throw brokenJson();
    }
  }
}
