// Compresses a stream of bytes with DEFLATE (RFC 1951). Each block of 1 MiB of input is compressed separately and ends with a
// full flush, so that the result depends only on the bytes, and a later run can continue it.
import { builtinModule, type Bytes, releaseBuffer } from "../bytes.ts";
import { ValidationError } from "../errors.ts";

/** Length (bytes) of a block before compression. */
const BLOCK_LENGTH = 1 << 20;
/** Level for the bytes of an incomplete block in a cursor. */
const CURSOR_LEVEL = 1;
/** Length (bytes) of the memory for a compressed block; node:zlib allocates more if it is full. */
const CHUNK_LENGTH = 1 << 18;
/** Final block without content (RFC 1951, 3.2.6). */
const FINAL_BLOCK = Uint8Array.of(3, 0);

interface Zlib {
  deflateRawSync(
    bytes: Uint8Array,
    options: { level: number; finishFlush?: number; chunkSize?: number },
  ): Uint8Array<ArrayBuffer>;
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

/** State after the last complete block, and the input since then. */
export interface DeflateState {
  crc: number;
  /** Number of bytes before compression. */
  length: number;
  /** In JSON, text: compressed and in base64. */
  pending: { readonly bytes: Bytes } | string;
}

/** The states of compressors in that of a writer. A writer has at most one. */
export interface CompressorStates {
  /** CSV in gzip only. */
  gzip?: DeflateState;
  /** Workbooks only. */
  sheet?: DeflateState;
}

/** Frees the memory of a writer's state that is not used any more, unless a later state refers to it. */
export function releaseState(state?: CompressorStates, later?: CompressorStates): void {
  const bytes = pendingOf(state);
  if (bytes !== undefined && bytes.buffer !== pendingOf(later)?.buffer) releaseBuffer(bytes);
}

function pendingOf({ gzip, sheet }: CompressorStates = {}): Bytes | undefined {
  const { pending } = gzip ?? sheet ?? {};
  return typeof pending === "object" ? pending.bytes : undefined;
}

/** Input that waits for the end of its block. */
class Pending {
  readonly #modules: Modules;
  constructor(readonly bytes: Bytes, modules: Modules) {
    this.#modules = modules;
  }

  toJSON(): string {
    const { zlib, buffers } = this.#modules;
    return buffers.from(zlib.deflateRawSync(this.bytes, { level: CURSOR_LEVEL }))
      .toString("base64");
  }
}

export class BlockDeflater {
  readonly #modules: Modules;
  readonly #level: number;
  #crc: number;
  /** Number of bytes of complete blocks, before compression. */
  length: number;
  /** Created when it is needed: many downloads wait for their first row. */
  #block: Bytes | undefined;
  #filled = 0;
  /** Whether a state refers to the bytes of the block, which is then not used again. */
  #isShared = false;

  /** Throws if the runtime has no `node:zlib`. */
  constructor(format: string, level: number, state?: DeflateState) {
    this.#modules = loadModules(format);
    this.#level = level;
    const { crc = 0, length = 0, pending = "" } = state ?? {};
    this.#crc = crc;
    this.length = length;
    if (pending === "") return;
    const { zlib, buffers } = this.#modules;
    const bytes = typeof pending === "string"
      ? zlib.inflateRawSync(buffers.from(pending, "base64"))
      : pending.bytes.subarray(); // throws if they were freed
    this.#block = new Uint8Array(BLOCK_LENGTH);
    this.#block.set(bytes);
    this.#filled = bytes.length;
  }

  /** Number of bytes in memory of the incomplete block. */
  get heldBytes(): number {
    return this.#filled > 0 ? BLOCK_LENGTH : 0;
  }

  get state(): DeflateState {
    const filled = this.#block?.subarray(0, this.#filled);
    this.#isShared = this.#filled > 0;
    return {
      crc: this.#crc,
      length: this.length,
      pending: filled?.length ? new Pending(filled, this.#modules) : "",
    };
  }

  /** Returns the completed blocks. */
  write(bytes: Uint8Array): Bytes[] {
    const blocks: Bytes[] = [];
    for (let at = 0; at < bytes.length;) {
      const added = bytes.subarray(at, at + BLOCK_LENGTH - this.#filled);
      this.#block ??= new Uint8Array(BLOCK_LENGTH);
      this.#block.set(added, this.#filled);
      this.#filled += added.length;
      at += added.length;
      if (this.#filled === BLOCK_LENGTH) blocks.push(this.#endBlock());
    }
    return blocks;
  }

  /** Returns the rest, after which {@linkcode state} describes all bytes. */
  end(): Bytes[] {
    return [...this.#filled > 0 ? [this.#endBlock()] : [], FINAL_BLOCK.slice()];
  }

  #endBlock(): Bytes {
    const { zlib } = this.#modules;
    const bytes = this.#block!.subarray(0, this.#filled);
    this.#crc = zlib.crc32(bytes, this.#crc);
    this.length += this.#filled;
    if (this.#isShared) this.#block = undefined;
    this.#isShared = false;
    this.#filled = 0;
    // A block that is compressed separately, up to a full flush, can follow any other block.
    const finishFlush = zlib.constants.Z_FULL_FLUSH;
    const options = { level: this.#level, finishFlush, chunkSize: CHUNK_LENGTH };
    const compressed = zlib.deflateRawSync(bytes, options);
    const block = new Uint8Array(compressed);
    // Otherwise, up to 64 MB of these buffers wait for garbage collection. A shorter one may be shared, as in Node's pool.
    if (compressed.buffer.byteLength >= CHUNK_LENGTH) releaseBuffer(compressed);
    return block;
  }
}

interface Modules {
  zlib: Zlib;
  buffers: NodeBuffer["Buffer"];
}

function loadModules(format: string): Modules {
  const zlib = builtinModule<Zlib>("node:zlib");
  const buffer = builtinModule<NodeBuffer>("node:buffer");
  if (zlib !== undefined && buffer !== undefined) return { zlib, buffers: buffer.Buffer };
  throw new ValidationError("format", `must not be ${format}: this runtime has no node:zlib`, {
    hint: "use csv, or set the flag nodejs_compat in Workers",
  });
}
