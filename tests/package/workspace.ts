// Runs commands as after a first installation: in an empty folder, with an empty home, empty caches and the
// packages of two registries.
import { assert } from "@std/assert";
import { type Server, startServer } from "../e2e/servers/server.ts";
import { type ProgramResult, runProgram, runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import type { JsrRegistry } from "./jsr_registry.ts";
import type { NpmRegistry } from "./npm_registry.ts";
import { output } from "./project.ts";

/** An empty folder with its own home, caches and environment variables. */
export interface Workspace extends AsyncDisposable {
  /** Path of the empty folder with a trailing slash. */
  folder: string;
  /** Path of the home with a trailing slash. */
  home: string;
  /** Runs a command in the folder. A single space separates two words of it. */
  run(command: string): Promise<ProgramResult>;
  /** Runs a command in the folder, asserts that it succeeds, and returns its standard output. */
  output(command: string): Promise<string>;
  /** Starts a server in the folder. The group in `port` matches the port number in its output. */
  serve(command: string, port: RegExp): Promise<Server>;
}

/** Options of `createWorkspace()`. */
export interface WorkspaceOptions {
  jsr: JsrRegistry;
  npm: NpmRegistry;
  /** Name under which the JSR registry records requests. */
  name: string;
  /** More environment variables. */
  environment?: Record<string, string>;
  /** Paths of programs to put first on the `PATH`, by name. */
  programs?: Record<string, string>;
  /** Whether the `PATH` has only Deno and these programs. Default false. */
  hasOnlyPrograms?: boolean;
}

/**
 * Variables that programs need to reach the npm registry. Other variables of npm, which `npx` sets for the
 * programs that it starts, would make them use the cache and settings of this machine.
 */
const NETWORK_VARIABLES =
  /^((https?|all|no)_proxy|npm_config_(registry|(https_|no)?proxy|ca|cafile|strict_ssl)|node_extra_ca_certs|ssl_cert_(file|dir)|deno_(cert|tls_ca_store))$/i;

/** URL of the npm registry of this machine, which the empty home does not configure. */
const npmRegistryUrl = (await output(PROJECT, "npm", "config", "get", "registry")).trim();
/** Programs with which the tests start and end programs. */
const TOOLS = ["setpriv", "setsid"];

/** Creates a workspace. */
export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { programs = {}, hasOnlyPrograms = false } = options;
  const root = `${await Deno.makeTempDir({ prefix: "weir-workspace-" })}/`;
  const folder = `${root}project/`;
  for (const name of ["project", "home", "temporary", "bin"]) await Deno.mkdir(root + name);
  await Deno.writeTextFile(`${root}home/.npmrc`, options.npm.npmrc);
  for (const [name, path] of Object.entries({ deno: Deno.execPath(), ...programs })) {
    await Deno.symlink(path, `${root}bin/${name}`);
  }
  for (const tool of hasOnlyPrograms ? TOOLS : []) {
    const found = await runProgram("sh", "-c", `command -v ${tool}`);
    if (found?.success) await Deno.symlink(found.stdout.trim(), `${root}bin/${tool}`);
  }
  const variables = Deno.env.toObject();
  const network = Object.entries(variables).filter(([name]) => NETWORK_VARIABLES.test(name));
  const env = {
    NPM_CONFIG_REGISTRY: npmRegistryUrl,
    ...Object.fromEntries(network),
    HOME: `${root}home`,
    JSR_URL: options.jsr.urlFor(options.name),
    NO_COLOR: "1",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
    PATH: hasOnlyPrograms ? `${root}bin` : `${root}bin:${variables.PATH}`,
    TMPDIR: `${root}temporary`,
    ...options.environment,
  };
  const run: Workspace["run"] = async (command) => {
    const [program, ...args] = command.split(" ");
    // A command that does not end fails the test instead of blocking it.
    const signal = AbortSignal.timeout(60_000);
    const settings = { cwd: folder, env, clearEnv: true, signal };
    const result = await runProgramWith(settings, program!, ...args);
    assert(result, `${program} is not installed`);
    assert(!signal.aborted, `${command} does not end: ${result.stdout}${result.stderr}`);
    return result;
  };
  return {
    folder,
    home: `${root}home/`,
    run,
    async output(command) {
      const { code, stdout, stderr } = await run(command);
      assert(code === 0, `${command}: ${code}\n${stdout}${stderr}`);
      return stdout;
    },
    serve(command, port) {
      const [program, ...args] = command.split(" ");
      const settings = { folder, environment: env, clearEnv: true, port };
      return startServer({ program: program!, args, ...settings });
    },
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}
