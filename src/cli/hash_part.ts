import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { FileError } from "./files.ts";
import { partPathOf, RESTART } from "./part_state.ts";

/** Number of bytes to read at once. */
const READ_SIZE = 1 << 20;

/**
 * Hashes the first bytes of a part; bytes after them do not matter.
 *
 * @param sha256 The hash that they had when they were written, in hexadecimal
 * @returns The hash, to add more bytes to
 * @throws {FileError} If they are not those that were written
 */
export async function hashPart(
  path: string,
  file: FileHandle,
  bytes: number,
  sha256: string,
): Promise<Hash> {
  const changed = (how: string) =>
    new FileError(`${partPathOf(path)} was changed: ${how}: ${RESTART}`);
  const { size } = await file.stat();
  if (size < bytes) throw changed(`it has ${size} bytes, weir wrote ${bytes}`);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_SIZE, bytes - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  if (hash.copy().digest("hex") === sha256) return hash;
  throw changed(`its first ${bytes} bytes are not those that weir wrote`);
}
