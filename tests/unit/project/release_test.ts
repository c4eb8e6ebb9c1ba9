// The parts of `deno task release`. tests/e2e/processes/release_test.ts runs the task.
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  findSection,
  hasEntries,
  headingProblems,
  releaseChangelog,
  sectionsOf,
} from "../../../.ci/changelog.ts";
import { REPOSITORY, repositoryFields, repositoryProblem } from "../../../.ci/project.ts";
import { isPreRelease, versionProblem } from "../../../.ci/semver.ts";
import { statusOf, withStatus } from "../../../.ci/status.ts";
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
  // The copies of the tests for planted faults are no repositories.
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

Deno.test("unlistedPlaces() reports each text with the version when it is not in the list", () => {
  const find = (path: string, text: string) => unlistedPlaces(path, text, "91.2.0");
  const lines = (path: string, ...texts: string[]) => find(path, texts.join("\n")).length;
  assertEquals(find("docs/a.md", "one\nWeir 91.2.0 is new\n"), ["docs/a.md:2: Weir 91.2.0 is new"]);
  const named = [
    "x/@weir/datastream@91.2.0/y",
    '"@weir/datastream/serve": "^91.2.0"',
    "weir/91.2.0",
  ];
  assertEquals(lines("docs/a.md", ...named, "weir v91.2.0", "weir-endpoint.js/91.2.0"), 5);
  assertEquals(lines("Dockerfile", 'LABEL image.version="91.2.0"', "ARG VERSION=91.2.0"), 2);
  assertEquals(lines("package.json", '"version": "91.2.0"'), 1);
  // In the list of places, or versions of something else.
  assertEquals(lines("jsr.json", '{ "version": "91.2.0" }'), 0);
  assertEquals(lines("docs/a.md", "dist/weir-datastream-91.2.0.tgz"), 0);
  assertEquals(lines("deno.json", '"npm:other@91.2.0/x", "npm:other@^91.2.0"'), 0);
  assertEquals(lines("docs/a.md", "Weir 191.2.0, weir 91.2.01, weir 91.2.0.1, weir 91x2y0"), 0);
  assertEquals(lines("src/a.ts", 'doi: "10/weir-aa00", version: "91.2.0"'), 0);
  assertEquals(find("CHANGELOG.md", "## [91.2.0] - 2026-01-02"), []);
});

Deno.test("withVersion() replaces the version in its places when there are others", () => {
  const text = `"version": "91.2.0", "other": "91.2.0"`;
  assertEquals(
    withVersion("jsr.json", text, "91.2.0", "92.0.0-rc.1"),
    `"version": "92.0.0-rc.1", "other": "91.2.0"`,
  );
  assertEquals(withVersion("src/other.ts", text, "91.2.0", "92.0.0"), text);
});

Deno.test("sectionsOf() returns each version of a changelog without the links", () => {
  assertEquals(sectionsOf(CHANGELOG), [
    { version: undefined, date: undefined, text: "### Added\n\n- A thing." },
    { version: "91.1.0", date: "2026-01-02", text: "- Another thing." },
  ]);
  assertThrows(
    () => sectionsOf("## [91.1.0] - unreleased\n"),
    Error,
    'the heading "## [91.1.0] - unreleased": write "## [Unreleased]"',
  );
});

Deno.test("sectionsOf() accepts pre-releases and versions that were taken back", () => {
  const changelog = CHANGELOG.replace("] - 2026-01-02", "-rc.1] - 2026-01-02 [YANKED]")
    .replace("[91.1.0]:", "[91.1.0-rc.1]:");
  const [, section] = sectionsOf(changelog);
  assertEquals(section, { version: "91.1.0-rc.1", date: "2026-01-02", text: "- Another thing." });
  assertEquals(headingProblems(changelog, "91.1.0"), []);
});

