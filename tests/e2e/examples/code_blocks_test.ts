// Runs the code blocks of the documents unchanged, except that the sandbox replaces DataStream.
// tests/unit/project/documents_test.ts checks their languages.
import { assert, assertEquals } from "@std/assert";
import { pathToFileURL } from "node:url";
import { createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import maps from "../../../deno.json" with { type: "json" };
import { FOLDER, MAIN, readFile, testWithFiles, writeFile } from "../command_line.ts";
import {
  type CodeBlock,
  documentBlocks,
  DOCUMENTS,
  fileNameOf,
  lastParagraph,
  programOf,
} from "../../helpers/documents.ts";
import { type ProgramResult, runProgramWith } from "../../helpers/programs.ts";
import { hasPolars, hasR, hasRPackage, python } from "./interpreters.ts";
import { PROJECT } from "../../helpers/project.ts";

const blocks = documentBlocks();
const SERVICE = `${PROJECT}tests/e2e/examples/readme_service.ts`;
const ENVIRONMENT = {
  DATASTREAM_API_KEY: "sandbox",
  WEIR_SIGNING_SECRET: "0123456789abcdef0123456789abcdef",
  WEIR_TOKEN: "a-token",
  NO_COLOR: "1",
};
/** Permissions of a script, unless the text or a command names others. */
const PERMISSIONS = [
  "--allow-env=DATASTREAM_API_KEY,WEIR_SIGNING_SECRET",
  "--allow-net=api.datastream.org",
];

/** Blocks of JavaScript by the word after the language, and the test that runs them. */
const OTHER_JS: Record<string, string> = { "service-worker": "tests/e2e/browser/download_test.ts" };

/** Command lines that this file does not run, and why. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:npx -y deno@2\.9|deno) task /,
    "tests/unit/project/documents_test.ts checks the name; CI runs the tasks",
  ],
  [/^(?:npm (?:install|ci)|bun (?:install|add))\b/, "tests/package installs the package"],
  [/^npx(?: -y)? wrangler |^cp \.dev\.vars/, "deploys, or needs npm; tests/e2e/examples"],
  [/^(?:apt-get|certbot|systemctl|journalctl|touch) /, "sets up a server; needs root and systemd"],
  [/^docker /, "needs an engine; tests/package/container_test.ts compares its flags"],
  [/^deno bundle /, "tests/e2e/browser and tests/e2e/examples"],
  [/^weir setup\b/, "asks for a key; tests/e2e/processes/command_line_test.ts"],
  [
    /^(?:\w+=\S+ )*(?:deno task|deno serve|node dist|bun dist|(?:npx @weir\/datastream|weir) serve)\b/,
    "tests/e2e/servers and tests/package start the servers",
  ],
];
/** Documents whose commands another test runs. */
const OTHER_DOCUMENTS: Record<string, string> = {
  "examples/README.md": "tests/e2e/examples/examples_test.ts",
  "docs/releasing.md": "tests/package/release_test.ts; the other commands publish",
};

/** Writes a deno.json that resolves the package, in the clone and by its name on JSR, to this project. */
async function writeConfig(): Promise<void> {
  const absolute = (path: string) =>
    path.startsWith("./") ? pathToFileURL(PROJECT + path).href : path;
  const own = Object.entries(maps.exports).flatMap(([name, path]) =>
    ["", "jsr:"].map((scheme) => [`${scheme}${maps.name}${name.slice(1)}`, absolute(path)])
  );
  await writeFile(
    "deno.json",
    JSON.stringify({
      imports: { ...maps.imports, ...Object.fromEntries(own) },
      // The scripts of the page are modules of the package that use the types of browsers.
      compilerOptions: {
        types: ["std", "dom"].map((name) => pathToFileURL(`${PROJECT}tests/${name}.d.ts`).href),
      },
    }),
  );
}

/** Runs Deno in the temporary folder of the test. */
async function deno(...args: string[]): Promise<ProgramResult> {
  return (await runProgramWith({ cwd: FOLDER, env: ENVIRONMENT }, Deno.execPath(), ...args))!;
}

/** Returns the permissions that the text before a block or the command that runs it names. */
function permissionsOf(block: CodeBlock): string[] {
  const flags = (text: string) =>
    text.match(/--(?:allow|unstable)-\w+(?:=\S+?)?(?=[\s`,;]|$)/g) ?? [];
  const before = flags(lastParagraph(block.before.replace(/^\s*(?:```)?/, "")));
  if (before.length > 0) return before;
  const name = fileNameOf(block);
  const command = blocks.filter(({ file, language }) => file === block.file && language === "sh")
    .flatMap(({ code }) => code.split("\n")).find((line) => name && line.includes(` ${name}`));
  const named = flags(command ?? "");
  return named.length > 0 ? named : PERMISSIONS;
}

const scripts = blocks.filter(({ language }) => language === "ts");

