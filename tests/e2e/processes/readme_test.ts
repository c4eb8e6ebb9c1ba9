// Runs the code of the README unchanged, except that the sandbox replaces the service.
import { assert, assertEquals } from "@std/assert";
import { pathToFileURL } from "node:url";
import maps from "../../../deno.json" with { type: "json" };
import {
  fileNames,
  FOLDER,
  MAIN,
  readFile,
  withFiles,
  writeFile,
} from "../../helpers/command_line.ts";
import { type ProgramResult, runProgramWith } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";
import { commandsOf, type Fence, readFences, readReadme } from "../../helpers/readme.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

const fences = await readFences();
const SECRET = "0123456789abcdef0123456789abcdef";

/** Commands that other tests run, or that need the internet. */
const ELSEWHERE = [
  /^npx -y deno@2\.9 task (demo|test)$/, // CI runs these two
  /^npx wrangler /, // deploys
  /^deno bundle --platform browser --minify --output dist\/weir\.js mod\.ts$/, // tests/e2e/browser
  /^deno task bundle$/, // tests/e2e/servers/entries_test.ts
  /^WEIR_ACCESS=public DATASTREAM_API_KEY=… deno task serve$/, // tests/e2e/processes/main_test.ts
];

/** Writes a deno.json that resolves the package, which is not published yet, to this project. */
async function writeConfig(): Promise<void> {
  const absolute = (path: string) =>
    path.startsWith("./") ? pathToFileURL(PROJECT + path).href : path;
  const own = Object.entries(maps.exports).map(([name, path]) => [
    `jsr:${maps.name}${name.slice(1)}`,
    absolute(path),
  ]);
  await writeFile(
    "deno.json",
    JSON.stringify({
      imports: { ...maps.imports, ...Object.fromEntries(own) },
      compilerOptions: { types: [pathToFileURL(`${PROJECT}tests/std.d.ts`).href] },
    }),
  );
}

/** Runs Deno in the temporary folder of the test. */
async function deno(...args: string[]): Promise<ProgramResult> {
  const env = {
    DATASTREAM_API_KEY: "sandbox",
    WEIR_REQUESTS_PER_SECOND: "Infinity",
    WEIR_SIGNING_SECRET: SECRET,
    XDG_CONFIG_HOME: await Deno.realPath(FOLDER),
    NO_COLOR: "1",
  };
  return (await runProgramWith({ cwd: FOLDER, env }, Deno.execPath(), ...args))!;
}

/** Returns the permissions that the text before a code block names; else all that any block needs. */
function permissionsOf({ before }: Fence): string[] {
  const named = /`(--allow-\S+(?: --allow-\S+)*)`/.exec(before.split("\n\n").at(-2) ?? "")?.[1];
  return (named ??
    "--allow-env=DATASTREAM_API_KEY,WEIR_SIGNING_SECRET --allow-net=api.datastream.org")
    .split(" ");
}

for (const fence of fences.filter(({ language }) => language === "ts")) {
  Deno.test(`the README's script in line ${fence.line} runs and prints what its comments say`, () =>
    withFiles(async () => {
      await writeConfig();
      await writeFile("script.ts", fence.code);
      const service = `${PROJECT}tests/e2e/processes/readme_service.ts`;
      const flags = ["--quiet", "--no-prompt", "--check", "--preload", service];
      const ran = await deno("run", ...flags, ...permissionsOf(fence), "script.ts");
      assertEquals([ran.code, ran.stderr], [0, ""]);
      const printed = ran.stdout.split("\n");
      for (const [, said] of fence.code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)) {
        assert(
          printed.some((line) => line !== "" && said === line || said!.startsWith(`${line}:`)),
          ran.stdout,
        );
      }
      for (const [, name] of fence.code.matchAll(/writeFile\("([^"]+)"/g)) {
        assert((await readFile(name!)).split("\r\n").length > 2);
      }
    }));
}

Deno.test("the README's commands run with the permissions that it names", async () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => sandbox.fetch(request),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  const local = `--base-url=http://${host}/v1/odata/v4`;
  const all = `--allow-env --allow-read --allow-write --allow-net=${host}`;
  await withFiles(async () => {
    await writeConfig();
    let count = 0;
    for (const line of [...fences.filter(isShell).flatMap(commandsOf), ...await migrated()]) {
      if (ELSEWHERE.some((known) => known.test(line))) continue;
      const command = line
        .replace(/^npx -y deno@2\.9 run /, "deno run ")
        .replace(/^weir /, `deno run ${all} jsr:@weir/datastream/cli `)
        .replace(/jsr:@weir\/datastream\/cli|src\/cli\/main\.ts/, `"${MAIN}"`)
        .replace("api.datastream.org", host);
      assert(command.startsWith("deno run "), `No test runs this line of the README: ${line}`);
      const words = wordsOf(command).slice(2);
      const asks = !words.some((word) => /^(--sandbox|fields|url|sign|setup|--help)$/.test(word));
      const ran = await deno("run", "--quiet", "--no-prompt", ...words, ...(asks ? [local] : []));
      assertEquals(ran.code, 0, `${line}\n${ran.stderr}`);
      for (const name of words.filter((_, index) => words[index - 1] === "--output")) {
        assert((await fileNames()).includes(name), `${line} wrote no ${name}`);
        await Deno.remove(`${FOLDER}/${name}`);
      }
      count++;
    }
    assert(count >= 8, `The README has only ${count} commands`);
  });
});

Deno.test("the README has no code in a language that no test runs", () => {
  const languages = fences.map(({ language }) => language).filter((name) => name !== "");
  assertEquals([...new Set(languages)].sort(), ["js", "sh", "ts"]);
});

function isShell({ language }: Fence): boolean {
  return language === "sh";
}

/** Returns the commands that the README suggests to users of other clients. */
async function migrated(): Promise<string[]> {
  const [, section] = (await readReadme()).split("## Coming from another client");
  return [...section!.matchAll(/`(weir [^`]+)`/g)].map(([, line]) =>
    line!.replace('"…"', `"CharacteristicName eq 'pH'"`)
  ).filter((line) => line !== "weir setup"); // asks for a key
}

/** Splits a command into words like a shell, for the syntax that the README uses. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)]
    .map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}
