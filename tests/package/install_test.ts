// The package downloads and serves every record in Node, Bun and Deno, installed from its tarball in an empty project.
// The service of docs/deploying.md starts it, and an old Node is named.
// tests/e2e/examples runs it in Wrangler.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SHUTDOWN_TIMEOUT } from "../../edge/server/server_process.ts";
import { deploymentBlock } from "../helpers/documents.ts";
import { testNeeding } from "../e2e/needs.ts";
import { bun, node, OLD_NODES } from "../e2e/runtime_programs.ts";
import { startServer } from "../e2e/servers/server.ts";
import { oldNodeMessage } from "../../src/node_version.ts";
import { sandboxRequests } from "../helpers/sandbox.ts";
import { type ConsumerProject, createProject, output, run } from "./project.ts";

const NAME = "@weir/datastream";
/** Synthetic data without a rate limit. */
const ENVIRONMENT = { WEIR_SANDBOX: "1", WEIR_REQUESTS_PER_SECOND: "1000" };

/** Programs in the project that import the package. */
const FILES: Record<string, string> = {
  "cli.mjs": `import { main } from "${NAME}/cli"; process.exitCode = await main();`,
  "serve.mjs": `export { default } from "${NAME}/serve";`,
};

let project: ConsumerProject;
let total: number;

Deno.test.beforeAll(async () => {
  project = await createProject();
  for (const [name, code] of Object.entries(FILES)) {
    await Deno.writeTextFile(project.folder + name, code);
  }
  total = await sandboxRequests().count("Records");
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

/** Programs that run the package; `undefined` if not installed. */
const PROGRAMS: Record<string, string | undefined> = {
  npx: node && "npx",
  bun,
  deno: Deno.execPath(),
};

/** Registers a test of a command, which gets its program and arguments. */
function testCommand(
  command: string,
  does: string,
  test: (program: string, args: string[]) => Promise<void>,
): void {
  const [name, ...args] = command.split(" ");
  const program = PROGRAMS[name!];
  testNeeding({ [name!]: program }, `${command} ${does}`, () => test(program!, args));
}

const COMMANDS = [
  "npx --no-install weir records --sandbox --select Id",
  "deno run --allow-read=. cli.mjs records --sandbox --select Id",
];
for (const command of COMMANDS) {
  testCommand(command, "writes every record of the sandbox", async (program, args) => {
    assertRecords(await output(project.folder, program, ...args));
  });
}

const SERVERS = [
  `npx --no-install ${NAME} serve --sandbox --port 0`,
  "bun x --bun weir serve --sandbox --port 0",
  "deno serve --host 127.0.0.1 --port 0 --allow-env --allow-net serve.mjs",
];
for (const command of SERVERS) {
  testCommand(command, "serves the page and every record of the sandbox", async (program, args) => {
    await using server = await startServer({
      program,
      args,
      folder: project.folder,
      environment: ENVIRONMENT,
      port: /http:\/\/127\.0\.0\.1:(\d+)/,
    });
    const page = await fetch(server.root);
    assertEquals([page.status, (await page.text()).includes("<form")], [200, true]);
    const download = await fetch(`${server.root}/Records.csv?$select=Id`);
    assertEquals([download.status, download.headers.get("x-weir-data")], [200, "synthetic"]);
    assertRecords(await download.text());
    // Stack traces, requests that did not complete, and a warning of Deno.
    assert(!/^ +at |\b(aborted|failed)\b:|legacy/m.test(server.log()), server.log());
  });
}

testNeeding(
  { Node: node },
  "the commands, unit and settings of docs/deploying.md start the installed server",
  async () => {
    const root = `${project.folder}root`;
    await Deno.mkdir(`${root}/etc`, { recursive: true });
    const create = deploymentBlock("touch /etc/weir.env").replaceAll("/etc/", `${root}/etc/`);
    await output(project.folder, "sh", "-c", `umask 0; ${create}`);
    assertEquals((await Deno.stat(`${root}/etc/weir.env`)).mode! & 0o777, 0o600);
    const [install] = /^npm install .*$/m.exec(deploymentBlock("npm install --global"))!;
    const command = install.replace("/opt/", `${root}/opt/`).replace(NAME, project.tarball);
    await output(project.folder, "sh", "-c", `${command} --no-audit --no-fund`);

    const unit = deploymentBlock("[Unit]");
    const valueOf = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)![1]!;
    assert(parseInt(valueOf("TimeoutStopSec")) * 1000 > SHUTDOWN_TIMEOUT);
    assertEquals(valueOf("EnvironmentFile"), "/etc/weir.env");
    const settings = deploymentBlock("WEIR_TOKENS=").replaceAll("TOKEN-OF", "a-secret-token-of");
    const pairs = settings.trim().split("\n").map((line) => line.split(/=(.*)/, 2));
    const { DATASTREAM_API_KEY: _, ...environment } = Object.fromEntries(pairs);
    await using server = await startServer({
      program: node!,
      args: valueOf("ExecStart").replace("/opt/", `${root}/opt/`).split(" ").slice(1),
      environment: { ...environment, ...ENVIRONMENT, PORT: "0" },
      clearEnv: true,
      port: /http:\/\/127\.0\.0\.1:(\d+)/,
    });
    const headers = { authorization: "Bearer a-secret-token-of-ANNA" };
    assertRecords(await (await fetch(`${server.root}/Records.csv?$select=Id`, { headers })).text());
    server.signal("SIGTERM");
    assertEquals(await server.exitCode, 0);
    assertStringIncludes(server.log(), "token anna");
  },
);

for (const [version, oldNode] of Object.entries(OLD_NODES)) {
  testNeeding(
    { [`Node ${version}`]: oldNode },
    `Node ${version} prints that it is too old`,
    async () => {
      const bin = `${project.installed}lib/bin.js`;
      for (const args of [[bin, "records", "--sandbox"], [bin, "serve"], ["serve.mjs"]]) {
        const { code, stdout, stderr } = await run(project.folder, ENVIRONMENT, oldNode!, ...args);
        const [line] = /^.*too old.*$/m.exec(stderr) ?? [];
        assertStringIncludes(line ?? stderr, oldNodeMessage({ node: version })!);
        // A program that imports the server gets an error, which Node prints with its place.
        assertEquals([code, stdout, args[0] === bin && stderr !== `${line}\n`], [1, "", false]);
      }
    },
  );
}

/** Asserts that CSV has the Ids of all records of the sandbox. */
function assertRecords(csv: string): void {
  const lines = csv.split(/\r?\n/);
  assertEquals([lines[0], lines.length, lines.at(-1)], ['"Id"', 1 + total + 1, ""]);
  assertEquals(new Set(lines).size, lines.length);
}
