// A folder as `weir sync` writes it, in memory or on the disk.
import type { MirrorFolder } from "../../edge/app.ts";
import { type Bytes, toHex } from "../../src/bytes.ts";

export const DOI = "10.25976/0gvo-9d12";
export const OBSERVATIONS = "observations/10.25976-0gvo-9d12.parquet";

/** Texts by path. */
export type MirrorTexts = Record<string, string>;

export const bytesOf = (text: string): Bytes => new TextEncoder().encode(text);

export async function digestOf(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text))));
}

/** Returns the manifest of files. Those in a folder are of the dataset. */
export async function manifestOf(texts: MirrorTexts, weir: object = {}): Promise<string> {
  const resources = await Promise.all(
    Object.entries(texts).map(async ([path, text]) => ({
      profile: "data-resource",
      name: path.replace(/\.\w+$/, "").replaceAll("/", "-"),
      path,
      title: path,
      format: path.split(".").at(-1),
      mediatype: path.endsWith(".csv") ? "text/csv" : "application/vnd.apache.parquet",
      encoding: "utf-8",
      bytes: bytesOf(text).length,
      hash: `sha256:${await digestOf(text)}`,
      rows: 10,
      ...(path.includes("/") && { dataset: DOI }),
    })),
  );
  return JSON.stringify({
    profile: "data-package",
    name: "datastream-mirror",
    title: "Mirror of a test",
    created: "2026-11-28T00:00:00.000Z",
    licenses: [{ name: "ODC-By-1.0", title: "Open Data Commons Attribution" }],
    sources: [{ title: "A dataset", path: `https://doi.org/${DOI}`, doi: DOI, version: "1.0.0" }],
    resources,
    weir: {
      version: "0.1.0",
      mirror: 1,
      query: { resource: "Observations" },
      datasets: [[DOI, "1.0.0", "2026-01-01T00:00:00Z"]],
      ...weir,
    },
  });
}

export interface MemoryMirror {
  folder: MirrorFolder;
  /** Replaces a file, as a rename does: an open file keeps its content. */
  put(path: string, content: string): void;
  remove(path: string): void;
  /** Paths that were opened. */
  opened: string[];
  /** Number of open files. */
  open(): number;
}

/** A folder in memory. Each change is a millisecond later than the one before. */
export function memoryMirror(): MemoryMirror {
  const files = new Map<string, { bytes: Bytes; at: number }>();
  const opened: string[] = [];
  let now = Date.UTC(2026, 10, 28);
  let count = 0;
  const folder: MirrorFolder = {
    open(path) {
      opened.push(path);
      const file = files.get(path);
      if (file === undefined) return Promise.resolve(undefined);
      count++;
      const { bytes, at } = file;
      let isClosed = false;
      return Promise.resolve({
        size: bytes.length,
        modifiedAt: at,
        changedAt: at,
        read(start: number, end: number) {
          if (isClosed) throw new Error("the file is closed");
          return Promise.resolve(bytes.slice(start, end));
        },
        close() {
          if (!isClosed) count--;
          isClosed = true;
          return Promise.resolve();
        },
      });
    },
  };
  return {
    folder,
    put: (path, content) => void files.set(path, { bytes: bytesOf(content), at: now++ }),
    remove: (path) => void files.delete(path),
    opened,
    open: () => count,
  };
}

/** Writes a mirror into a folder, with the manifest last. */
export async function writeMirror(root: string, texts: MirrorTexts): Promise<void> {
  for (const [path, text] of Object.entries(texts)) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}.new`, text);
    await Deno.rename(`${root}/${path}.new`, `${root}/${path}`);
  }
  await Deno.writeTextFile(`${root}/datapackage.json.new`, await manifestOf(texts));
  await Deno.rename(`${root}/datapackage.json.new`, `${root}/datapackage.json`);
}
