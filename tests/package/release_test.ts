// Releases the next version in a copy of the project, with the tests of the documents in place of the
// task `test`: the text and the code blocks must be right after the release, too.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import deno from "../../deno.json" with { type: "json" };
import { findSection, hasEntries } from "../../.ci/changelog.ts";
import { copyClone } from "./copy_clone.ts";
import { VERSION } from "../helpers/project.ts";
import { output, run } from "./project.ts";

/** Tests that read the documents or the version. */
const TESTS = [
  "tests/unit/project",
  "tests/unit/cli/arguments_test.ts",
  "tests/e2e/examples/code_blocks_test.ts",
];
const ENVIRONMENT = { GIT_CONFIG_GLOBAL: "/dev/null", NO_COLOR: "1" };

Deno.test("the documents are right in the commit that deno task release makes", async () => {
  const folder = await copyClone();
  try {
    const write = async (path: string, change: (text: string) => string) =>
      await Deno.writeTextFile(folder + path, change(await Deno.readTextFile(folder + path)));
    await write(
      ".ci/project.json",
      () => `{\n  "repository": "https://github.com/owner/weir"\n}\n`,
    );
    await write(
      "CHANGELOG.md",
      (text) =>
        hasEntries(findSection(text)) ? text : text.replace("## [Unreleased]", "$&\n\n- A change."),
    );
    // The other parts of the gate have tests of their own.
    const tasks = {
      ...deno.tasks,
      test: `deno test -P --parallel --no-check ${TESTS.join(" ")}`,
      "publish:check": "echo",
      pack: "echo",
    };
    await write("deno.json", (text) => JSON.stringify({ ...JSON.parse(text), tasks }));
    const git = (...args: string[]) => output(folder, "git", ...args);
    await git("init", "--quiet", "--initial-branch", "main");
    await git("config", "user.name", "Weir Test");
    await git("config", "user.email", "test@weir.example");
    await git("add", "--all");
    await git("commit", "--quiet", "--message", "Copy");

    const version = `${Number(VERSION.split(".")[0]) + 1}.0.0`;
    const released = await run(folder, ENVIRONMENT, Deno.execPath(), "task", "release", version);
    assertEquals(released.code, 0, released.stdout + released.stderr);
    assertMatch(released.stdout, /\d{3,} passed/);
    assertStringIncludes(await Deno.readTextFile(`${folder}README.md`), `version ${version} of `);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
