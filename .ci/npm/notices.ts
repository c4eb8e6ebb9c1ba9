/**
 * Licence notices of the npm packages that the bundles contain.
 *
 * @module
 */

export interface NpmPackage {
  name: string;
  version: string;
  localPath: string;
}

export interface Notice {
  /** Name and version, such as `hono@4.13.19`. */
  name: string;
  /** Text of the licence, without empty lines at its ends. */
  text: string;
}

/**
 * npm package that contains @std and has no licence file. Its licence (MIT) is that of the project with another
 * copyright line.
 */
const STD = "deno-std";

/** Copyright of packages whose code is in the files of another package, without its licence file. Their licence is MIT. */
const INLINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "@modelcontextprotocol/server": {
    "@cfworker/json-schema@4.1.1": "Copyright (c) 2020 Jeremy Danyow",
    "content-type@1.0.5": "Copyright (c) 2015 Douglas Christopher Wilson",
  },
};

/**
 * Reads the licences of npm packages, sorted by name.
 *
 * @param packages Packages, possibly repeated
 * @param own Text of the project's licence
 * @throws {Error} If a package has no licence file
 */
export async function readNotices(packages: readonly NpmPackage[], own: string): Promise<Notice[]> {
  const unique = new Map(packages.map((npm) => [npm.name, npm]));
  const ofOther = (copyright: string) => own.replace(/^Copyright.*$/m, copyright).trim();
  const notices = await Promise.all([...unique.values()].map(async (npm) => {
    const { name, version, localPath } = npm;
    const text = name === STD
      ? ofOther("Copyright 2018-2026 the Deno authors")
      : await Deno.readTextFile(`${localPath}/LICENSE`).catch(() => {
        throw new Error(`${name} has no file LICENSE in ${localPath}`);
      });
    const inlined = Object.entries(INLINED[name] ?? {})
      .map(([other, copyright]) => ({ name: other, text: ofOther(copyright) }));
    return [{ name: `${name}@${version}`, text: text.trim() }, ...inlined];
  }));
  const withoutVersion = ({ name }: Notice) => name.slice(0, name.lastIndexOf("@"));
  return notices.flat().sort((a, b) => withoutVersion(a) < withoutVersion(b) ? -1 : 1);
}

export function formatNoticesFile(notices: readonly Notice[]): string {
  const sections = notices.map(({ name, text }) =>
    `${name}\n${"-".repeat(name.length)}\n\n${text}\n`
  );
  return ["The bundles of this package contain code of these packages.\n", ...sections].join("\n");
}

/** Formats licences as a comment that minifiers keep. */
export function formatNoticesComment(notices: readonly Notice[]): string {
  const sections = notices.map(({ name, text }) => `${name}\n\n${text}`);
  return `/*!\n${sections.join("\n\n")}\n*/\n`;
}
