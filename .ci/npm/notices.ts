/**
 * Licence notices of the npm packages that the bundles contain.
 *
 * @module
 */

/** An npm package with its licence. */
export interface Notice {
  /** Name and version, such as `hono@4.13.19`. */
  name: string;
  /** Text of the licence, without empty lines at its ends. */
  text: string;
}

/**
 * npm package with builds of @std, which has no licence file. Its licence differs from the project's only
 * in the copyright.
 */
const STD = /^deno-std@/;

/**
 * Reads the licences of npm packages.
 *
 * @param packages Folders of the packages, by name and version
 * @param own Text of the project's licence
 * @throws {Error} If a package has none
 */
export async function readNotices(
  packages: ReadonlyMap<string, string>,
  own: string,
): Promise<Notice[]> {
  const names = [...packages.keys()].sort();
  return await Promise.all(names.map(async (name) => {
    const folder = packages.get(name)!;
    const text = STD.test(name)
      ? own.replace(/^Copyright.*$/m, "Copyright 2018-2026 the Deno authors")
      : await Deno.readTextFile(`${folder}/LICENSE`).catch(() => {
        throw new Error(`${name} has no file LICENSE in ${folder}`);
      });
    return { name, text: text.trim() };
  }));
}

/** Formats the file of the package that contains the licences. */
export function noticesFile(notices: readonly Notice[]): string {
  const sections = notices.map(({ name, text }) =>
    `${name}\n${"-".repeat(name.length)}\n\n${text}\n`
  );
  return ["The bundles of this package contain code of these packages.\n", ...sections].join("\n");
}

/** Formats licences as a comment that minifiers keep. */
export function noticesComment(notices: readonly Notice[]): string {
  const sections = notices.map(({ name, text }) => `${name}\n\n${text}`);
  return `/*!\n${sections.join("\n\n")}\n*/\n`;
}

/** Formats a comment that minifiers keep, and that refers to the file with the licences. */
export function noticesReference(names: Iterable<string>, file: string): string {
  return `/*! Contains ${[...names].sort().join(", ")}: see ${file} of @weir/datastream */\n`;
}