testWithFiles("the types of each script of the documents are right", async () => {
  await writeConfig();
  const files = scripts.map(({ file, line }) => `${file.replaceAll("/", "_")}_${line}.ts`);
  for (const [index, script] of scripts.entries()) {
    await writeFile(files[index]!, programOf(script, blocks));
  }
  const { code, stderr } = await deno("check", "--quiet", ...files);
  // The programs begin in the line that they have in their document.
  const places = stderr.replaceAll(/file:\S*\/([\w.-]+)_\d+\.ts:(\d+):\d+/g, "$1, line $2");
  assertEquals(code, 0, places);
});

for (const block of blocks.filter(({ language }) => language === "ts" || language === "js")) {
  if (block.note in OTHER_JS) continue;
  testWithFiles(`the program in ${block.place} runs and prints what its comments say`, async () => {
    const program = programOf(block, blocks);
    const isNode = block.language === "js";
    if (isNode) assertEquals(block.note, "", `${block.place}: unknown word after js`);
    await writeConfig();
    const name = `script.${isNode ? /^import\b/m.test(program) ? "mjs" : "cjs" : "ts"}`;
    await writeFile(name, program);
    // Node has no permissions: it may read and write files and the environment.
    const permissions = isNode
      ? ["--allow-env", "--allow-read=.", "--allow-write=.", ...PERMISSIONS]
      : permissionsOf(block);
    const flags = ["--quiet", "--no-prompt", "--no-check", "--preload", SERVICE];
    await assertRan(block, await deno("run", ...flags, ...permissions, name));
  });
}

/** Asserts that a program succeeded, printed what its comments say, and wrote its files. */
async function assertRan({ place, code }: CodeBlock, ran: ProgramResult): Promise<void> {
  assertEquals([ran.code, ran.stderr], [0, ""], `${place}:\n${ran.stderr}${ran.stdout}`);
  const printed = ran.stdout.split("\n");
  for (const [, expected] of code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)) {
    const isPrinted = printed.some((line) =>
      line !== "" && (expected === line || expected!.startsWith(`${line}: `))
    );
    const hint = "write the output, or `output: explanation`, after console.log(), and other " +
      "comments on a line of their own";
    assert(isPrinted, `${place}: "${expected}" is not printed: ${hint}. Printed:\n${ran.stdout}`);
  }
  for (const [, name] of code.matchAll(/(?:writeFile|createWriteStream)\("([^"]+\.csv)"/g)) {
    const file = await readFile(name!);
    assert(file.split("\r\n").length > 2, `${place}: ${name} has no rows`);
  }
}

/** Programs that the commands of the documents start. They run Deno with the sandbox. */
function wrappers(server: string): Record<string, string> {
  const run = `"${Deno.execPath()}" run --quiet --no-prompt --no-check --preload "${SERVICE}"`;
  return {
    deno: `
if [ "$1" != run ]; then echo "no test runs deno $1" >&2; exit 99; fi
shift
args=()
for arg; do
  case "$arg" in
    src/*.ts | edge/*.ts | examples/*.ts) arg="${PROJECT}$arg" ;;
    jsr:@weir/datastream/cli) arg="${MAIN}" ;;
  esac
  args+=("$arg")
done
exec ${run} "\${args[@]}"`,
    weir: `
exec ${run} --allow-env --allow-read --allow-write --allow-net=api.datastream.org "${MAIN}" "$@"`,
    npx: `
if [ "$1" = -y ]; then shift; fi
case "$1" in
  deno@2.9) shift; exec deno "$@" ;;
  weir | @weir/datastream) shift; exec weir "$@" ;;
esac
echo "no test runs npx $1" >&2; exit 99`,
    curl: `
args=(--silent --show-error)
for arg; do args+=("$(sed -E 's#https?://(127\\.0\\.0\\.1:8000|localhost:8000|weir\\.example(\\.\\w+)?)#${server}#' <<<"$arg")"); done
exec "$(PATH="\${PATH#*:}" command -v curl)" "\${args[@]}"`,
  };
}

/** Writes the programs into the folder of the test. */
async function writeWrappers(server: string): Promise<void> {
  await Deno.mkdir(`${FOLDER}/bin`);
  for (const [name, code] of Object.entries(wrappers(server))) {
    await writeFile(`bin/${name}`, `#!/usr/bin/env bash\nset -euo pipefail${code}\n`);
    await Deno.chmod(`${FOLDER}/bin/${name}`, 0o755);
  }
}

/** Serves the app with synthetic data, like the demo. */
function serveDemo(): Deno.HttpServer<Deno.NetAddr> {
  const { apiKey, url: baseUrl, fetch } = createSandbox({ requestsPerSecond: Infinity });
  const options = { apiKey, baseUrl, fetch, requestsPerSecond: Infinity };
  const app = createApp({ ...options, access: "public" });
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
}

