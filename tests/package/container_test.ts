// The server of the Dockerfile serves, stops and checks its health as an unprivileged user. Without an engine: its build stage in a copy of the clone, then its
// final stage in a folder that becomes the root folder of an unprivileged user. Only the base images
// differ: Deno and Node are those that run the tests.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/yaml/parse";
import { validate } from "dockerfile-utils";
import { basename, dirname } from "node:path";
import { readConfig, readListenOptions } from "../../edge/config.ts";
import { SHUTDOWN_TIMEOUT } from "../../edge/operation/server_process.ts";
import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { findFreePort } from "./free_port.ts";
import { runProgram, runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { needing } from "../e2e/needs.ts";
import { node } from "../e2e/runtime_programs.ts";
import { waitFor } from "../e2e/wait_for.ts";
import { copyClone } from "./copy_clone.ts";
import { DOCKERFILE, type Stage, STAGES } from "./dockerfile.ts";

const [build, final] = STAGES as [Stage, Stage];
const chroot = (await runProgram("sh", "-c", "command -v chroot"))?.stdout.trim();
const canRun = Deno.uid() === 0 && !!chroot && node !== undefined;

/** Path of the image's root folder with a trailing slash. */
let root = "";
Deno.test.beforeAll(async () => {
  if (!canRun) return;
  root = `${await Deno.makeTempDir({ prefix: "weir-image-" })}/`;
  await layOutImage();
});
Deno.test.afterAll(async () => {
  if (root !== "") await Deno.remove(root, { recursive: true });
});

/** Runs the build stage, and copies the files of the final stage to `root`. */
async function layOutImage(): Promise<void> {
  const context = await copyClone();
  try {
    for (const path of await ignoredPaths()) {
      await Deno.remove(context + path, { recursive: true }).catch(() => {});
    }
    for (const [program, ...args] of build.runs) {
      assertEquals(program, "deno");
      const result = (await runProgramWith({ cwd: context }, Deno.execPath(), ...args))!;
      assert(result.success, result.stderr);
    }
    await Deno.chmod(root, 0o755);
    await addNode();
    const [workingFolder] = build.settings.WORKDIR!;
    for (const { from, sources, target } of final.copies) {
      assertEquals([from, target.endsWith("/")], [build.name, true]);
      await Deno.mkdir(root + target, { recursive: true });
      for (const source of sources) {
        const path = context + source.slice(`${workingFolder}/`.length);
        await Deno.copyFile(path, root + target + basename(source));
      }
    }
  } finally {
    await Deno.remove(context, { recursive: true });
  }
}

/** Returns the paths in the clone that `.dockerignore` excludes; git excludes the others. */
async function ignoredPaths(): Promise<string[]> {
  const lines = (await Deno.readTextFile(`${PROJECT}.dockerignore`)).trim().split("\n");
  return lines.filter((line) => !/^#|\*/.test(line));
}

/** Copies Node and its libraries to the path that it has in the base image. */
async function addNode(): Promise<void> {
  const program = await Deno.realPath(node!);
  const { stdout } = (await runProgram("ldd", program))!;
  const files: [string, string][] = [[program, final.entryPoint![0]!]];
  for (const [library] of stdout.matchAll(/\/\S+/g)) files.push([library, library]);
  for (const [source, target] of files) {
    await Deno.mkdir(root + dirname(target), { recursive: true });
    await Deno.copyFile(source, root + target);
  }
}

/** Returns a command that runs in the image, with the image's environment and no other. */
function inImage(words: string[], environment: Record<string, string>): string[] {
  const variables = Object.entries({ ...final.environment, ...environment })
    .map(([name, value]) => `${name}=${value}`);
  const [user] = final.settings.USER!;
  return ["env", "-i", ...variables, chroot!, `--userspec=${user}`, root, ...words];
}

interface Container extends AsyncDisposable {
  /** URL without a trailing slash. */
  url: string;
  environment: Record<string, string>;
  ended: Promise<number>;
  log(): string;
  signal(name: Deno.Signal): void;
}

/**
 * Runs the arguments as a command and prints its process id. Kills the command when the other end of
 * standard input is closed: `setpriv --pdeathsig` does not survive the change of the user.
 */
const RUN_WHILE_STDIN_IS_OPEN = `exec 3<&0
"$@" </dev/null 3<&- & server=$!
echo $server
{ cat <&3; kill -KILL $server; } >/dev/null 2>&1 &
wait $server`;

/** Starts the entry point, and waits until it listens. */
async function startContainer(environment: Record<string, string>): Promise<Container> {
  // The machine of the tests may not have other addresses.
  const settings = { HOST: "127.0.0.1", PORT: String(findFreePort()), ...environment };
  const command = inImage(final.entryPoint!, settings);
  const child = new Deno.Command("sh", {
    args: ["-c", RUN_WHILE_STDIN_IS_OPEN, "sh", ...command],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const printed = { stdout: "", stderr: "" };
  const reading = (["stdout", "stderr"] as const).map(async (name) => {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) {
      printed[name] += text;
    }
  });
  const ended = child.status.then(({ code }) => code);
  const stop = async () => {
    await child.stdin.close().catch(() => {});
    await Promise.all([ended, ...reading]);
  };
  try {
    let hasEnded = false;
    ended.then(() => hasEnded = true);
    await waitFor(() => {
      if (hasEnded) throw new Error(`The container has ended: ${printed.stderr}`);
      return printed.stderr.includes("Weir listens on");
    }, "the server of the container");
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${settings.PORT}`,
    environment: settings,
    ended,
    log: () => printed.stderr,
    signal: (name) => Deno.kill(Number(printed.stdout), name),
    [Symbol.asyncDispose]: stop,
  };
}

async function checkHealth(environment: Record<string, string>): Promise<number> {
  const [program, ...args] = inImage(final.healthCheck!, environment);
  const { code, stdout, stderr } = (await runProgram(program!, ...args))!;
  assertEquals([stdout, stderr], ["", ""]);
  return code;
}

async function expectedRows(): Promise<string[][]> {
  const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
  const options = { apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity };
  return readCsv(await new Response(new DataStream(options).records().csv()).text());
}

function testImage(name: string, fn: () => Promise<void>): void {
  Deno.test(needing({ "root, chroot and Node": canRun }, name, fn));
}

Deno.test("the Dockerfile is valid when it is checked", () => {
  assertEquals(validate(DOCKERFILE), []);
});

Deno.test("the image runs one program as an unprivileged user when the Dockerfile is read", () => {
  assertEquals([STAGES.length, build.copies.length], [2, 1]);
  assertEquals(final.runs, []);
  assert(/^[1-9]\d*:[1-9]\d*$/.test(final.settings.USER!.join()), String(final.settings.USER));
  assertEquals(final.settings.EXPOSE, [final.environment.PORT!]);
  assertEquals(final.settings.STOPSIGNAL, ["SIGTERM"]);
  assertEquals(final.environment.HOST, "0.0.0.0");
  const [program, script] = final.entryPoint!;
  assertEquals(program, final.healthCheck![0]);
  assert(final.copies.some(({ target }) => target === `${dirname(script!)}/`));
});

Deno.test("the build stage uses the tested version of Deno when the Dockerfile is read", () => {
  const [major, minor] = Deno.version.deno.split(".");
  assertStringIncludes(build.baseImage, `denoland/deno:${major}.${minor}.`);
});

testImage(
  "the server of the image serves a complete download when only WEIR_SANDBOX is set",
  async () => {
    await using container = await startContainer({ WEIR_SANDBOX: "1" });
    const response = await fetch(`${container.url}/Records.csv`);
    assertEquals([response.status, response.headers.get("x-weir-data")], [200, "synthetic"]);
    assertEquals(readCsv(await response.text()), await expectedRows());
    assertEquals(/warning/i.test(container.log()), false, container.log());
  },
);

testImage(
  "the server of the image finishes an open download when it receives SIGTERM",
  async () => {
    await using container = await startContainer({ WEIR_SANDBOX: "1" });
    const response = await fetch(`${container.url}/Records.csv`);
    container.signal("SIGTERM");
    assertEquals(readCsv(await response.text()), await expectedRows());
    assertEquals(await container.ended, 0);
  },
);

testImage(
  "the health check exits with 0 when the server runs and with 1 when it does not",
  async () => {
    const environment = { HOST: "127.0.0.1", PORT: String(findFreePort()) };
    assertEquals(await checkHealth(environment), 1);
    await using container = await startContainer({ WEIR_SANDBOX: "1", ...environment });
    assertEquals(await checkHealth(container.environment), 0);
  },
);

testImage(
  "the health check uses the port of the server when PORT is empty or has spaces",
  async () => {
    const [program, flag, script] = final.healthCheck!;
    // Prints the URL in place of a request, because another program may use the default port.
    const printUrl =
      "globalThis.fetch = async (url) => { console.log(url); return { ok: true }; };";
    for (const PORT of ["", " ", "9212", " 9212", "9212\r"]) {
      const [env, ...args] = inImage([program!, flag!, printUrl + script], { PORT });
      const { code, stdout } = (await runProgram(env!, ...args))!;
      const { port } = readListenOptions({ PORT });
      assertEquals([code, stdout], [0, `http://127.0.0.1:${port}/healthz\n`]);
    }
  },
);

testImage("the user of the image cannot write anywhere when the server runs", async () => {
  const script = `const { accessSync, constants, readdirSync } = require("node:fs");
    const isWritable = (path) => {
      try { accessSync(path, constants.W_OK); return true; } catch { return false; }
    };
    const paths = ["/", ...readdirSync("/", { recursive: true }).map((path) => "/" + path)];
    console.log(JSON.stringify([process.getuid(), paths.length, paths.filter(isWritable)]));`;
  const [program, ...args] = inImage([final.entryPoint![0]!, "-e", script], {});
  const { stdout, stderr } = (await runProgram(program!, ...args))!;
  const [user, count, writable] = JSON.parse(stdout || `"${stderr}"`);
  assertEquals([`${user}:${user}`, writable], [final.settings.USER!.join(), []]);
  assert(count > 5, stdout);
});

interface Compose {
  services: Record<string, {
    build: string;
    environment: Record<string, string>;
    ports: string[];
    read_only: boolean;
    cap_drop: string[];
    stop_grace_period: string;
  }>;
}

Deno.test("compose.yaml runs the image on loopback without privileges when it is parsed", async () => {
  const compose = parse(await Deno.readTextFile(`${PROJECT}compose.yaml`)) as Compose;
  const [service, ...others] = Object.values(compose.services);
  assertEquals([service!.build, others], [".", []]);
  const { PORT } = final.environment;
  assertEquals(service!.ports, [`127.0.0.1:${PORT}:${PORT}`]);
  assertEquals([service!.read_only, service!.cap_drop], [true, ["ALL"]]);
  assertEquals(readConfig(service!.environment).synthetic, true);
  assert(parseInt(service!.stop_grace_period) * 1000 > SHUTDOWN_TIMEOUT);

  // The commands of the documents and of the comment in the Dockerfile have the same limits.
  const deploying = await Deno.readTextFile(`${PROJECT}docs/deploying.md`);
  for (const text of [DOCKERFILE, deploying]) {
    const command = /^(?:#\s+)?docker run (.*)$/m.exec(text)![1]!;
    const valueOf = (flag: string) => new RegExp(`--${flag} (\\S+)`).exec(command)![1]!;
    assertEquals([valueOf("publish")], service!.ports);
    assertEquals(`${valueOf("stop-timeout")}s`, service!.stop_grace_period);
    assertEquals(command.includes(" --read-only --cap-drop ALL "), true);
  }
});
