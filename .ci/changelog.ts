/** A section of CHANGELOG.md: a version, or the changes since the last release. */
export interface ChangelogSection {
  /** `undefined` for the changes since the last release. */
  version: string | undefined;
  /** Date of the release, YYYY-MM-DD; `undefined` for the changes since the last release. */
  date: string | undefined;
  /** Text below the heading. */
  text: string;
}

const UNRELEASED = "## [Unreleased]";
const HEADING = /^## \[Unreleased\]$|^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$/;
/** Definition of the link of a heading. */
const LINK = /^\[(?:Unreleased|\d+\.\d+\.\d+)\]: \S+\n/gm;

/**
 * Returns the sections of CHANGELOG.md, newest first.
 *
 * @param changelog Text with headings `## [Unreleased]` and `## [1.2.0] - 2026-12-31`
 * @throws {Error} If a heading has another form
 */
export function sectionsOf(changelog: string): ChangelogSection[] {
  const parts = changelog.replace(LINK, "").split(/^(?=## \[)/m);
  return parts.filter((part) => part.startsWith("## [")).map((part) => {
    const end = part.indexOf("\n");
    const heading = part.slice(0, end < 0 ? undefined : end);
    const match = HEADING.exec(heading);
    if (match === null) {
      throw new Error(
        `CHANGELOG.md has the heading "${heading}": write "${UNRELEASED}" or ` +
          `"## [x.y.z] - YYYY-MM-DD"`,
      );
    }
    return { version: match[1], date: match[2], text: part.slice(heading.length).trim() };
  });
}

/** Returns the section of a version, or of the changes since the last release if there is no argument. */
export function findSection(changelog: string, version?: string): ChangelogSection | undefined {
  return sectionsOf(changelog).find((section) => section.version === version);
}

/** Whether a section lists a change. */
export function hasEntries(section: ChangelogSection | undefined): boolean {
  return /^[-*] /m.test(section?.text ?? "");
}

/**
 * Moves the changes since the last release below the heading of a version.
 *
 * Leaves an empty section for the next changes, and links each heading to the changes on GitHub.
 *
 * @param date Date of the release, YYYY-MM-DD
 * @param repository Address on GitHub
 */
export function releaseChangelog(
  changelog: string,
  version: string,
  date: string,
  repository: string,
): string {
  const moved = changelog.replace(LINK, "").trimEnd()
    .replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
  const versions = sectionsOf(moved).flatMap((section) => section.version ?? []);
  const links = versions.map((name, index) => {
    const previous = versions[index + 1];
    const target = previous === undefined
      ? `releases/tag/v${name}`
      : `compare/v${previous}...v${name}`;
    return `[${name}]: ${repository}/${target}`;
  });
  const unreleased = `[Unreleased]: ${repository}/compare/v${version}...HEAD`;
  return `${moved}\n\n${[unreleased, ...links].join("\n")}\n`;
}
