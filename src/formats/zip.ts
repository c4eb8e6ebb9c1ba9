// The containers of a ZIP file: headers before and after the content of entries (APPNOTE 6.3.10 of PKWARE), without ZIP64.
import { type Bytes, utf8Encoder } from "../bytes.ts";

/** Length of an entry and of a file that have no ZIP64 records: less than 4 GiB. */
export const MAX_ZIP_LENGTH = 2 ** 32 - 1;

/** Compression methods. */
export const STORED = 0;
export const DEFLATED = 8;

export interface ZipEntry {
  name: string;
  method: typeof STORED | typeof DEFLATED;
  /** Offset of its local header in the file. */
  offset: number;
  crc: number;
  length: number;
  compressedLength: number;
}

/** Bit 3: lengths and CRC follow the content. */
const HAS_DESCRIPTOR = 1 << 3;
/** 2.0: DEFLATE. */
const VERSION = 20;
/** 1980-01-01, the earliest date, so that equal documents have equal bytes. */
const DATE = 1 << 5 | 1;

/** Returns the header before the content. Lengths and CRC of a DEFLATED entry follow its content, in `descriptor()`. */
export function localHeader(entry: ZipEntry): Bytes {
  const name = utf8Encoder.encode(entry.name);
  return toRecord(0x04034b50, [[2, VERSION], ...commonFields(entry, name)], name);
}

export function descriptor({ crc, compressedLength, length }: ZipEntry): Bytes {
  return toRecord(0x08074b50, [[4, crc], [4, compressedLength], [4, length]]);
}

/** Returns the end of a file, from its offset on. */
export function centralDirectory(entries: readonly ZipEntry[], offset: number): Bytes[] {
  const headers = entries.map((entry) => {
    const name = utf8Encoder.encode(entry.name);
    const sizes = commonFields(entry, name, true);
    const noComment: Field[] = [[2, 0], [2, 0], [2, 0], [4, 0], [4, entry.offset]];
    return toRecord(0x02014b50, [[2, VERSION], [2, VERSION], ...sizes, ...noComment], name);
  });
  const length = headers.reduce((sum, header) => sum + header.length, 0);
  const counts: Field[] = [[2, 0], [2, 0], [2, entries.length], [2, entries.length]];
  return [...headers, toRecord(0x06054b50, [...counts, [4, length], [4, offset], [2, 0]])];
}

type Field = readonly [bytes: 2 | 4, value: number];

function commonFields(
  { method, crc, compressedLength, length }: ZipEntry,
  name: Bytes,
  isKnown = method === STORED,
): Field[] {
  return [
    [2, method === STORED ? 0 : HAS_DESCRIPTOR],
    [2, method],
    [2, 0],
    [2, DATE],
    [4, isKnown ? crc : 0],
    [4, isKnown ? compressedLength : 0],
    [4, isKnown ? length : 0],
    [2, name.length],
    [2, 0],
  ];
}

/** All numbers are little-endian. */
function toRecord(
  signature: number,
  fields: readonly Field[],
  end: Bytes = new Uint8Array(),
): Bytes {
  const all: Field[] = [[4, signature], ...fields];
  const length = all.reduce((sum, [bytes]) => sum + bytes, 0);
  const record = new Uint8Array(length + end.length);
  const view = new DataView(record.buffer);
  let at = 0;
  for (const [bytes, value] of all) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  record.set(end, length);
  return record;
}
