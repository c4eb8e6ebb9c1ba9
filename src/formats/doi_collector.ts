import { BACKSLASH, QUOTE, skipColon, skipString, startsWith } from "./json_scanner.ts";
import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";

/** State of a collector: the state of its writer and the DOIs so far. */
interface CollectorState extends WriterState {
  dois: readonly string[];
}

/**
 * Collects the DOIs of the rows that a writer writes.
 *
 * It reads the DOIs from the bytes of the page. Repeated DOIs are found by their hash and compared as
 * bytes, so that most rows create no string.
 */
export class DoiCollector implements PageWriter {
  readonly #writer: PageWriter;
  #dois: Set<string>;
  #knownDois = createKnownDois();

  /**
   * @param writer Writer of the rows
   * @param dois DOIs of earlier rows
   */
  constructor(writer: PageWriter, dois: Iterable<string> = []) {
    this.#writer = writer;
    this.#dois = new Set(dois);
  }

  /** DOIs of the rows so far, in order of appearance. */
  get dois(): readonly string[] {
    return [...this.#dois];
  }

  get state(): CollectorState {
    return { ...this.#writer.state, dois: this.dois };
  }

  set state({ dois, ...state }: CollectorState) {
    this.#writer.state = state;
    this.#dois = new Set(dois);
    this.#knownDois = createKnownDois();
  }

  write(page: Uint8Array, omitsId?: boolean): WrittenPage {
    const written = this.#writer.write(page, omitsId);
    const { rows, offsets } = written;
    let at = 0;
    for (let row = 0; row < rows; row++) {
      // Without offsets, the next DOI of the page is that of the next row which has one.
      at = findDoi(page, offsets?.[row] ?? at, offsets?.[row + 1]);
      if (at >= 0) at = this.#add(page, at);
      else if (offsets === undefined) break;
    }
    return written;
  }

  end(): Uint8Array<ArrayBuffer> {
    return this.#writer.end();
  }

  /** Adds the DOI at an offset. Returns the offset after it. */
  #add(page: Uint8Array, at: number): number {
    if (page[at] !== QUOTE) return at; // null
    let end = at + 1;
    let hash = 0;
    for (; page[end] !== QUOTE && page[end] !== BACKSLASH; end++) {
      hash = Math.imul(hash, 31) + page[end]! | 0;
    }
    const index = hash & (KNOWN_DOIS - 1);
    const known = this.#knownDois[index]!;
    if (known.length > 0 && startsWith(page, at, known)) return end;
    end = skipString(page, at);
    const json = page.slice(at, end);
    this.#knownDois[index] = json;
    this.#dois.add(JSON.parse(new TextDecoder().decode(json)));
    return end;
  }
}

/** Returns the DOIs in the state of a writer; `undefined` if the writer did not collect them. */
export function doisOf(state: WriterState): readonly string[] | undefined {
  const { dois } = state as Partial<CollectorState>;
  return Array.isArray(dois) && dois.every((doi) => typeof doi === "string") ? dois : undefined;
}

/** Size of the table of known DOIs, a power of two. The service has some hundreds of datasets. */
const KNOWN_DOIS = 4_096;

/** Creates a table of the last DOI of each hash, as JSON in bytes; empty where there is none. */
function createKnownDois(): Uint8Array[] {
  return new Array(KNOWN_DOIS).fill(new Uint8Array());
}

const D = 0x44;
const O = 0x4f;
const I = 0x49;

/**
 * Returns the offset of the next value of a member `"DOI"`, or -1. A page that was written is
 * well-formed, so inside a string the quotes around such a name would be escaped.
 */
function findDoi(page: Uint8Array, start: number, end = page.length): number {
  for (let at = start; at < end; at++) {
    // The letter first, because quotes are frequent.
    if (
      page[at] === O && page[at - 1] === D && page[at + 1] === I && page[at - 2] === QUOTE &&
      page[at + 2] === QUOTE
    ) {
      const value = skipColon(page, at + 3);
      if (value >= 0) return value;
    }
  }
  return -1;
}
