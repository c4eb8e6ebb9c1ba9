// Growing buffers for the input and the output of a page.
import type { Bytes } from "../bytes.ts";
import { releaseBuffer } from "./page_writer.ts";

/**
 * Initial capacity (bytes). The system commits only what is written, so it is larger than most pages of few fields.
 * From 16 KB, a buffer would be copied five times while such a page is written.
 */
const INITIAL_CAPACITY = 1 << 19;

/** Number of bytes after those that were reserved: `copyWords()` may overwrite eight, and a window ends with zeros. */
const SPARE_LENGTH = 16;

/** Growing buffer to which bytes are appended. */
export class ByteBuffer {
  /** Buffer of the bytes, with room after them. `reserve()` can replace it. */
  bytes: Bytes;
  /** View of the same buffer. */
  view: DataView;
  /** Number of bytes written. */
  length = 0;

  /** @param capacity Number of bytes for which there is room. The system commits only what is written */
  constructor(capacity: number = INITIAL_CAPACITY) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns the buffer after making room for `count` more bytes. */
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

  /** Appends bytes. */
  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Returns a view of the bytes from an offset to another. `reserve()` and `append()` can make it invalid. */
  from(start: number, end: number = this.length): Bytes {
    return this.bytes.subarray(start, end);
  }

  /** Frees the memory. The buffer cannot be used after this. */
  release(): void {
    releaseBuffer(this.bytes);
  }

  /** Removes the first `count` bytes. */
  dropFirst(count: number): void {
    if (count > 0) this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
  }
}

/**
 * The part of a page that has arrived and is not yet read.
 *
 * Zeros follow its bytes. JSON has no zero bytes, so a scanner stops there: it reads at most eight bytes past a byte
 * that is not zero. V8 compiles a loop that has read past the end of a typed array to code that is 2 to 3 times slower.
 */
export class PageWindow extends ByteBuffer {
  /** Offset of the first unread byte. */
  start = 0;

  constructor() {
    super(0);
  }

  /** Adds bytes. Moves the unread ones to the start of the buffer. */
  override append(bytes: Uint8Array): void {
    this.dropFirst(this.start);
    this.start = 0;
    super.append(bytes);
    this.bytes.fill(0, this.length, this.length + SPARE_LENGTH);
  }
}

/**
 * Copies bytes of a window to a buffer, eight at a time, and up to seven further bytes. A loop of single bytes
 * takes 1.1 to 1.25 times as long for a page of records, and `TypedArray.set` creates an object for each call.
 *
 * Doubles keep all bits except those of a NaN, which valid UTF-8 does not contain: its bytes would end with 0xff, or
 * with 0x7f after a byte from 0xf0 on.
 *
 * @param page View of the window
 * @param start Offset of the first byte
 * @param end Offset after the last byte
 * @param out View of a buffer with enough reserved bytes
 * @param outOffset Offset at which to write
 * @returns The offset after the written bytes
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
