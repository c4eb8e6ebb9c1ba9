// Installs the published packages in empty folders, with a home and caches that are empty at first, and runs them.
// `deno publish` uploads to a JSR registry on loopback. An npm registry on loopback serves the file of
// `deno task pack`. Other packages come from npm.
import { assert, assertEquals, assertMatch } from "@std/assert";
import jsr from "../../jsr.json" with { type: "json" };
import { copyClone } from "./copy_clone.ts";
import { toCapnp } from "../e2e/servers/capnp.ts";
import type { Server } from "../e2e/servers/server.ts";
import { needing } from "../e2e/needs.ts";
import { bun, node, workerd } from "../e2e/runtime_programs.ts";
import { sandboxRequests } from "../helpers/sandbox.ts";
import { importsIn, resolve } from "../helpers/project.ts";
import { type JsrRegistry, startJsrRegistry } from "./jsr_registry.ts";
import { type NpmRegistry, startNpmRegistry } from "./npm_registry.ts";
import { packPackage, run } from "./project.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "./workspace.ts";

const NAME = "@weir/datastream";
const ENTRIES: Record<string, string> = jsr.exports;

let registry: JsrRegistry;
let npmRegistry: NpmRegistry;
let clone = "";
/** Path of the home of all workspaces with a trailing slash. */
let home = "";
let total: number;

Deno.test.beforeAll(async () => {
  registry = await startJsrRegistry();
  clone = await copyClone();
  home = `${await Deno.makeTempDir({ prefix: "weir-home-" })}/`;
  const args = ["task", "publish", "--allow-dirty", "--token", "none"];
  const [published, tarball] = await Promise.all([
    run(clone, { JSR_URL: registry.url }, Deno.execPath(), ...args),
    packPackage(),
  ]);
  assert(published.code === 0, published.stdout + published.stderr);
  npmRegistry = await startNpmRegistry(tarball);
  total = await sandboxRequests().count("Records");
});

Deno.test.afterAll(async () => {
  await npmRegistry?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
  for (const folder of [clone, home]) {
    if (folder !== "") await Deno.remove(folder, { recursive: true });
  }
});

/** Registers a test in an empty folder; skips it if something that it needs is missing. */
function testInWorkspace(
  name: string,
  fn: (workspace: Workspace) => Promise<void>,
  { needs = {}, ...options }:
    & Partial<Pick<WorkspaceOptions, "environment" | "programs" | "hasOnlyPrograms">>
    & { needs?: Record<string, unknown> } = {},
): void {
  Deno.test(needing(needs, name, async () => {
    const registries = { jsr: registry, npm: npmRegistry };
    await using workspace = await createWorkspace({ ...registries, home, ...options });
    await fn(workspace);
  }));
}

Deno.test("deno publish uploads modules that import each other, JSR, npm and Node only", () => {
  const files = registry.filesOf(NAME, jsr.version);
  for (const path of Object.values(ENTRIES)) assert(files.has(path.slice(1)), path);
  for (const [path, bytes] of files) {
    if (!path.endsWith(".ts")) continue;
    for (const specifier of importsIn(new TextDecoder().decode(bytes))) {
      const target = specifier.startsWith(".")
        ? `/${resolve(path.slice(1), specifier)}`
        : undefined;
      if (target) assert(files.has(target), `${path} imports ${specifier}`);
      else assertMatch(specifier, /^(jsr:@std\/\w+@\^\d|npm:\/?[\w@/-]+@\^?\d|node:\w)/, path);
    }
  }
});

