import { cp } from "node:fs/promises";

/** Entries of the project's folder that no test reads, or that are too large to copy. */
const NOT_COPIED = [".git", "coverage", "dist", "node_modules"];

let current: string | undefined;

export function removeCopy(): void {
  if (current !== undefined) Deno.removeSync(current, { recursive: true });
  current = undefined;
}

export async function inCopy(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = current = await Deno.makeTempDir({ prefix: "weir-mutation-" });
  try {
    await copyProject(folder);
    await work(folder);
  } finally {
    removeCopy();
  }
}

async function copyProject(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(".")) {
    if (!NOT_COPIED.includes(name)) await cp(name, `${folder}/${name}`, { recursive: true });
  }
}

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
