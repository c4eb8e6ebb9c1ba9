// `deno task release` changes everything or nothing, and each version is published once. The tasks run in a small
// repository, which has the scripts of this project, documents of its own, and tasks that replace the checks.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import deno from "../../deno.json" with { type: "json" };
import { FOLDER, readFile, withFiles, writeFile } from "../e2e/command_line.ts";
import { type ProgramResult, runProgramWith } from "../helpers/programs.ts";
import { filesIn, PROJECT } from "../helpers/project.ts";

const ADDRESS = "https://github.com/owner/weir";
const SCRIPTS = ["release", "release:verify", "publish:npm"] as const;
/** Tasks in place of the checks. Each one prints its name and the version that it finds. */
const CHECKS: Record<string, string> = Object.fromEntries(
  ["test", "publish:check", "pack"].map((name) => [name, `echo ran ${name} && cat src/version.ts`]),
);
const FILES: Record<string, string> = {
  ".ci/project.json": `{\n  "repository": "${ADDRESS}"\n}\n`,
  ".gitignore": "dist/\n",
  "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n- The first feature.\n",
  "README.md": `# Weir

**Status:** not yet released.

## In a clone

Run it.

## After the first release

Install it.

## Licence
`,
  "image.bin": "\0 0.4.0",
  "jsr.json": `{ "name": "@weir/datastream", "version": "0.4.0" }\n`,
  "src/version.ts": `export const VERSION = "0.4.0";\n`,
};

async function run(program: string, ...args: string[]): Promise<ProgramResult> {
  const env = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", NO_COLOR: "1" };
  const cwd = `${PROJECT}${FOLDER}`;
  const result = await runProgramWith({ cwd, env }, program, ...args);
  assert(result, `${program} is not installed`);
  return result;
}

async function git(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run("git", ...args);
  assertEquals(code, 0, stderr);
  return stdout;
}

function task(name: typeof SCRIPTS[number], ...args: string[]): Promise<ProgramResult> {
  return run(Deno.execPath(), "task", "--quiet", name, ...args);
}

/** Creates the repository, runs a test in it, and removes it. */
function inRepository(
  { files = {}, tasks = {} }: { files?: Record<string, string>; tasks?: Record<string, string> },
  test: () => Promise<void>,
): Promise<void> {
  return withFiles(async () => {
    const scripts = (await Array.fromAsync(filesIn(`${PROJECT}.ci/`))).map((path) => `.ci/${path}`);
    for (const path of [...scripts, "deno.lock", "tests/helpers/project.ts", "tests/std.d.ts"]) {
      await write(path, await Deno.readTextFile(PROJECT + path));
    }
    const own = Object.fromEntries(SCRIPTS.map((name) => [name, deno.tasks[name].command]));
    const types = { types: ["./tests/std.d.ts"] };
    const config = { ...deno, compilerOptions: types, tasks: { ...CHECKS, ...own, ...tasks } };
    await write("deno.json", JSON.stringify(config, null, 2));
    for (const [path, text] of Object.entries({ ...FILES, ...files })) await write(path, text);
    await git("init", "--quiet", "--initial-branch", "main");
    await git("config", "user.name", "Weir Test");
    await git("config", "user.email", "test@weir.example");
    await commitAll("Start");
    await test();
  });
}

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(`${FOLDER}/${path}`), { recursive: true });
  await writeFile(path, text);
}

async function commitAll(message: string): Promise<void> {
  await git("add", "--all");
  await git("commit", "--quiet", "--message", message);
}

/** Returns everything that a release could change. */
async function snapshot(): Promise<string[]> {
  return [
    await git("log", "--format=%H"),
    await git("status", "--porcelain"),
    await git("diff", "HEAD"),
    await git("tag"),
  ];
}

