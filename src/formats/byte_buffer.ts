import type { Bytes } from "../bytes.ts";

/** Initial capacity (bytes). */
const INITIAL_CAPACITY = 1 << 14;

/** Bytes that are written one after the other. */
export class ByteBuffer {
  /** Buffer of the bytes, with room after them. `reserve()` can replace it. */
  bytes: Bytes;
  /** Number of bytes written. */
  length = 0;

  /** @param capacity Number of bytes for which there is room. The system commits only what is written */
  constructor(capacity: number = INITIAL_CAPACITY) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Returns the buffer after making room for `count` more bytes. */
  reserve(count: number): Bytes {
    const needed = this.length + count;
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    return this.bytes;
  }

  /** Appends bytes. */
  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Returns the bytes from an offset on; the buffer is not copied. */
  from(start: number, end: number = this.length): Bytes {
    return this.bytes.subarray(start, end);
  }

  /** Removes the first `count` bytes. */
  dropFirst(count: number): void {
    this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
  }
}
