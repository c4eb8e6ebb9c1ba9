// The Dockerfile is valid and runs the tested server as an unprivileged user, its health check follows the server's
// port, and compose.yaml and the documents start it with the same limits. Its steps run without an engine; CI builds and
// runs the image.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/yaml/parse";
import { validate } from "dockerfile-utils";
import { KNOWN_VARIABLES, readConfig, readListenOptions } from "../../edge/server/config.ts";
import { SHUTDOWN_TIMEOUT } from "../../edge/server/server_process.ts";
import { PROJECT } from "../helpers/project.ts";
import { runProgramWith } from "../helpers/programs.ts";
import { testNeeding } from "../e2e/needs.ts";
import { node } from "../e2e/runtime_programs.ts";
import { startServer } from "../e2e/servers/server.ts";
import { copyClone } from "./copy_clone.ts";
import { output } from "./project.ts";

const DOCKERFILE = await Deno.readTextFile(`${PROJECT}Dockerfile`);
/** Returns the text after a word at the start of a line. */
const valueOf = (word: string) => new RegExp(`^ *${word} (.*)$`, "m").exec(DOCKERFILE)![1]!;
const [, port] = /^ENV HOST=0\.0\.0\.0 PORT=(\d+)$/m.exec(DOCKERFILE)!;

Deno.test("deno task serve and the systemd unit start V8 with the flags of the container", async () => {
  const [, ...flags] = JSON.parse(valueOf("ENTRYPOINT")).slice(0, -1);
  assertEquals(flags.length, 1);
  const { tasks } = JSON.parse(await Deno.readTextFile(`${PROJECT}deno.json`));
  assertStringIncludes(tasks.serve.command, `deno run --v8-flags=${flags} `);
  const guide = await Deno.readTextFile(`${PROJECT}docs/deploying.md`);
  assertStringIncludes(guide, `ExecStart=/usr/bin/node ${flags} `);
});

Deno.test("the Dockerfile is valid, with the tested version of Deno and an unprivileged user", () => {
  assertEquals(validate(DOCKERFILE), []);
  const [major, minor] = Deno.version.deno.split(".");
  assertStringIncludes(valueOf("FROM"), `denoland/deno:${major}.${minor}.`);
  assert(/^[1-9]\d*:[1-9]\d*$/.test(valueOf("USER")));
});

testNeeding(
  { Node: node },
  "the health check requests the server's port, and fails if the server does not respond or is not ready",
  async () => {
    const [, flag, script] = JSON.parse(valueOf("CMD"));
    const check = async (PORT: string, response: string) => {
      // Prints the URL in place of a request.
      const code = `globalThis.fetch = async (url) => { console.log(url); ${response} };${script}`;
      const result = await runProgramWith({ env: { PORT } }, node!, flag, code);
      return [result?.code, result?.stdout];
    };
    for (const PORT of ["", " 9212"]) {
      const url = `http://127.0.0.1:${readListenOptions({ PORT }).port}/healthz\n`;
      assertEquals(await check(PORT, "return { ok: true };"), [0, url]);
      assertEquals(await check(PORT, "return { ok: false };"), [1, url]);
      assertEquals(await check(PORT, "throw new Error();"), [1, url]);
    }
  },
);

testNeeding(
  { Node: node },
  "the steps of the Dockerfile build and start a server, and its health check fails when the server has stopped",
  async () => {
    const context = await copyClone();
    const image = await Deno.makeTempDir({ prefix: "weir-image-" });
    try {
      const [, ...task] = JSON.parse(valueOf("RUN"));
      await output(context, Deno.execPath(), ...task);
      const [, source, target] = /^\/weir\/(\S+) (\S+)$/.exec(valueOf("COPY --from=build"))!;
      await Deno.mkdir(image + target);
      const [, ...start] = JSON.parse(valueOf("ENTRYPOINT"));
      const file = start.pop();
      await Deno.copyFile(context + source, image + target + source!.split("/").at(-1));
      const environment = { ...(await readService()).environment, HOST: "127.0.0.1", PORT: "0" };
      await using server = await startServer({
        program: node!,
        args: [...start, image + file],
        environment,
        clearEnv: true,
        port: /http:\/\/127\.0\.0\.1:(\d+)/,
      });
      const [, flag, script] = JSON.parse(valueOf("CMD"));
      const env = { PORT: new URL(server.root).port };
      const check = async () => (await runProgramWith({ env }, node!, flag, script))?.code;
      assertEquals(await check(), 0);
      server.signal(valueOf("STOPSIGNAL") as Deno.Signal);
      assertEquals([await server.exitCode, await check()], [0, 1]);
    } finally {
      for (const folder of [context, image]) await Deno.remove(folder, { recursive: true });
    }
  },
);

interface Service {
  build: string;
  environment: Record<string, string>;
  ports: string[];
  read_only: boolean;
  cap_drop: string[];
  stop_grace_period: string;
}

async function readService(): Promise<Service> {
  const text = await Deno.readTextFile(`${PROJECT}compose.yaml`);
  return (parse(text) as { services: { weir: Service } }).services.weir;
}

Deno.test("compose.yaml and the documents run the image on loopback without privileges", async () => {
  const { build, ports, read_only, cap_drop, environment, stop_grace_period } = await readService();
  assertEquals([build, ports], [".", [`127.0.0.1:${port}:${port}`]]);
  assertEquals([read_only, cap_drop], [true, ["ALL"]]);
  assertEquals(Object.keys(environment).filter((name) => !KNOWN_VARIABLES.includes(name)), []);
  assertEquals(readConfig(environment).synthetic, true);
  assert(parseInt(stop_grace_period) * 1000 > SHUTDOWN_TIMEOUT);

  for (const text of [DOCKERFILE, await Deno.readTextFile(`${PROJECT}docs/deploying.md`)]) {
    const command = /^(?:#\s+)?docker run (.*)$/m.exec(text)![1]!;
    assertStringIncludes(command, `--publish ${ports[0]} `);
    assertStringIncludes(`${command} `, `--stop-timeout ${parseInt(stop_grace_period)} `);
    assertStringIncludes(command, " --read-only --cap-drop ALL ");
  }
});
