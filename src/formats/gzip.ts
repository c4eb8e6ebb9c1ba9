// Compresses a document as one gzip member (RFC 1952), because many programs refuse a second one. Each block of 1 MiB
// of input ends with a full flush, independent of pages, so that the bytes depend only on the document.
import { builtinModule, type Bytes, concatBytes } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { CsvWriter } from "./csv.ts";

/** Length (bytes) of a block before compression. */
const BLOCK_LENGTH = 1 << 20;
const LEVEL = 6;
/** Level for the bytes of an incomplete block in a cursor. */
const CURSOR_LEVEL = 1;

/** Header without a name and a time, so that equal documents have equal bytes. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);
/** Final block without content (RFC 1951, 3.2.6). */
const FINAL_BLOCK = [3, 0];

interface Zlib {
  deflateRawSync(
    bytes: Uint8Array,
    options: { level: number; finishFlush?: number; chunkSize?: number },
  ): Uint8Array;
  inflateRawSync(bytes: Uint8Array): Uint8Array;
  crc32(bytes: Uint8Array, start: number): number;
  constants: { Z_FULL_FLUSH: number };
}

interface NodeBuffer {
  Buffer: {
    from(bytes: Uint8Array): { toString(encoding: "base64"): string };
    from(text: string, encoding: "base64"): Uint8Array;
  };
}

/** Input that waits for the end of its block. */
class Pending {
  constructor(readonly bytes: Uint8Array) {}

  toJSON(): string {
    const { zlib, buffers } = loadModules();
    return buffers.from(zlib.deflateRawSync(this.bytes, { level: CURSOR_LEVEL })).toString(
      "base64",
    );
  }
}

/** Writes CSV in gzip. */
export class GzipWriter extends CsvWriter {
  readonly #zlib: Zlib;
  #crc: number;
  #length: number;
  /** Replaced after each block, because saved states refer to its bytes. */
  #block: Bytes = new Uint8Array(BLOCK_LENGTH);
  #filled = 0;

  /** Throws if the runtime has no `node:zlib`. */
  constructor(...options: ConstructorParameters<typeof CsvWriter>) {
    super(...options);
    const { zlib, buffers } = loadModules();
    const { crc = 0, length = 0, pending = "" } = this.state.gzip ?? {};
    this.#zlib = zlib;
    this.#crc = crc;
    this.#length = length;
    if (pending !== "") {
      const bytes = typeof pending === "string"
        ? zlib.inflateRawSync(buffers.from(pending, "base64"))
        : pending.bytes;
      this.#block.set(bytes);
      this.#filled = bytes.length;
    }
  }

  override append(records: Bytes, count: number): Bytes {
    const parts = this.#compress(super.append(records, count));
    this.#saveState();
    return concatBytes(parts);
  }

  override end(): Bytes {
    const parts = this.#compress(super.end());
    if (this.#filled > 0) parts.push(this.#endBlock());
    this.#saveState();
    const trailer = new DataView(new ArrayBuffer(8));
    trailer.setUint32(0, this.#crc, true);
    trailer.setUint32(4, this.#length % 2 ** 32, true);
    return concatBytes([...parts, Uint8Array.from(FINAL_BLOCK), new Uint8Array(trailer.buffer)]);
  }

  #saveState(): void {
    const pending = this.#filled === 0 ? "" : new Pending(this.#block.subarray(0, this.#filled));
    this.state = { ...this.state, gzip: { crc: this.#crc, length: this.#length, pending } };
  }

  /** Returns the completed blocks. The first call also returns the header. */
  #compress(bytes: Uint8Array): Uint8Array[] {
    const parts: Uint8Array[] = this.state.gzip === undefined ? [HEADER] : [];
    for (let at = 0; at < bytes.length;) {
      const added = bytes.subarray(at, at + BLOCK_LENGTH - this.#filled);
      this.#block.set(added, this.#filled);
      this.#filled += added.length;
      at += added.length;
      if (this.#filled === BLOCK_LENGTH) parts.push(this.#endBlock());
    }
    return parts;
  }

  #endBlock(): Uint8Array {
    const bytes = this.#block.subarray(0, this.#filled);
    this.#crc = this.#zlib.crc32(bytes, this.#crc);
    this.#length += this.#filled;
    this.#block = new Uint8Array(BLOCK_LENGTH);
    this.#filled = 0;
    // A block that is compressed separately, up to a full flush, can follow any other block.
    const finishFlush = this.#zlib.constants.Z_FULL_FLUSH;
    return this.#zlib.deflateRawSync(bytes, { level: LEVEL, finishFlush, chunkSize: 1 << 17 });
  }
}

function loadModules(): { zlib: Zlib; buffers: NodeBuffer["Buffer"] } {
  const zlib = builtinModule<Zlib>("node:zlib");
  const buffer = builtinModule<NodeBuffer>("node:buffer");
  if (zlib !== undefined && buffer !== undefined) return { zlib, buffers: buffer.Buffer };
  throw new ValidationError("format", "must not be csv.gz: this runtime has no node:zlib", {
    hint: "use csv, or set the flag nodejs_compat in Workers",
  });
}
