// Growing buffers for the input and the output of a page.
import type { Bytes } from "../bytes.ts";
import { releaseBuffer } from "./page_writer.ts";

/**
 * Number of zero bytes after the unread bytes. JSON has no zero bytes, so a scanner stops there: it reads at most
 * eight bytes past a byte that is not zero.
 *
 * V8 compiles a loop that has read past the end of a typed array to code that is 2 to 3 times slower.
 */
const SENTINEL_LENGTH = 16;

/** Default capacity (bytes). A larger one is not faster, and a smaller one takes more reads. */
const WINDOW_LENGTH = 1 << 18;

/** The part of a page that has arrived and is not yet read. It grows if less than a quarter of it is free. */
export class PageWindow {
  /** The buffer. Reading a stream can replace it. */
  bytes: Bytes;
  /** View of the same buffer. */
  view: DataView;
  /** Offset of the first unread byte. */
  start = 0;
  /** Offset after the last unread byte. Zeros follow. */
  end = 0;

  /** @param pageLength Length (bytes) of the page, if it is known */
  constructor(pageLength = Infinity) {
    this.bytes = new Uint8Array(Math.min(WINDOW_LENGTH, Math.max(1, pageLength) + SENTINEL_LENGTH));
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns the part of the buffer to fill next. It is invalid after the next call. */
  space(): Bytes {
    if (this.start > 0) {
      this.bytes.copyWithin(0, this.start, this.end);
      this.end -= this.start;
      this.start = 0;
    }
    const limit = this.bytes.length - SENTINEL_LENGTH;
    if (limit - this.end < limit / 4 && this.end > 0) this.#grow();
    return this.bytes.subarray(this.end, this.bytes.length - SENTINEL_LENGTH);
  }

  /**
   * Adds bytes.
   *
   * @param filled The start of the last `space()`; a stream may have moved it to another buffer
   */
  add(filled: Bytes): void {
    if (filled.buffer !== this.bytes.buffer) this.#use(filled.buffer);
    this.#advance(filled.length);
  }

  /**
   * Copies bytes into the free part of the buffer.
   *
   * @param chunk The bytes
   * @param start Offset of the first byte to copy
   * @returns The number of bytes that were copied; there may be no room for all of them
   */
  append(chunk: Uint8Array, start: number): number {
    const space = this.space();
    const isWhole = start === 0 && chunk.length <= space.length;
    // A part of an array is a new object.
    const part = isWhole ? chunk : chunk.subarray(start, start + space.length);
    space.set(part);
    this.#advance(part.length);
    return part.length;
  }

  /** Frees the memory. The window cannot be used after this. */
  release(): void {
    releaseBuffer(this.bytes);
  }

  #advance(length: number): void {
    this.end += length;
    this.bytes.fill(0, this.end, this.end + SENTINEL_LENGTH);
  }

  #grow(): void {
    const larger = new Uint8Array(2 * this.bytes.length);
    larger.set(this.bytes.subarray(0, this.end));
    releaseBuffer(this.bytes);
    this.#use(larger.buffer);
  }

  #use(buffer: ArrayBuffer): void {
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
  }
}

/**
 * Initial capacity (bytes). The system commits only what is written, so it is larger than most pages of few fields.
 * From 16 KB, a buffer would be copied five times while such a page is written.
 */
const INITIAL_CAPACITY = 1 << 19;

/** Number of bytes after those that were reserved, which `copyWords()` may overwrite. */
const SPARE_LENGTH = 8;

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
    this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
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
