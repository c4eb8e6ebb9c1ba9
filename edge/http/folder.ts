// Files of a folder, through the modules of Node that Node, Deno and Bun have: an import would break Workers.
import { builtinModule, type Bytes } from "../../src/bytes.ts";
import { oneLine, ValidationError } from "../../src/errors.ts";

/**
 * A folder of files that the server reads, such as one in a store of objects.
 *
 * @example A folder in memory
 * ```ts
 * import type { MirrorFolder } from "@weir/datastream/edge";
 *
 * const folder = (files: Record<string, Uint8Array<ArrayBuffer>>): MirrorFolder => ({
 *   open(path) {
 *     const bytes = files[path];
 *     return Promise.resolve(bytes && {
 *       size: bytes.length,
 *       modifiedAt: 0,
 *       changedAt: 0,
 *       read: (start, end) => Promise.resolve(bytes.slice(start, end)),
 *       close: () => Promise.resolve(),
 *     });
 *   },
 * });
 * ```
 */
export interface MirrorFolder {
  /**
   * Opens a file by its path in the folder, such as `observations/a.parquet`. The result is `undefined` if there is none, or if
   * it is outside the folder.
   */
  open(path: string): Promise<ReadableFile | undefined>;
}

/** An open file: its content stays the same if another file gets its name. */
export interface ReadableFile {
  /** Bytes. */
  readonly size: number;
  /** Time of the last change of its content, in milliseconds since 1970. */
  readonly modifiedAt: number;
  /** Time of the last change of its content or name, in milliseconds since 1970. */
  readonly changedAt: number;
  /** Reads from a position to before another one. Fewer bytes than that are the end of the file. */
  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Releases the file. */
  close(): Promise<void>;
}

/** The functions of `node:fs` that are used. */
interface NodeFileSystem {
  statSync(path: string): NodeStats;
  promises: {
    realpath(path: string): Promise<string>;
    stat(path: string): Promise<NodeStats>;
    open(path: string): Promise<NodeFile>;
  };
}

interface NodeStats {
  size: number;
  mtimeMs: number;
  /** Some file systems have none. */
  ctimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

interface NodeFile {
  stat(): Promise<NodeStats>;
  read(into: Bytes, at: number, length: number, position: number): Promise<{ bytesRead: number }>;
  close(): Promise<void>;
}

/** @throws {ValidationError} If it is not a folder that can be read, or the runtime has no file system */
export function openFolder(option: string, root: string): MirrorFolder {
  const fs = builtinModule<NodeFileSystem>("node:fs");
  const refuse = (problem: string, hint: string) =>
    new ValidationError(option, problem, { received: root, hint });
  if (fs === undefined) {
    throw refuse("needs a file system", "omit it, or serve the mirror with Node, Deno or Bun");
  }
  let isFolder: boolean;
  try {
    isFolder = fs.statSync(root).isDirectory();
  } catch (error) {
    throw refuse(`cannot be read (${oneLine(error)})`, "create the folder with weir sync");
  }
  if (!isFolder) throw refuse("must be a folder", "name the folder of weir sync");
  // The text is for the line of settings.
  const folder = {
    open: (path: string) => openFile(fs.promises, root, path),
    toString: () => root,
  };
  return folder;
}

async function openFile(
  fs: NodeFileSystem["promises"],
  root: string,
  path: string,
): Promise<ReadableFile | undefined> {
  try {
    const folder = (await fs.realpath(root)).replace(/[\\/]$/, "");
    const target = await fs.realpath(`${root}/${path}`);
    // A symbolic link must not lead out of the folder. Opening a pipe would wait for a writer.
    const isInside = target.startsWith(folder) && /^[\\/]/.test(target.slice(folder.length));
    if (!isInside) return undefined;
    if (!(await fs.stat(target)).isFile()) return undefined;
    const file = await fs.open(target);
    try {
      const { size, mtimeMs: modifiedAt, ctimeMs } = await file.stat();
      return {
        size,
        modifiedAt,
        changedAt: Math.max(modifiedAt, ctimeMs || 0),
        async read(start, end) {
          const bytes = new Uint8Array(end - start);
          let length = 0;
          while (length < bytes.length) {
            const rest = bytes.length - length;
            const { bytesRead } = await file.read(bytes, length, rest, start + length);
            if (bytesRead === 0) break;
            length += bytesRead;
          }
          return bytes.subarray(0, length);
        },
        close: () => file.close(),
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
