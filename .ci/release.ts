/**
 * Releases a version: sets it everywhere, runs all checks, commits and tags.
 *
 * It does not push. If a step fails, it restores the files. `docs/releasing.md` describes the steps.
 *
 * Usage: `release.ts VERSION [--dry-run]`.
 */
import { parseArgs } from "node:util";
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";
import { hasEntries, headingProblems, releaseChangelog, sectionsOf } from "./changelog.ts";
import { git } from "./git.ts";
import { REPOSITORY, repositoryProblem } from "./project.ts";
import { isPreRelease, versionProblem } from "./semver.ts";
import { statusLine, withStatus } from "./status.ts";
import { withVersion } from "./version_places.ts";

const REQUIRED_TASKS = ["test", "publish:check", "pack"];
const BRANCH = "main";
/** Exit code after SIGINT: 128 plus its number. */
const INTERRUPTED = 130;
const CHANGELOG = "CHANGELOG.md";
const USAGE = "Usage: deno task release VERSION [--dry-run], such as: deno task release 1.2.0";

interface Change {
  path: string;
  before: string;
  after: string;
}

Deno.exitCode = await release(Deno.args);

async function release(args: string[]): Promise<number> {
  const parsed = readArguments(args);
  if (parsed === undefined) {
    console.error(USAGE);
    return 2;
  }
  const { version, isDryRun } = parsed;
  const problems = await findProblems(version);
  if (isDryRun && problems.length === 0) await showChanges(version);
  for (const problem of problems) console.error(`- ${problem.replace(/$/m, ".")}`);
  if (problems.length > 0) {
    console.error(`${version} is not released. Nothing was changed.`);
    return 1;
  }
  return isDryRun || await commitRelease(version) ? 0 : 1;
}

function readArguments(args: string[]): { version: string; isDryRun: boolean } | undefined {
  try {
    const options = { "dry-run": { type: "boolean" } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const [version, ...others] = positionals;
    if (version === undefined || others.length > 0) return undefined;
    return { version, isDryRun: values["dry-run"] ?? false };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return undefined;
  }
}

/** Returns the problems that prevent the release of a version. Each message says what to do. */
async function findProblems(version: string): Promise<string[]> {
  const changelog = await Deno.readTextFile(PROJECT + CHANGELOG).catch(() => undefined);
  const changelogProblems = changelog === undefined
    ? [`${CHANGELOG} cannot be read: restore it`]
    : headingProblems(changelog, version);
  const sections = changelogProblems.length === 0 ? sectionsOf(changelog!) : [];
  const find = (name?: string) => sections.find((section) => section.version === name);
  const isReleased = find(jsr.version) !== undefined || await hasTag(jsr.version);
  const branch = (await git("branch", "--show-current")).trim();
  const changed = (await git("status", "--porcelain")).trimEnd();
  const problems = [
    versionProblem(version, jsr.version, isReleased),
    repositoryProblem(REPOSITORY),
    branch === BRANCH ? undefined : `The branch is "${branch}": switch to ${BRANCH}`,
    changed === ""
      ? undefined
      : `Files are not committed: commit or remove them\n${changed.replace(/^/gm, "    ")}`,
    await hasTag(version)
      ? `The tag v${version} exists: choose another version, or, if it was never pushed, delete it ` +
        `with git tag --delete v${version}`
      : undefined,
    ...changelogProblems,
    changelogProblems.length > 0 || hasEntries(find())
      ? undefined
      : `${CHANGELOG} has no entries below "## [Unreleased]": describe the changes for users`,
  ];
  return problems.filter((problem) => problem !== undefined);
}

async function hasTag(version: string): Promise<boolean> {
  return (await git("tag", "--list", `v${version}`)).trim() !== "";
}

/** Returns the files that the release of a version changes. */
async function findChanges(version: string): Promise<Change[]> {
  const changelog = await Deno.readTextFile(PROJECT + CHANGELOG);
  // CHANGELOG.md names only releases without a suffix.
  const isStable = !isPreRelease(version);
  const newChangelog = isStable
    ? releaseChangelog(changelog, version, new Date().toISOString().slice(0, 10), REPOSITORY)
    : changelog;
  const status = statusLine(newChangelog, version);
  const changes: Change[] = [];
  // All text files of the repository: -I omits binary files.
  for (const path of (await git("grep", "-I", "--files-with-matches", "")).trim().split("\n")) {
    const before = await Deno.readTextFile(PROJECT + path);
    let after = withVersion(path, before, jsr.version, version);
    if (path === "README.md") after = withStatus(after, status);
    if (path === CHANGELOG) after = newChangelog;
    if (after !== before) changes.push({ path, before, after });
  }
  return changes;
}

async function showChanges(version: string): Promise<void> {
  for (const { path, after } of await findChanges(version)) {
    const args = ["diff", "--no-index", "--unified=0", "--", path, "-"];
    const child = new Deno.Command("git", {
      args,
      cwd: PROJECT,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    await new Blob([after]).stream().pipeTo(child.stdin);
    const { stdout } = await child.output();
    // Git reads the new text from standard input, and prints its path as "-".
    console.log(new TextDecoder().decode(stdout).replace(/^\+\+\+ b\/-$/m, `+++ b/${path}`));
  }
  console.log(`Then: ${REQUIRED_TASKS.map((task) => `deno task ${task}`).join(", ")}`);
  console.log(`Then: a commit "Release ${version}" and the tag v${version}`);
}

/** Changes the files, runs the required tasks, commits and tags. Undoes all this if a step fails. */
async function commitRelease(version: string): Promise<boolean> {
  const changes = await findChanges(version);
  const head = (await git("rev-parse", "HEAD")).trim();
  // Ctrl-C interrupts only the running task, so that this program can restore the files.
  let isInterrupted = false;
  const interrupt = () => void (isInterrupted = true);
  Deno.addSignalListener("SIGINT", interrupt);
  try {
    for (const { path, after } of changes) await Deno.writeTextFile(PROJECT + path, after);
    for (const task of REQUIRED_TASKS) {
      const { success, code, signal } = await runTask(task);
      // The task can end before this program has received the signal.
      isInterrupted ||= signal === "SIGINT" || code === INTERRUPTED;
      if (isInterrupted) throw new Error("Interrupted");
      if (!success) throw new Error(`deno task ${task} failed: correct the errors above`);
    }
    await git("add", "--", ...changes.map(({ path }) => path));
    await git("commit", "--quiet", "--message", `Release ${version}`);
    await git("tag", "--annotate", `v${version}`, "--message", `Weir ${version}`);
  } catch (error) {
    // The work tree was clean, so this discards only the changes of this program.
    await git("reset", "--quiet", "--soft", head);
    await git("reset", "--quiet");
    for (const { path, before } of changes) await Deno.writeTextFile(PROJECT + path, before);
    console.error(error instanceof Error ? error.message : error);
    console.error(`${version} is not released. The files are as before.`);
    return false;
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
  }
  console.log(
    `Committed and tagged ${version}. To publish it: git push --atomic origin ${BRANCH} v${version}`,
  );
  return true;
}

async function runTask(task: string): Promise<Deno.CommandStatus> {
  const command = new Deno.Command(Deno.execPath(), { args: ["task", task], cwd: PROJECT });
  return await command.spawn().status;
}
