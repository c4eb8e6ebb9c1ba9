/**
 * Checks that a tag can be published: it has the version of the package, and its commit is on the main branch.
 *
 * Usage: `verify_tag.ts v1.2.0`. `.github/workflows/release.yml` runs it.
 */
import jsr from "../jsr.json" with { type: "json" };
import { VERSION } from "../src/version.ts";
import { PROJECT } from "../tests/helpers/project.ts";
import { findSection } from "./changelog.ts";
import { git } from "./git.ts";
import { isPreRelease } from "./semver.ts";

const MAIN = "origin/main";

const [tag = ""] = Deno.args;
const changelog = await Deno.readTextFile(`${PROJECT}CHANGELOG.md`);
const isOnMain = await git("merge-base", "--is-ancestor", "HEAD", MAIN).then(
  () => true,
  () => false,
);
const problems = [
  tag === `v${jsr.version}`
    ? ""
    : `The tag is "${tag}", but the version in jsr.json is ${jsr.version}`,
  VERSION === jsr.version
    ? ""
    : `The version in src/version.ts is ${VERSION}, but that in jsr.json is ${jsr.version}`,
  isPreRelease(jsr.version) || findSection(changelog, jsr.version)
    ? ""
    : `CHANGELOG.md has no heading for ${jsr.version}`,
  isOnMain ? "" : `The commit is not on ${MAIN}`,
].filter((problem) => problem !== "");
for (const problem of problems) console.error(`${problem}.`);
if (problems.length > 0) {
  console.error(
    "Nothing is published. Delete the tag, then release with deno task release VERSION.",
  );
  Deno.exitCode = 1;
} else {
  console.log(`${tag} is version ${jsr.version} on ${MAIN}`);
}
