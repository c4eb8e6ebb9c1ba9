// The workflows in .github have the least rights, and publish after all checks. GitHub runs them.
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml/parse";
import config from "../../../deno.json" with { type: "json" };

/** Permissions of each job that needs more than to read the repository, and why. */
const PERMISSIONS: Record<string, Record<string, string>> = {
  // The identity token is what JSR and npm trust.
  "release.yml/jsr": { contents: "read", "id-token": "write" },
  "release.yml/npm": { contents: "read", "id-token": "write" },
  // Pushes the container image.
  "release.yml/image": { contents: "read", packages: "write" },
  "release.yml/github": { contents: "write" },
};

interface Job {
  needs?: string | string[];
  environment?: string;
  permissions?: Record<string, string>;
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

interface Workflow {
  permissions: Record<string, string>;
  concurrency: { "cancel-in-progress": unknown };
  jobs: Record<string, Job>;
}

const FOLDER = ".github/workflows";
const texts = new Map<string, string>();
for await (const { name } of Deno.readDir(FOLDER)) {
  texts.set(name, await Deno.readTextFile(`${FOLDER}/${name}`));
}
const workflows = new Map([...texts].map(([name, text]) => [name, parse(text) as Workflow]));
const jobs = [...workflows].flatMap(([file, workflow]) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ place: `${file}/${name}`, job }))
);
const steps = jobs.flatMap(({ place, job }) => job.steps.map((step) => ({ place, ...step })));

Deno.test("each job has the least permissions, pinned actions, no secrets, and no expression in a script", () => {
  for (const [file, { permissions }] of workflows) {
    assertEquals(permissions, { contents: "read" }, file);
    assert(!/\bsecrets\b/.test(texts.get(file)!), file);
    for (const [use] of texts.get(file)!.matchAll(/\buses: .*/g)) {
      assert(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use), `${file}: ${use}`);
    }
  }
  for (const { place, job } of jobs) {
    assertEquals(job.permissions, PERMISSIONS[place], place);
  }
  for (const { place, uses, run, with: options } of steps) {
    if (uses?.includes("/checkout@")) assertEquals(options?.["persist-credentials"], false, place);
    // GitHub inserts expressions as text; the name of a branch or a tag could be a program.
    assert(!run?.includes("${{"), `${place}: pass the value in an environment variable`);
    for (const [, task] of run?.matchAll(/\bdeno task ([\w:]+)/g) ?? []) {
      assert(task! in config.tasks, `${place}: deno.json has no task ${task}`);
    }
  }
});

Deno.test("a release is published after all checks, and never interrupted", () => {
  const { jobs, concurrency } = workflows.get("release.yml")!;
  assertEquals(concurrency["cancel-in-progress"], false);
  assertEquals(
    Object.entries(jobs).map(([name, { needs, environment }]) => [name, needs, environment]),
    [
      ["check", undefined, undefined],
      ["jsr", "check", "release"],
      ["npm", "check", "release"],
      ["image", "check", "release"],
      ["github", ["jsr", "npm", "image"], undefined],
    ],
  );
  const checks = jobs.check!.steps.flatMap(({ run }) => run ?? []);
  assertEquals(checks.slice(-2).map((run) => run.replace(/^.*task /, "")), [
    'release:verify "$GITHUB_REF_NAME"',
    ".ci/run",
  ]);
});