for (const [file, text] of DOCUMENTS) {
  const own = blocks.filter((block) => block.file === file);
  const commands = own.filter(({ language }) => language === "sh");
  if (commands.length === 0 && !text.includes("`weir ") || file in OTHER_DOCUMENTS) continue;
  testWithFiles(`the commands of ${file} run with the permissions that it names`, async () => {
    await using server = serveDemo();
    await writeConfig();
    await writeWrappers(`http://127.0.0.1:${server.addr.port}`);
    for (const block of own) {
      const name = fileNameOf(block);
      if (name !== undefined) await writeFile(name, programOf(block, blocks));
    }
    const programs = commands.map(({ code, line }) => "\n".repeat(line) + code);
    if (file === "docs/migrating.md") programs.push(...weirCommandsOf(text));
    for (const program of programs) await runShell(file, program);
  });
}

/** Runs the lines of a shell program that are not run elsewhere. */
async function runShell(file: string, program: string): Promise<void> {
  // Joins continued lines; the empty lines keep the numbers.
  const joined = program.replace(/(?:.*\\\n)+.*/g, (lines) => {
    const count = lines.split("\n").length - 1;
    return lines.replace(/\\\n\s*/g, "") + "\n".repeat(count);
  });
  const isElsewhere = (line: string) => ELSEWHERE.some(([known]) => known.test(line.trim()));
  const code = joined.split("\n").map((line) => isElsewhere(line) ? "" : line).join("\n");
  const bin = `${await Deno.realPath(FOLDER)}/bin`;
  const env = { ...ENVIRONMENT, XDG_CONFIG_HOME: await Deno.realPath(FOLDER) };
  // On the first line, which is empty: `LINENO` is the line in the document.
  const start =
    `export PATH="${bin}:$PATH"; trap 'echo "${file}, line $LINENO: $BASH_COMMAND" >&2' ERR;`;
  const args = ["-euo", "pipefail", "-c", `${start}${code}`];
  const ran = await runProgramWith({ cwd: FOLDER, env }, "bash", ...args);
  assert(ran, "bash is not installed");
  const hint = "correct the line, or list it in ELSEWHERE of code_blocks_test.ts with a reason";
  assertEquals(ran.code, 0, `${ran.stderr}${hint}`);
  for (const [, name] of code.matchAll(/(?:--output|-o)[ =](\S+)/g)) {
    const { size } = await Deno.stat(`${FOLDER}/${name!.replace(/["']/g, "")}`);
    assert(size > 0, `${file}: ${name} is empty`);
    await Deno.remove(`${FOLDER}/${name!.replace(/["']/g, "")}`);
  }
}

Deno.test("deno task weir, which the status of README.md names, runs the command line", async () => {
  const args = ["task", "--quiet", "weir", "locations", "--sandbox", "--select=Id", "--limit=1"];
  const ran = (await runProgramWith({ cwd: PROJECT, env: ENVIRONMENT }, Deno.execPath(), ...args))!;
  assertEquals([ran.code, ran.stdout], [0, '"Id"\n1001\n'], ran.stderr);
});

/** Returns the commands in the tables for users of other clients; `…` is a filter. */
function weirCommandsOf(text: string): string[] {
  return text.split("\n").flatMap((line, index) =>
    [...line.matchAll(/`(weir [^`]+)`/g)].map(([, command]) =>
      "\n".repeat(index) + command!.replace('"…"', `"CharacteristicName eq 'pH'"`)
    )
  );
}

/** Interpreters of the other languages, and what must be installed. */
const INTERPRETERS: Record<string, [program: string | undefined, flag: string, needs: string]> = {
  python: [python, "-c", "Python with pandas"],
  r: [hasR ? "Rscript" : undefined, "-e", "R"],
};

/** Packages that only some programs load, by the text that loads them. */
const PACKAGES: readonly (readonly [text: string, name: string, isInstalled: boolean])[] = [
  ["import polars", "Polars for Python", hasPolars],
  ["library(readr)", "readr", await hasRPackage("readr")],
  ["library(data.table)", "data.table", await hasRPackage("data.table")],
];

for (const [language, [interpreter, flag, needs]] of Object.entries(INTERPRETERS)) {
  for (const { code, place } of blocks.filter((block) => block.language === language)) {
    const packages = PACKAGES.filter(([text]) => code.includes(text))
      .map(([, name, isInstalled]) => [name, isInstalled] as const);
    testWithFiles(`the ${language} program in ${place} runs`, async () => {
      await using server = serveDemo();
      const address = `http://127.0.0.1:${server.addr.port}`;
      const example = /https?:\/\/(?:127\.0\.0\.1:8000|localhost:8000|weir\.example)/g;
      await writeConfig();
      await writeWrappers(address);
      const bin = `${await Deno.realPath(FOLDER)}/bin`;
      const env = { ...ENVIRONMENT, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` };
      const args = [flag, code.replaceAll(example, address)];
      const ran = (await runProgramWith({ cwd: FOLDER, env }, interpreter!, ...args))!;
      assertEquals(ran.code, 0, `${place}:\n${ran.stderr}`);
    }, { [needs]: interpreter, ...Object.fromEntries(packages) });
  }
}
