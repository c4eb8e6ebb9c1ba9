// The workflows in .github. GitHub runs them; these tests check what can be checked without it.
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/yaml/parse";
import deno from "../../../deno.json" with { type: "json" };
import { runProgramWith } from "../../helpers/programs.ts";

/** Accepted actions by name: version and commit. A reviewer compares a new commit with the repository. */
const ACTIONS: Record<string, readonly [version: string, commit: string]> = {
  "actions/checkout": ["v7.0.1", "3d3c42e5aac5ba805825da76410c181273ba90b1"],
  "actions/setup-node": ["v7.0.0", "820762786026740c76f36085b0efc47a31fe5020"],
  "denoland/setup-deno": ["v2.0.4", "667a34cdef165d8d2b2e98dde39547c9daac7282"],
  "oven-sh/setup-bun": ["v2.2.0", "0c5077e51419868618aeaa5fe8019c62421857d6"],
};

/** Permissions of each job that needs more than to read the repository, and why. */
const PERMISSIONS: Record<string, Record<string, string>> = {
  // The identity token is what JSR and npm trust.
  "release.yml/jsr": { contents: "read", "id-token": "write" },
  "release.yml/npm": { contents: "read", "id-token": "write" },
  // Pushes the container image.
  "release.yml/image": { contents: "read", packages: "write" },
  "release.yml/github": { contents: "write" },
};

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
  env?: Record<string, string>;
}

interface Job {
  "runs-on": string;
  "timeout-minutes"?: number;
  needs?: string | string[];
  environment?: string;
  permissions?: Record<string, string>;
  container?: { image: string };
  strategy?: { matrix: Record<string, unknown[]> };
  steps: Step[];
}

interface Workflow {
  on: Record<string, { branches?: string[]; tags?: string[] } | null>;
  permissions: Record<string, string>;
  concurrency: { group: string; "cancel-in-progress": unknown };
  defaults: { run: { shell: string } };
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
const steps = jobs.flatMap(({ place, job }) => job.steps.map((step) => ({ place, job, step })));
const commands = steps.flatMap(({ place, step }) =>
  step.run === undefined ? [] : [{ place, run: step.run }]
);

Deno.test("each action is pinned by the commit of its version", () => {
  const used = [...texts].flatMap(([file, text]) =>
    text.split("\n").flatMap((line) => {
      const [, action] = /\buses:\s*(\S.*)$/.exec(line) ?? [];
      return action === undefined ? [] : [`${file}: ${action}`];
    })
  );
  const accepted = Object.entries(ACTIONS).map(([name, [version, commit]]) =>
    `${name}@${commit} # ${version}`
  );
  assertEquals(used.filter((use) => !accepted.some((one) => use.endsWith(`: ${one}`))), []);
  assertEquals(used.length, steps.filter(({ step }) => step.uses !== undefined).length);
  for (const [, commit] of Object.values(ACTIONS)) assert(/^[0-9a-f]{40}$/.test(commit), commit);
  for (const name of Object.keys(ACTIONS)) {
    assert(used.some((use) => use.includes(` ${name}@`)), `no workflow uses ${name}`);
  }
});

Deno.test("each job has the least permissions and a time limit", () => {
  for (const [file, { permissions, concurrency, defaults }] of workflows) {
    assertEquals([permissions, defaults.run.shell], [{ contents: "read" }, "bash"], file);
    assert(concurrency.group, file);
  }
  for (const { place, job } of jobs) {
    assertEquals(job.permissions, PERMISSIONS[place], place);
    assert(Number(job["timeout-minutes"]) <= 60, place);
    assert(!/latest/.test(job["runs-on"]), `${place}: name the version of the system`);
  }
  for (const { place, step } of steps.filter(({ step }) => step.uses?.includes("/checkout@"))) {
    assertEquals(step.with?.["persist-credentials"], false, place);
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

Deno.test("each task and script that a workflow runs exists", async () => {
  const tasks = Object.keys(deno.tasks);
  for (const { place, run } of commands) {
    for (const [, task] of run.matchAll(/\bdeno(?:@2\.9)? task (\S+)/g)) {
      assert(tasks.includes(task!), `${place}: there is no task ${task}`);
    }
    for (const [script] of run.matchAll(/(?<=^|\s)\.ci\/\S+/g)) {
      assert(await Deno.stat(script).then(() => true, () => false), `${place}: no ${script}`);
    }
  }
});

Deno.test("each script of a workflow is valid in bash and has no expression of GitHub", async () => {
  for (const { place, run } of commands) {
    // GitHub inserts expressions as text; the name of a branch or a tag could be a program.
    assert(!run.includes("${{"), `${place}: pass the value in an environment variable`);
    const checked = await runProgramWith({}, "bash", "-n", "-c", run);
    assertEquals([checked?.code, checked?.stderr], [0, ""], place);
  }
});

Deno.test("the checks of a release install exact versions of packages", async () => {
  const tools =
    /(?:@dsnp\/parquetjs|apache-arrow|\bdatapackage|parquet-wasm|@duckdb\/node-api|@cloudflare\/workerd-linux-64|@oven\/bun-linux-x64|@octokit\/endpoint|\besbuild|\btypescript)@([^"`\s\\]+)/g;
  const files = [".ci/run"];
  for await (const { name } of Deno.readDir("tests/package")) {
    if (name.endsWith(".ts")) files.push(`tests/package/${name}`);
  }
  const versions = (await Promise.all(files.map((file) => Deno.readTextFile(file)))).flatMap((
    text,
  ) => [...text.matchAll(tools)].map(([, version]) => version!));
  assert(versions.length >= 13, versions.join());
  assertEquals(versions.filter((version) => !/^(?:\d+\.\d+\.\d|\$\{)/.test(version)), []);
  assertEquals(steps.flatMap(({ step }) => step.with?.["bun-version"] ?? []), ["1.4.5"]);
});

Deno.test("no workflow uses a secret", () => {
  for (const [file, text] of texts) assert(!/\bsecrets\b/.test(text), file);
});
