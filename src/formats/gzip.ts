// Compresses a document as one gzip member (RFC 1952), because many programs refuse a second one.
import { type Bytes, concatBytes, joinBytes } from "../bytes.ts";
import { CsvWriter } from "./csv.ts";
import { BlockDeflater } from "./deflate_blocks.ts";

const LEVEL = 6;

/** Header without a name and a time, so that equal documents have equal bytes. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);

/** Writes CSV in gzip. */
export class GzipWriter extends CsvWriter {
  readonly #deflater: BlockDeflater;
  override readonly holdsInState: boolean = true;

  /** Throws if the runtime has no `node:zlib`. */
  constructor(...options: ConstructorParameters<typeof CsvWriter>) {
    super(...options);
    this.#deflater = new BlockDeflater("csv.gz", LEVEL, this.state.gzip);
  }

  override get heldBytes(): number {
    return this.#deflater.heldBytes;
  }

  override append(records: Bytes, count: number): Bytes {
    // The header only: a copy of the records would be garbage of their length.
    const header = super.append(records.subarray(0, 0), count);
    return this.#compress(this.fields.length > 0 ? [header, records] : []);
  }

  override end(): Bytes {
    const last = this.#compress([super.end()], true);
    const { crc, length } = this.#deflater.state;
    const trailer = new DataView(new ArrayBuffer(8));
    trailer.setUint32(0, crc, true);
    trailer.setUint32(4, length % 2 ** 32, true);
    return concatBytes([last, new Uint8Array(trailer.buffer)]);
  }

  /** Returns the completed blocks. The first call also returns the header. */
  #compress(chunks: readonly Bytes[], isEnd = false): Bytes {
    const header = this.state.gzip === undefined ? [HEADER.slice()] : [];
    const blocks = chunks.flatMap((bytes) => this.#deflater.write(bytes));
    if (isEnd) blocks.push(...this.#deflater.end());
    this.state = { ...this.state, gzip: this.#deflater.state };
    return joinBytes([...header, ...blocks]);
  }
}
