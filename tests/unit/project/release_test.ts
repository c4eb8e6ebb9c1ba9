// A release refuses wrong versions and headings, and knows each place of the version. tests/package/release_test.ts runs
// the task.
import { assertEquals } from "@std/assert";
import { headingProblems } from "../../../.ci/changelog.ts";
import { versionProblem } from "../../../.ci/semver.ts";
import { unlistedPlaces, withVersion } from "../../../.ci/version_places.ts";
import jsr from "../../../jsr.json" with { type: "json" };
import { runProgram } from "../../helpers/programs.ts";

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
  assertEquals(headingProblems("# Changelog\n\n## [Unreleased]\n\n## Notes\n", "91.2.0"), [
    'CHANGELOG.md, line 5, has the heading "## Notes": write "## [Unreleased]" or ' +
    '"## [1.2.0] - 2026-12-31", without other characters',
  ]);
});

Deno.test("versionProblem() refuses versions that are invalid or not greater than the released one", () => {
  const refused = (current: string, ...versions: string[]) =>
    versions.filter((version) => versionProblem(version, current, true) !== undefined);
  const invalid = ["v1.3.0", "1.3", "latest", "", "1.3.0+build"];
  assertEquals(refused("1.2.0", ...invalid), invalid);
  const small = ["1.2.0", "1.1.9", "1.2.0-rc.1"];
  assertEquals(refused("1.2.0", ...small, "1.2.1", "1.3.0-rc.1"), small);
  assertEquals(refused("1.2.0-rc.1", "1.2.0-rc.2", "1.2.0", "1.2.0-beta"), ["1.2.0-beta"]);
});
