import { sectionsOf } from "./changelog.ts";
import { isPreRelease } from "./semver.ts";

const ON_JSR_AND_NPM =
  "on [JSR](https://jsr.io/@weir/datastream) and [npm](https://www.npmjs.com/package/@weir/datastream)";
/** Heading of the section of README.md that a release makes true. */
const LATER = "## After the first release";

/**
 * Returns the line of README.md that names the status, or `undefined` after the first release.
 *
 * @param changelog Text of CHANGELOG.md
 * @param current Version in `jsr.json`, which can be a pre-release
 */
export function statusLine(changelog: string, current: string): string | undefined {
  const isReleased = sectionsOf(changelog)
    .some(({ version }) => version !== undefined && !isPreRelease(version));
  if (isReleased) return undefined;
  const status = current.includes("-")
    ? `pre-release ${current}, ${ON_JSR_AND_NPM}. Name it to install it: \`@weir/datastream@${current}\`.`
    : "not yet released on JSR and npm. Until then, work in a clone of this repository.";
  return `**Status:** ${status}`;
}

/**
 * Returns README.md with a status. Without one, the section about the released package becomes the first.
 *
 * @param line Result of {@linkcode statusLine}
 */
export function withStatus(readme: string, line: string | undefined): string {
  const text = readme.replace(/^\*\*Status:\*\* .*\n\n/m, () => line ? `${line}\n\n` : "");
  if (line !== undefined || !text.includes(`\n${LATER}\n`)) return text;
  const [start, ...sections] = text.split(/^(?=## )/m);
  const isLater = (section: string) => section.startsWith(LATER);
  const later = sections.filter(isLater).map((section) => section.replace(LATER, "## Install"));
  return [start, ...later, ...sections.filter((section) => !isLater(section))].join("");
}
