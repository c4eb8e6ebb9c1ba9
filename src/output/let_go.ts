/**
 * Gives the memory of bytes back at once, where the runtime can: what is collected in its own time is
 * still held when the next page comes.
 */
export function letGo({ buffer }: Uint8Array<ArrayBuffer>): void {
  buffer.transfer?.(0);
}

/** The first so many bytes, in memory of their own; the rest is let go. */
export function cutOff(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
): Uint8Array<ArrayBuffer> {
  const kept = bytes.slice(0, length);
  letGo(bytes);
  return kept;
}
