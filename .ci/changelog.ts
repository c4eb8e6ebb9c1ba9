/** A section of CHANGELOG.md: a version, or the changes since the last release. */
export interface ChangelogSection {
  /** `undefined` for the changes since the last release. */
  version: string | undefined;
  /** Date of the release, YYYY-MM-DD; `undefined` for the changes since the last release. */
  date: string | undefined;
  text: string;
}

const UNRELEASED = "## [Unreleased]";
/** Heading of a section. The version can be a pre-release, or have been taken back ("yanked"). */
const HEADING =
  /^## \[(?:Unreleased\]|(\d+\.\d+\.\d+(?:-[\dA-Za-z.-]+)?)\] - (\d{4}-\d\d-\d\d)(?: \[YANKED\])?)$/;
/** Definition of the link of a heading. */
const LINK = /^\[(?:Unreleased|\d+\.\d+\.\d+(?:-[\dA-Za-z.-]+)?)\]: \S+$\n?/gm;

/**
 * Returns the sections of CHANGELOG.md, newest first.
 *
 * @param changelog Text with headings `## [Unreleased]` and `## [1.2.0] - 2026-12-31`
 * @throws {Error} If a heading of level 2 has another form
 */
export function sectionsOf(changelog: string): ChangelogSection[] {
  return splitAtHeadings(changelog).map(({ line, heading, text }) => {
    const match = HEADING.exec(heading);
    if (match === null) throw new Error(formProblem(line, heading));
    return { version: match[1], date: match[2], text };
  });
}

/** Splits CHANGELOG.md at its headings of level 2, which can have any form. */
function splitAtHeadings(changelog: string): { line: number; heading: string; text: string }[] {
  const [introduction = "", ...parts] = `\n${changelog}`.split(/\n(?=##(?!#))/);
  let line = introduction.split("\n").length;
  return parts.map((part) => {
    const [heading = "", ...lines] = part.split("\n");
    const text = lines.join("\n").replace(LINK, "").trim();
    const section = { line, heading, text };
    line += 1 + lines.length;
    return section;
  });
}

function formProblem(line: number, heading: string): string {
  return `CHANGELOG.md, line ${line}, has the heading "${heading}": write "${UNRELEASED}" or ` +
    `"## [1.2.0] - 2026-12-31", without other characters`;
}

/**
 * Returns the problems of the headings that prevent the release of a version. Each message says what to do.
 *
 * @param version The new version
 */
export function headingProblems(changelog: string, version: string): string[] {
  if (changelog.includes("\r")) return ["CHANGELOG.md has line ends CRLF: convert them to LF"];
  const earlier: string[] = [];
  return splitAtHeadings(changelog).flatMap(({ line, heading }) => {
    const match = HEADING.exec(heading);
    if (match === null) return formProblem(line, heading);
    const name = match[1] ?? "Unreleased";
    const problem = problemOf(name);
    earlier.push(name);
    return problem === undefined ? [] : `CHANGELOG.md, line ${line}, has ${problem}`;
  });

  function problemOf(name: string): string | undefined {
    if (name === version) {
      return `a heading for ${name}: choose another version, or, if ${name} is not released, ` +
        `move the entries below "${UNRELEASED}" and remove the heading`;
    }
    if (earlier.includes(name)) return `a second heading for ${name}: merge the two sections`;
    return name === "Unreleased" && earlier.length > 0
      ? `the heading "${UNRELEASED}" below a version: move the section up`
      : undefined;
  }
}

/** Returns the section of a version, or of the changes since the last release if there is no argument. */
export function findSection(changelog: string, version?: string): ChangelogSection | undefined {
  return sectionsOf(changelog).find((section) => section.version === version);
}

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
    .replace(/^## \[Unreleased\]$/m, `$&\n\n## [${version}] - ${date}`);
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