/** Programs that import one entry point, and the text that they print. */
const PROGRAMS: Record<string, { code: string; printed: () => string }> = {
  ".": {
    code: `import { DataStream } from "jsr:@weir/datastream";
      import { createSandbox } from "jsr:@weir/datastream/sandbox";
      const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
      const options = { apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity };
      const csv = new DataStream(options).records({ select: ["Id"] }).csv();
      const lines = (await new Response(csv).text()).split("\\r\\n");
      console.log(lines[0], lines.length - 2, lines.at(-1) === "");`,
    printed: () => `Id ${total} true\n`,
  },
  "./endpoint": {
    code: `import { endpoint } from "jsr:@weir/datastream/endpoint";
      console.log(endpoint("GET /Records{?top}", { top: 5 }).url);`,
    printed: () => "https://api.datastream.org/v1/odata/v4/Records?top=5\n",
  },
  "./edge": {
    code: `import { createApp } from "jsr:@weir/datastream/edge";
      import { createSandbox } from "jsr:@weir/datastream/sandbox";
      const { apiKey, url, fetch } = createSandbox();
      const app = createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
      const response = await app.request("/Locations.csv?$select=Id&limit=3");
      console.log(response.status, (await response.text()).split("\\r\\n").length);`,
    printed: () => "200 5\n",
  },
  "./sandbox": {
    code: `import { createSandbox } from "jsr:@weir/datastream/sandbox";
      const { apiKey, url, fetch } = createSandbox();
      const headers = { "x-api-key": apiKey };
      const response = await fetch(url + "/Records?%24count=true", { headers });
      console.log((await response.json()).value);`,
    printed: () => `${total}\n`,
  },
};

for (const [entry, { code, printed }] of Object.entries(PROGRAMS)) {
  testInWorkspace(
    `deno run checks and runs a program when it imports jsr:${NAME}${entry.slice(1)}`,
    async (workspace) => {
      await Deno.writeTextFile(`${workspace.folder}main.ts`, code);
      assertEquals(await workspace.output("deno run --check main.ts"), printed());
    },
  );
}

testInWorkspace(
  `deno run jsr:${NAME}/cli downloads every row when it has no permissions`,
  async (workspace) => {
    assertRecords(await workspace.output(`deno run jsr:${NAME}/cli records --sandbox --select Id`));
  },
);

testInWorkspace(`deno install --global installs weir from jsr:${NAME}/cli`, async (workspace) => {
  await workspace.output(
    `deno install --global --name weir --allow-env --allow-read=. --allow-write=. jsr:${NAME}/cli`,
  );
  await workspace.output(`${home}.deno/bin/weir records --sandbox --select Id --output a.csv`);
  assertRecords(await Deno.readTextFile(`${workspace.folder}a.csv`));
});

testInWorkspace(
  `deno run --check runs a program with the types of jsr:${NAME}`,
  async (workspace) => {
    await workspace.output(`deno add jsr:${NAME}`);
    const program = new URL("consumer/program.ts", import.meta.url);
    await Deno.copyFile(program, `${workspace.folder}program.ts`);
    assertEquals(
      await workspace.output("deno run --check program.ts"),
      "number 200 true number 403\n",
    );
  },
);

const WEIR_PORT = /Weir listens on http:\/\/127\.0\.0\.1:(\d+)\//;
/** Raises the rate limit (requests per second). */
const FAST = { WEIR_REQUESTS_PER_SECOND: "1000" };
const DENO_SERVE = "deno serve --host 127.0.0.1 --port 0 --allow-env --allow-net";
const DENO_PORT = /Listening on http:\/\/127\.0\.0\.1:(\d+)/;

testInWorkspace(
  `deno serve jsr:${NAME}/serve serves every row when WEIR_SANDBOX is 1`,
  async (workspace) => {
    await using server = await workspace.serve(`${DENO_SERVE} jsr:${NAME}/serve`, DENO_PORT);
    await assertServes(server);
  },
  { environment: { WEIR_SANDBOX: "1", ...FAST } },
);

testInWorkspace(
  "the app of examples/deno-deploy serves every row when deno serve runs its entry point",
  async (workspace) => {
    for (const name of ["deno.json", "main.ts"]) {
      await Deno.copyFile(`${clone}examples/deno-deploy/${name}`, workspace.folder + name);
    }
    const { deploy } = JSON.parse(await Deno.readTextFile(`${workspace.folder}deno.json`));
    const command = `${DENO_SERVE} ${deploy.runtime.entrypoint}`;
    await using server = await workspace.serve(command, DENO_PORT);
    await assertServes(server);
  },
  { environment: { WEIR_SANDBOX: "1", ...FAST } },
);

