// A release refuses wrong versions and headings, and knows each place of the version. tests/package/release_test.ts runs
// the task.
import { assertEquals } from "@std/assert";
import { headingProblems } from "../../../.ci/changelog.ts";
import { versionProblem } from "../../../.ci/semver.ts";
import { unlistedPlaces, withVersion } from "../../../.ci/version_places.ts";
import jsr from "../../../jsr.json" with { type: "json" };
import { runProgram } from "../../helpers/programs.ts";

const ADDRESS = "https://github.com/owner/weir";
const CHANGELOG = `# Changelog

## [Unreleased]

### Added

- A thing.

## [91.1.0] - 2026-01-02

- Another thing.

[Unreleased]: ${ADDRESS}/compare/v91.1.0...HEAD
[91.1.0]: ${ADDRESS}/releases/tag/v91.1.0
`;

Deno.test("every place that names the version is in the list when the project is read", async () => {
  const listed = await runProgram("git", "grep", "-I", "--files-with-matches", "--untracked", "");
  // The copies that mutants are tested in are no repositories.
  if (!listed?.success) return;
  const unlisted: string[] = [];
  let places = 0;
  for (const path of listed.stdout.trim().split("\n")) {
    const text = await Deno.readTextFile(path);
    unlisted.push(...unlistedPlaces(path, text, jsr.version));
    if (withVersion(path, text, jsr.version, "") !== text) places++;
  }
  assertEquals(unlisted, [], "add them to .ci/version_places.ts");
  assertEquals(places >= 3, true, `${places} places`);
});

Deno.test("headingProblems() names the line of a heading of another form", () => {
  const headings =
    "## [Unreleased] ,## [unreleased],## Unreleased,##[Unreleased],## [91.1.0] - 2026-1-1," +
    "## [91.1.0],## 91.1.0 - 2026-01-02,## [91.1] - 2026-01-02,## [91.1.0] - 2026-01-02 [yanked]," +
    "## [91.1.0] – 2026-01-02,## Notes";
  for (const heading of headings.split(",")) {
    const changelog = CHANGELOG.replace(/^## .*91\.1\.0.*$/m, heading);
    assertEquals(headingProblems(changelog, "91.2.0"), [
      `CHANGELOG.md, line 9, has the heading "${heading}": write "## [Unreleased]" or ` +
      '"## [1.2.0] - 2026-12-31", without other characters',
    ]);
  }
});

Deno.test("versionProblem() refuses versions that are invalid or not greater than the released one", () => {
  const refused = (current: string, isReleased: boolean, ...versions: string[]) =>
    versions.filter((version) => versionProblem(version, current, isReleased) !== undefined);
  const invalid = ["v1.3.0", "1.3", "1.3.0.0", "1.3.0-", "01.3.0", "latest", "", "1.3.0+build"];
  assertEquals(refused("1.2.0", true, ...invalid), invalid);
  const small = ["1.2.0", "1.1.9", "1.2.0-rc.1", "0.9.0"];
  assertEquals(refused("1.2.0", true, ...small, "1.2.1", "1.3.0-rc.1", "2.0.0"), small);
  assertEquals(refused("1.2.0-rc.1", true, "1.2.0-rc.2", "1.2.0", "1.2.0-beta"), ["1.2.0-beta"]);
});
