/** Whether the newest version of the package is released. */
export interface Status {
  version: string;
  /** Date of the release, YYYY-MM-DD; `undefined` before it. */
  date: string | undefined;
  /** The line of README.md that says it. */
  line: string;
}

/** Phrases that are true only before the first release. A release removes the sentences with them. */
export const PRE_RELEASE_PHRASES: readonly RegExp[] = [
  /\bunreleased\b/,
  /\bnot (?:yet )?(?:on JSR|on npm|published)\b/,
  /\bafter the first release\b/,
  /\b[Uu]ntil (?:then|it is|it is published|the\s+package is published|the first release)\b/,
];

/**
 * Returns the status that the newest heading of CHANGELOG.md says.
 *
 * @param changelog Text with a heading `## [0.1.0] - unreleased` or `## [0.1.0] - 2026-12-31`
 */
export function statusOf(changelog: string): Status {
  const heading = /^## \[(\d+\.\d+\.\d+)\] - (unreleased|\d{4}-\d\d-\d\d)$/m.exec(changelog);
  if (heading === null) {
    throw new Error(
      "CHANGELOG.md has no heading ## [x.y.z] - unreleased or ## [x.y.z] - YYYY-MM-DD",
    );
  }
  const version = heading[1]!;
  const date = heading[2] === "unreleased" ? undefined : heading[2];
  const released = /^## \[\d+\.\d+\.\d+\] - (\d{4}-\d\d-\d\d)$/m.test(changelog);
  const line = date !== undefined
    ? `**Status:** version ${version} of ${date}, on [JSR](https://jsr.io/@weir/datastream) and ` +
      `[npm](https://www.npmjs.com/package/@weir/datastream).`
    : released
    ? `**Status:** version ${version} is in development; earlier versions are on ` +
      `[JSR](https://jsr.io/@weir/datastream) and [npm](https://www.npmjs.com/package/@weir/datastream).`
    : "**Status:** unreleased. Weir is not on JSR or npm yet; use it from a clone of this repository, " +
      "as this page shows.";
  return { version, date, line };
}
