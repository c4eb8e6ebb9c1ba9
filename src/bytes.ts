/** Not shared, so that they can be sent and released. */
export type Bytes = Uint8Array<ArrayBuffer>;

// The types of the constants below also exist without `lib: ["dom"]`.
export const utf8Encoder: InstanceType<typeof TextEncoder> = new TextEncoder();
/** Replaces malformed bytes, keeps a byte order mark, as values can begin with one. Never use it with `stream: true`. */
export const utf8Decoder: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", {
  ignoreBOM: true,
});

/** Returns a module of Node; `undefined` in browsers, and in Workers without `nodejs_compat`. */
export function builtinModule<T>(name: string): T | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): T } };
  return process?.getBuiltinModule?.(name);
}

interface Hash {
  update(bytes: Uint8Array): void;
  digest(encoding: "hex"): string;
}

/** SHA-256 of bytes that arrive in pieces. `undefined` without `node:crypto`: Web Crypto needs all bytes at once. */
export function createSha256(): Hash | undefined {
  return builtinModule<{ createHash(algorithm: string): Hash }>("node:crypto")?.createHash(
    "sha256",
  );
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8Encoder.encode(text))));
}

/** Bytes; larger than most pages of few fields. The system commits only what is written. */
const INITIAL_CAPACITY = 1 << 19;

/** `copyWords()` may overwrite eight bytes after the reserved ones; a window ends with zeros. */
export const SPARE_LENGTH = 16;

export class ByteBuffer {
  bytes: Bytes;
  view: DataView;
  length = 0;

  /** `memory` is used if it is long enough. */
  constructor(capacity: number = INITIAL_CAPACITY, memory: Bytes = new Uint8Array()) {
    this.bytes = memory.length >= capacity ? memory : new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns the memory, which the buffer must not use again. */
  takeMemory(): Bytes {
    const { bytes } = this;
    this.bytes = new Uint8Array();
    this.view = new DataView(this.bytes.buffer);
    this.length = 0;
    return bytes;
  }

  reserve(count: number): Bytes {
    const needed = this.length + count + SPARE_LENGTH;
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.bytes.subarray(0, this.length));
      releaseBuffer(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return this.bytes;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  dropFirst(count: number): void {
    if (count > 0) this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
  }
}

/** Frees memory immediately; garbage collection often follows only after the next page. */
export function releaseBuffer({ buffer }: { buffer: ArrayBuffer }): void {
  buffer.transfer?.(0);
}

export function concatBytes(chunks: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** Returns the bytes of chunks, whose memory it frees. */
export function joinBytes(chunks: readonly Bytes[]): Bytes {
  const bytes = concatBytes(chunks);
  for (const chunk of chunks) releaseBuffer(chunk);
  return bytes;
}

/**
 * Copies eight bytes at a time: a loop of single bytes takes up to 1.25 times as long. Doubles keep
 * all bits except those of a NaN, which valid UTF-8 cannot contain (it would end with 0xff, or with
 * 0x7f after a byte from 0xf0 on).
 */
export function copyWords(
  page: DataView,
  start: number,
  end: number,
  out: DataView,
  outOffset: number,
): number {
  for (let at = start, outAt = outOffset; at < end; at += 8, outAt += 8) {
    out.setFloat64(outAt, page.getFloat64(at, true), true);
  }
  return outOffset + end - start;
}