Deno.test("release sets the version, runs the checks, commits and tags, and release:verify accepts only this", () =>
  inRepository({}, async () => {
    const before = await snapshot();
    const dryRun = await task("release", "0.5.0", "--dry-run");
    assertEquals([dryRun.code, dryRun.stderr], [0, ""]);
    assertStringIncludes(dryRun.stdout, '\n+export const VERSION = "0.5.0";\n');
    assertEquals(dryRun.stdout.includes("ran test"), false);
    assertEquals(await snapshot(), before);

    const { code, stdout, stderr } = await task("release", "0.4.0");
    assertEquals(code, 0, stdout + stderr);
    assertEquals(stdout.match(/^ran \S+$/gm), ["ran test", "ran publish:check", "ran pack"]);
    assertStringIncludes(stdout, "git push --atomic origin main v0.4.0\n");
    assertEquals(await git("status", "--porcelain"), "");
    assertEquals(await git("log", "-1", "--format=%s"), "Release 0.4.0\n");
    assertEquals(await git("cat-file", "-t", "v0.4.0"), "tag\n");
    assertEquals(
      await readFile("README.md"),
      "# Weir\n\n## Install\n\nInstall it.\n\n## In a clone\n\nRun it.\n\n## Licence\n",
    );
    assertMatch(
      await readFile("CHANGELOG.md"),
      /^## \[Unreleased\]\n\n## \[0\.4\.0\] - \d{4}-\d\d-\d\d\n\n- The first feature\.\n\n\[Unr/m,
    );

    // What `git fetch` makes in the workflow.
    await git("update-ref", "refs/remotes/origin/main", "main");
    const verified = await task("release:verify", "v0.4.0");
    assertEquals(verified.stdout, "v0.4.0 is version 0.4.0 on origin/main\n");
    const wrongTag = await task("release:verify", "v0.5.0");
    assertEquals(wrongTag.code, 1);
    const problem = 'The tag is "v0.5.0", but the version in jsr.json is 0.4.0.';
    assertStringIncludes(wrongTag.stderr, problem);
    await write("src/version.ts", 'export const VERSION = "0.4.1";\n');
    await write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n");
    await commitAll("Change the version by hand");
    const changed = await task("release:verify", "v0.4.0");
    assertEquals(changed.code, 1);
    assertStringIncludes(changed.stderr, "The version in src/version.ts is 0.4.1");
    assertStringIncludes(changed.stderr, "CHANGELOG.md has no heading for 0.4.0");
    assertStringIncludes(changed.stderr, "The commit is not on origin/main");
  }));

Deno.test("release names every problem and changes nothing when a check fails", () =>
  inRepository({
    files: {
      ".ci/project.json": `{ "repository": "" }\n`,
      "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n",
    },
  }, async () => {
    await git("switch", "--quiet", "--create", "topic");
    await git("tag", "v0.3.0");
    await write("new.txt", "new\n");
    const before = await snapshot();
    const { code, stdout, stderr } = await task("release", "0.3.0");
    assertEquals([code, stdout, await snapshot()], [1, "", before]);
    const problems = [
      "- 0.3.0 is smaller than 0.4.0",
      "- No repository is set: write its address, such as ",
      '- The branch is "topic": switch to main',
      "- Files are not committed: commit or remove them.\n    ?? new.txt\n",
      "- The tag v0.3.0 exists",
      '- CHANGELOG.md has no entries below "## [Unreleased]"',
    ];
    for (const problem of problems) assertStringIncludes(stderr, problem);
    assertEquals(stderr.match(/^- /gm)?.length, problems.length, stderr);
    assertStringIncludes(stderr, "Nothing was changed.");
  }));

Deno.test("release restores all files when the last check fails", () =>
  inRepository({ tasks: { pack: "cat src/version.ts && exit 1" } }, async () => {
    const before = await snapshot();
    const { code, stdout, stderr } = await task("release", "0.5.0");
    assertEquals(code, 1);
    assertStringIncludes(stdout, 'VERSION = "0.5.0"');
    assertStringIncludes(stderr, "deno task pack failed");
    assertStringIncludes(stderr, "0.5.0 is not released. The files are as before.");
    assertEquals(await snapshot(), before);
  }));

Deno.test("publish:npm publishes with the tag of the version, unless npm has it", () =>
  inRepository({}, async () => {
    const publish = async (published: string) => {
      // Prints its arguments; `npm view` prints the version that is published.
      const npm =
        `#!/bin/sh\nif [ "$1" = view ]; then echo ${published}; else echo "$@"; exit 3; fi\n`;
      await write("bin/npm", npm);
      await Deno.chmod(`${FOLDER}/bin/npm`, 0o755);
      const command = `PATH="$PWD/bin:$PATH" "${Deno.execPath()}" task --quiet publish:npm`;
      const { code, stdout } = await run("sh", "-c", command);
      return [code, stdout];
    };
    const tarball = "./dist/weir-datastream-0.4.0";
    assertEquals(await publish(""), [3, `publish ${tarball}.tgz --tag latest\n`]);
    assertEquals(await publish("0.4.0"), [
      0,
      "npm has @weir/datastream@0.4.0; it is not published again\n",
    ]);
    await write("jsr.json", FILES["jsr.json"]!.replace("0.4.0", "0.4.0-rc.1"));
    assertEquals(await publish("0.4.0"), [3, `publish ${tarball}-rc.1.tgz --tag next\n`]);
  }));
