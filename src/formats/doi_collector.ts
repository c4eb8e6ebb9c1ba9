import { BACKSLASH, QUOTE, skipColon, skipString } from "./json_scanner.ts";
import type { PageWriter, WriterState, WrittenPage } from "./page_writer.ts";

const D = 0x44;
const O = 0x4f;
const I = 0x49;
/** Number of hashes of DOIs, a power of two. The service has some hundreds of datasets. */
const HASHES = 4_096;

/** The state of a collector: that of its writer, and the DOIs so far. */
interface CollectorState extends WriterState {
  dois: readonly string[];
}

/**
 * Returns the DOIs that the state of a writer has.
 *
 * @returns The DOIs; undefined if it was written without a collector
 */
export function doisOf(state: WriterState): readonly string[] | undefined {
  const { dois } = state as Partial<CollectorState>;
  return Array.isArray(dois) && dois.every((doi) => typeof doi === "string") ? dois : undefined;
}

/**
 * A writer that also collects the DOIs of the rows that it writes.
 *
 * They are read from the bytes of the page. A DOI that came before is known by its hash and its bytes,
 * so that most rows cost no string.
 */
export class DoiCollector implements PageWriter {
  readonly #writer: PageWriter;
  #dois: Set<string>;
  /** The bytes of DOIs that were read, by their hash; of those with one hash, the last. */
  #known = noneKnown();

  /**
   * @param writer The writer of the rows
   * @param dois DOIs of rows that were written before
   */
  constructor(writer: PageWriter, dois: Iterable<string> = []) {
    this.#writer = writer;
    this.#dois = new Set(dois);
  }

  /** The DOIs of the rows so far, in the order in which they came. */
  get dois(): readonly string[] {
    return [...this.#dois];
  }

  get state(): CollectorState {
    return { ...this.#writer.state, dois: this.dois };
  }

  set state({ dois, ...state }: CollectorState) {
    this.#writer.state = state;
    this.#dois = new Set(dois);
    this.#known = noneKnown();
  }

  write(page: Uint8Array, omitsId?: boolean): WrittenPage {
    const written = this.#writer.write(page, omitsId);
    const { rows, offsets } = written;
    if (offsets !== undefined) {
      for (let row = 0; row < rows; row++) {
        const at = findDoi(page, offsets[row]!, offsets[row + 1]);
        if (at >= 0) this.#add(page, at);
      }
    } else {
      let at = 0;
      for (let row = 0; row < rows && (at = findDoi(page, at)) >= 0; row++) {
        at = this.#add(page, at);
      }
    }
    return written;
  }

  end(): Uint8Array<ArrayBuffer> {
    return this.#writer.end();
  }

  /** Adds the DOI at an offset. Returns the offset after it. */
  #add(page: Uint8Array, at: number): number {
    if (page[at] !== QUOTE) return at;
    let end = at + 1;
    let hash = 0;
    for (; page[end] !== QUOTE && page[end] !== BACKSLASH; end++) {
      hash = Math.imul(hash, 31) + page[end]! | 0;
    }
    const known = this.#known[hash & (HASHES - 1)]!;
    if (known.length > 0 && isAt(page, at, known)) return end;
    end = skipString(page, at);
    const json = page.slice(at, end);
    this.#known[hash & (HASHES - 1)] = json;
    this.#dois.add(JSON.parse(new TextDecoder().decode(json)));
    return end;
  }
}

function noneKnown(): Uint8Array[] {
  return new Array(HASHES).fill(new Uint8Array());
}

/**
 * Returns the offset of the next value of a member `"DOI"`, or -1. The page is well-formed JSON, because
 * it was written: inside a string, the quotes of such a name are escaped.
 */
function findDoi(page: Uint8Array, from: number, to = page.length): number {
  for (let at = from; at < to; at++) {
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

function isAt(page: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index++) {
    if (page[at + index] !== bytes[index]) return false;
  }
  return true;
}
