import { concatBytes } from "../../src/bytes.ts";
import type { Folder } from "../../src/sync/sync.ts";

/** A folder in memory, whose process a test can kill before any of its changes. */
export class MemoryFolder implements Folder {
  readonly files = new Map<string, Uint8Array>();
  /** Number of changes until the process is killed. */
  changesLeft = Infinity;
  free = Infinity;
  isLocked = false;
  /** Called after each change. */
  onChange = () => {};

  #change(change: () => void): void {
    if (this.changesLeft-- <= 0) throw new Error("killed");
    change();
    this.onChange();
  }

  // deno-lint-ignore require-await -- as a file system does
  read = async (path: string) => {
    const bytes = this.files.get(path);
    return bytes && (async function* () {
      yield bytes;
    })();
  };

  write: Folder["write"] = async (path, content, isNew = false) => {
    const chunks: Uint8Array[] = [];
    for await (const bytes of content) chunks.push(bytes.slice());
    if (isNew && this.files.has(path)) return false;
    this.#change(() => this.files.set(path, concatBytes(chunks)));
    return true;
  };

  // deno-lint-ignore require-await -- as a file system does
  move = async (from: string, to: string) => {
    this.#change(() => {
      this.files.set(to, this.files.get(from)!);
      this.files.delete(from);
    });
  };

  list = (folder: string) => {
    const start = folder === "" ? "" : `${folder}/`;
    const found = [...this.files].filter(([path]) =>
      path.startsWith(start) && !path.slice(start.length).includes("/")
    );
    return Promise.resolve(found.map(([path, { length }]) => ({ path, bytes: length })));
  };

  size = (path: string) => Promise.resolve(this.files.get(path)?.length);

  // deno-lint-ignore require-await -- as a file system does
  remove = async (path: string) => this.#change(() => this.files.delete(path));

  freeBytes = () => Promise.resolve(this.free);

  lock = () => {
    if (this.isLocked) throw new Error("The folder is written by another run");
    this.isLocked = true;
    return Promise.resolve({
      check: () => {},
      release: () => Promise.resolve(void (this.isLocked = false)),
    });
  };

  /** Returns the paths that readers see, sorted. */
  get names(): string[] {
    return [...this.files.keys()].filter((path) => !path.startsWith(".")).sort();
  }

  text(path: string): string {
    return new TextDecoder().decode(this.files.get(path));
  }
}