for (
  const heading of [
    "## [Unreleased] ",
    "## [unreleased]",
    "## Unreleased",
    "##[Unreleased]",
    "## [91.1.0] - 2026-1-1",
    "## [91.1.0]",
    "## 91.1.0 - 2026-01-02",
    "## [91.1] - 2026-01-02",
    "## [91.1.0] - 2026-01-02 [yanked]",
    "## [91.1.0] – 2026-01-02",
    "## Notes",
  ]
) {
  Deno.test(`headingProblems() names the line when a heading is ${heading}`, () => {
    const changelog = CHANGELOG.replace(/^## .*91\.1\.0.*$/m, heading);
    assertEquals(headingProblems(changelog, "91.2.0"), [
      `CHANGELOG.md, line 9, has the heading "${heading}": write "## [Unreleased]" or ` +
      '"## [1.2.0] - 2026-12-31", without other characters',
    ]);
  });
}

Deno.test("headingProblems() refuses repeated headings, misplaced ones and the new version", () => {
  assertEquals(headingProblems(CHANGELOG, "91.2.0"), []);
  const [section] = CHANGELOG.split("## [Unreleased]\n").slice(1);
  for (
    const [changelog, version, message] of [
      [`## [Unreleased]\n\n${CHANGELOG}`, "91.2.0", "line 5, has a second heading for Unreleased"],
      [
        CHANGELOG.replaceAll("Unreleased]\n", "91.1.0] - 2026-02-02\n"),
        "91.2.0",
        "line 9, has a second",
      ],
      [CHANGELOG, "91.1.0", "line 9, has a heading for 91.1.0: choose another version"],
      [`${section}\n## [Unreleased]\n`, "91.2.0", 'has the heading "## [Unreleased]" below'],
      [CHANGELOG.replaceAll("\n", "\r\n"), "91.2.0", "convert them to LF"],
    ] as const
  ) {
    const [problem, ...others] = headingProblems(changelog, version);
    assertStringIncludes(problem!, message);
    assertEquals(others, []);
  }
});

Deno.test("releaseChangelog() changes only the heading when the text contains one, too", () => {
  const text = "New entries are below ## [Unreleased] or\n `## [Unreleased]`.\n";
  const changelog = CHANGELOG.replace("# Changelog\n", `$&\n${text}`);
  const released = releaseChangelog(changelog, "91.2.0", "2026-12-31", ADDRESS);
  assertStringIncludes(released, text);
  assertStringIncludes(released, "## [Unreleased]\n\n## [91.2.0] - 2026-12-31\n\n### Added\n");
  assertEquals(sectionsOf(released).map(({ version }) => version), [undefined, "91.2.0", "91.1.0"]);
});

Deno.test("releaseChangelog() replaces the links when the file does not end with a line feed", () => {
  assertEquals(
    releaseChangelog(CHANGELOG.trimEnd(), "91.2.0", "2026-12-31", ADDRESS),
    releaseChangelog(CHANGELOG, "91.2.0", "2026-12-31", ADDRESS),
  );
});

Deno.test("hasEntries() tells whether a section lists a change", () => {
  assertEquals(hasEntries(findSection(CHANGELOG)), true);
  assertEquals(hasEntries(findSection("## [Unreleased]\n\n### Added\n")), false);
  assertEquals(hasEntries(findSection(CHANGELOG, "91.0.0")), false);
});

Deno.test("releaseChangelog() moves the entries below the version and links all versions", () => {
  assertEquals(
    releaseChangelog(CHANGELOG, "91.2.0", "2026-12-31", ADDRESS),
    `# Changelog

## [Unreleased]

## [91.2.0] - 2026-12-31

### Added

- A thing.

## [91.1.0] - 2026-01-02

- Another thing.

[Unreleased]: ${ADDRESS}/compare/v91.2.0...HEAD
[91.2.0]: ${ADDRESS}/compare/v91.1.0...v91.2.0
[91.1.0]: ${ADDRESS}/releases/tag/v91.1.0
`,
  );
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

Deno.test("versionProblem() accepts the current version and its pre-releases when it is not released", () => {
  const problem = (version: string) => versionProblem(version, "1.2.0", false);
  for (const version of ["1.2.0", "1.2.0-rc.1", "1.3.0"]) assertEquals(problem(version), undefined);
  assertStringIncludes(problem("1.1.0")!, "smaller than 1.2.0");
});

Deno.test("isPreRelease() returns whether a version has a suffix", () => {
  assertEquals(["1.2.0-rc.1", "1.2.0-0", "1.2.0"].map(isPreRelease), [true, true, false]);
});

Deno.test("statusOf() returns the line of README.md before, after and between releases", () => {
  const line = (changelog: string, version: string) =>
    statusOf(changelog, version).line.split(/[.;,] /)[0];
  const unreleased = "# Changelog\n\n## [Unreleased]\n";
  const released = `${unreleased}\n## [91.2.0] - 2026-12-31\n\n## [91.1.0] - 2026-01-01\n`;
  assertEquals(line(unreleased, "91.2.0"), "**Status:** not yet released on JSR and npm");
  assertEquals(line(unreleased, "91.2.0-rc.1"), "**Status:** pre-release 91.2.0-rc.1");
  assertEquals(line(released, "91.2.0"), "**Status:** version 91.2.0 of 2026-12-31");
  assertEquals(line(released, "91.3.0-rc.1"), "**Status:** version 91.2.0 of 2026-12-31");
  const preRelease = unreleased + "\n## [91.2.0-rc.1] - 2026-12-31\n";
  assertEquals(line(preRelease, "91.2.0-rc.1"), "**Status:** pre-release 91.2.0-rc.1");
});

Deno.test("withStatus() replaces the line of the status", () => {
  const status = statusOf("## [91.2.0] - 2026-12-31\n", "91.2.0");
  assertEquals(
    withStatus("# A\n\n**Status:** old.\n\nB\n", status),
    `# A\n\n${status.line}\n\nB\n`,
  );
});

Deno.test("repositoryProblem() refuses every address but that of a repository on GitHub", () => {
  const addresses = ["", `${ADDRESS}/`, `${ADDRESS}.git`, "git@github.com:owner/weir.git", "weir"];
  assertEquals(addresses.filter((address) => repositoryProblem(address) === undefined), []);
  assertStringIncludes(repositoryProblem("")!, ".ci/project.json");
  assertEquals(repositoryProblem(ADDRESS), undefined);
  // An address that is set can be used.
  if (REPOSITORY !== "") assertEquals(repositoryProblem(REPOSITORY), undefined);
});

Deno.test("repositoryFields() returns the fields of package.json when the repository is set", () => {
  assertEquals(repositoryFields(""), {});
  assertEquals(repositoryFields(ADDRESS), {
    repository: { type: "git", url: "git+https://github.com/owner/weir.git" },
    homepage: "https://github.com/owner/weir#readme",
    bugs: { url: "https://github.com/owner/weir/issues" },
  });
  assertThrows(() => repositoryFields("weir"), Error, '"weir"');
});
