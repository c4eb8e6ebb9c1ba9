import { sectionsOf } from "./changelog.ts";
import { isPreRelease } from "./semver.ts";

export interface Status {
  /** The newest version in CHANGELOG.md except pre-releases; `undefined` before the first release. */
  version: string | undefined;
  date: string | undefined;
  line: string;
}

const ON_JSR_AND_NPM =
  "on [JSR](https://jsr.io/@weir/datastream) and [npm](https://www.npmjs.com/package/@weir/datastream)";

/**
 * Returns the status of the package. Its line in README.md is the only text that a release changes.
 *
 * @param changelog Text of CHANGELOG.md
 * @param current Version in `jsr.json`, which can be a pre-release
 */
export function statusOf(changelog: string, current: string): Status {
  const { version, date } = sectionsOf(changelog)
    .find((section) => section.version !== undefined && !isPreRelease(section.version)) ?? {};
  return { version, date, line: `**Status:** ${describe()}` };

  function describe(): string {
    if (version !== undefined) return `version ${version} of ${date}, ${ON_JSR_AND_NPM}.`;
    if (current.includes("-")) {
      return `pre-release ${current}, ${ON_JSR_AND_NPM}. Name it to install it: ` +
        `\`@weir/datastream@${current}\`.`;
    }
    return "not yet released on JSR and npm. Until then, work in a clone of this repository, and " +
      "write `npx -y deno@2.9 task weir` for `npx @weir/datastream`.";
  }
}

export function withStatus(readme: string, { line }: Status): string {
  return readme.replace(/^\*\*Status:\*\* .*$/m, () => line);
}