testInWorkspace(`npx ${NAME} downloads every row`, async (workspace) => {
  assertRecords(await workspace.output(`npx --yes ${NAME} records --sandbox --select Id`));
}, { needs: { Node: node } });

const SERVE = `${NAME} serve --sandbox --port 0`;

testInWorkspace(`npx ${NAME} serve --sandbox serves every row`, async (workspace) => {
  await using server = await workspace.serve(`npx --yes ${SERVE}`, WEIR_PORT);
  await assertServes(server);
}, { needs: { Node: node }, environment: FAST });

testInWorkspace(
  `bunx ${NAME} serve --sandbox serves every row when Node is missing`,
  async (workspace) => {
    await using server = await workspace.serve(`bunx ${SERVE}`, WEIR_PORT);
    await assertServes(server);
  },
  {
    needs: { Bun: bun },
    environment: FAST,
    programs: { bun: bun!, bunx: bun! },
    hasOnlyPrograms: true,
  },
);

testInWorkspace(
  `a Node program serves every row when it imports ${NAME}/node`,
  async (workspace) => {
    await workspace.output(`npm install ${NAME}`);
    const code = `import { createApp } from "${NAME}/edge";
    import { serveNode } from "${NAME}/node";
    import { createSandbox } from "${NAME}/sandbox";
    const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
    const options = { access: "public", apiKey, baseUrl: url, fetch, synthetic: true };
    const app = createApp({ ...options, requestsPerSecond: Infinity });
    const server = await serveNode(app, { port: 0 });
    console.error("Weir listens on " + server.url);`;
    await Deno.writeTextFile(`${workspace.folder}main.mjs`, code);
    await using server = await workspace.serve("node main.mjs", WEIR_PORT);
    await assertServes(server);
  },
  { needs: { Node: node } },
);

testInWorkspace(
  `a Worker of one line serves every row when it exports ${NAME}/serve`,
  async (workspace) => {
    await workspace.output(`npm install ${NAME} esbuild@0.28.2`);
    const { folder } = workspace;
    const worker = `export { default } from "${NAME}/serve";\n`;
    await Deno.writeTextFile(`${folder}worker.js`, worker);
    // The conditions and the platform with which Wrangler bundles a Worker.
    await workspace.output(
      "npx esbuild worker.js --bundle --format=esm --platform=browser " +
        "--conditions=workerd,worker,browser --outfile=app.js",
    );
    const settings = { compatibility_date: "2026-05-03", compatibility_flags: [] };
    const environment = { WEIR_SANDBOX: "1", ...FAST };
    const capnp = toCapnp(JSON.stringify(settings), environment);
    await Deno.writeTextFile(`${folder}app.capnp`, capnp);
    const serve = `${workerd} serve --control-fd=1 app.capnp`;
    await using server = await workspace.serve(serve, /"port":(\d+)/);
    await assertServes(server);
  },
  { needs: { Node: node, workerd } },
);

/** Asserts that CSV has the Ids of all records of the sandbox. */
function assertRecords(csv: string): void {
  const lines = csv.split(/\r?\n/);
  assertEquals([lines[0], lines.length, lines.at(-1)], ["Id", 1 + total + 1, ""]);
  assertEquals(new Set(lines).size, lines.length);
}

/** Asserts that a server responds with the page and with every record of the sandbox. */
async function assertServes(server: Server): Promise<void> {
  const page = await fetch(server.root);
  assertEquals([page.status, (await page.text()).includes("<form")], [200, true]);
  const download = await fetch(`${server.root}/Records.csv?$select=Id`);
  assertEquals([download.status, download.headers.get("x-weir-data")], [200, "synthetic"]);
  assertRecords(await download.text());
  // Stack traces, requests that did not complete, and a warning of Deno.
  assert(!/^ +at |\b(aborted|failed)\b:|legacy/m.test(server.log()), server.log());
}
