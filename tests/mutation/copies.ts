import { cp } from "node:fs/promises";

/** Entries of the project's folder that no test reads, or that are too large to copy. */
const NOT_COPIED = [".git", "coverage", "dist", "node_modules"];

/** Folders of the current copies. */
const folders = new Set<string>();

/** Removes all copies when the process is interrupted. */
export function removeCopies(): void {
  for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  folders.clear();
}

/**
 * Processes items in several temporary copies of the project, one item per copy at a time.
 *
 * @param copies Number of copies
 * @param work Processes an item in the folder of a copy; it must undo its changes
 */
export async function inCopies<T>(
  items: Iterable<T>,
  copies: number,
  work: (item: T, folder: string) => Promise<void>,
): Promise<void> {
  const left = [...items];
  await Promise.all(Array.from({ length: Math.min(copies, left.length) }, async () => {
    const folder = await Deno.makeTempDir({ prefix: "weir-mutation-" });
    folders.add(folder);
    try {
      await copyProject(folder);
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        await work(item, folder);
      }
    } finally {
      if (folders.delete(folder)) await Deno.remove(folder, { recursive: true });
    }
  }));
}

async function copyProject(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(".")) {
    if (!NOT_COPIED.includes(name)) await cp(name, `${folder}/${name}`, { recursive: true });
  }
}

/** Changes a file of a copy, runs a function and restores the file. */
export async function withText<T>(
  path: string,
  change: (text: string) => string,
  work: () => Promise<T>,
): Promise<T> {
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, change(text));
  try {
    return await work();
  } finally {
    await Deno.writeTextFile(path, text);
  }
}
