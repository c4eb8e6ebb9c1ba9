// Compares a file with its data package.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { parse } from "@std/csv/parse";
import { utf8Decoder } from "../bytes.ts";
import { oneLine } from "../errors.ts";
import { type PackageResource, sealPackage } from "../formats/data_package.ts";
import { type FileFormat, FORMATS } from "../formats/formats.ts";
import { FileError } from "./output.ts";
import type { AnyPackage } from "./part_file.ts";

/** How a file differs from its package. */
export interface Verification {
  size: number;
  /** Absent if the rows of the format are not counted. */
  rows?: number | undefined;
  /** One line each; none if the file is intact. */
  differences: readonly string[];
}

/**
 * Compares a file with its package, and the package with its own hash.
 *
 * @param hash Hash of the file
 * @throws {FileError} If the file cannot be read
 */
export async function verifyFile(
  path: string,
  hash: string,
  found: AnyPackage,
): Promise<Verification> {
  const { resources: [resource], weir: { packageHash = "none" } } = found;
  const { size } = await stat(path);
  const { rows, differences } = await compareContent(path, resource);
  if (hash !== resource.hash) differences.unshift(`hash: ${hash} instead of ${resource.hash}`);
  const { bytes = size } = resource;
  if (size !== bytes) differences.unshift(`bytes: ${size} instead of ${bytes}`);
  const { weir } = await sealPackage(found);
  if (packageHash !== weir.packageHash) {
    differences.push(
      `package: the hash of its members is ${weir.packageHash} instead of ${packageHash}`,
    );
  }
  return { size, rows, differences };
}

/** Compares the rows and columns of a file with those in its package. `rows` is absent if they are not counted. */
async function compareContent(
  path: string,
  resource: PackageResource,
): Promise<{ rows?: number; differences: string[] }> {
  const counter = createCounter(resource);
  if (counter === undefined) return { differences: [] };
  const stream = createReadStream(path);
  const gunzip = createGunzip();
  // `pipe` does not forward errors: a read error must end the decompression.
  const data = resource.compression === undefined
    ? stream
    : stream.on("error", (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    for await (const bytes of data) counter.add(bytes);
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith("Z_")) {
      throw new FileError(`Cannot read ${path}: ${oneLine(error)}`);
    }
    return { differences: [`content: cannot be decompressed (${oneLine(error)})`] };
  } finally {
    stream.destroy();
  }
  const { rows, header } = counter.end();
  const differences: string[] = [];
  if (resource.rows !== undefined && rows !== resource.rows) {
    differences.push(`rows: ${rows} instead of ${resource.rows}`);
  }
  const names = resource.schema.fields.map(({ name }) => name);
  // One name more than there are columns: a column that is missing, or too many.
  const at = header === undefined
    ? -1
    : [...names, undefined].findIndex((name, index) => header[index] !== name);
  if (at >= 0) {
    const show = (name: string | undefined) => name === undefined ? "none" : `"${name}"`;
    const [found, expected] = [show(header![at]), show(names[at])];
    differences.push(`header: column ${at + 1} is ${found} instead of ${expected}`);
  }
  return { rows, differences };
}

interface RowCounter {
  add(bytes: Uint8Array): void;
  /** `header` is absent if the format has none. */
  end(): { rows: number; header?: string[] | undefined };
}

/** Returns `undefined` for a format whose rows are not counted. */
function createCounter({ format, dialect }: PackageResource): RowCounter | undefined {
  if (dialect !== undefined) return csvCounter(dialect);
  const { rows } = FORMATS[format as FileFormat] ?? {};
  if (rows === "lines") return csvCounter({ delimiter: "", header: false, isPlain: true });
  return rows && jsonCounter();
}

const [LINE_FEED, QUOTE, BACKSLASH] = [0x0a, 0x22, 0x5c];

/** Maximum length (bytes) of a header row. */
const MAX_HEADER = 1 << 16;

/** Counts line ends; one in quotes does not count. In a plain document, quotes have no meaning. */
function csvCounter(
  { delimiter, header, isPlain = false }: { delimiter: string; header: boolean; isPlain?: boolean },
): RowCounter {
  let [lines, isQuoted] = [0, false];
  let first = new Uint8Array();
  return {
    add(bytes) {
      let firstEnd = lines === 0 ? bytes.length : 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at]!;
        if (byte === QUOTE) isQuoted = !isPlain && !isQuoted;
        else if (byte === LINE_FEED && !isQuoted) {
          if (lines++ === 0) firstEnd = at;
        }
      }
      if (header && first.length < MAX_HEADER) {
        first = Uint8Array.from([...first, ...bytes.subarray(0, Math.min(firstEnd, MAX_HEADER))]);
      }
    },
    end() {
      if (!header) return { rows: lines };
      const text = utf8Decoder.decode(first).replace(/^\ufeff|\r$/g, "");
      // A damaged header can have any quotes.
      const [names] = parse(text, { separator: delimiter, lazyQuotes: true });
      return { rows: Math.max(0, lines - 1), header: names ?? [] };
    },
  };
}

function jsonCounter(): RowCounter {
  let [rows, depth, isText, isEscaped] = [0, 0, false, false];
  return {
    add(bytes) {
      for (const byte of bytes) {
        if (isText) {
          if (isEscaped) isEscaped = false;
          else if (byte === BACKSLASH) isEscaped = true;
          else if (byte === QUOTE) isText = false;
        } else if (byte === QUOTE) isText = true;
        else if ((byte | 0x20) === 0x7b) { // [ {
          if (depth++ === 2 && byte === 0x7b) rows++;
        } else if ((byte | 0x20) === 0x7d) depth--; // ] }
      }
    },
    end: () => ({ rows }),
  };
}
