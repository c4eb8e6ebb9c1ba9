// Runs commands as after a first installation: in an empty folder, with a home and caches of its own and the packages
// of two registries.
import { assert } from "@std/assert";
import { type Server, startServer } from "../e2e/servers/server.ts";
import { runProgram, runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import type { JsrRegistry } from "./jsr_registry.ts";
import type { NpmRegistry } from "./npm_registry.ts";
import { output } from "./project.ts";

/** An empty folder with its own environment variables. */
export interface Workspace extends AsyncDisposable {
  /** Path of the empty folder with a trailing slash. */
  folder: string;
  /**
   * Runs a command in the folder, asserts that it succeeds, and returns its standard output. A single space
   * separates two words of it.
   */
  output(command: string): Promise<string>;
  /** Starts a server in the folder. The group in `port` matches the port number in its output. */
  serve(command: string, port: RegExp): Promise<Server>;
}

export interface WorkspaceOptions {
  jsr: JsrRegistry;
  npm: NpmRegistry;
  /** Path of the home, with a trailing slash, which has all caches. */
  home: string;
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

export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { home, programs = {}, hasOnlyPrograms = false } = options;
  const root = `${await Deno.makeTempDir({ prefix: "weir-workspace-" })}/`;
  const folder = `${root}project/`;
  for (const name of ["project", "temporary", "bin"]) await Deno.mkdir(root + name);
  await Deno.writeTextFile(`${home}.npmrc`, options.npm.npmrc);
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
    HOME: home,
    JSR_URL: options.jsr.url,
    NO_COLOR: "1",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
    PATH: hasOnlyPrograms ? `${root}bin` : `${root}bin:${variables.PATH}`,
    TMPDIR: `${root}temporary`,
    ...options.environment,
  };
  return {
    folder,
    async output(command) {
      const [program, ...args] = command.split(" ");
      // A command that does not end fails the test instead of blocking it.
      const signal = AbortSignal.timeout(60_000);
      const settings = { cwd: folder, env, clearEnv: true, signal };
      const result = await runProgramWith(settings, program!, ...args);
      assert(result, `${program} is not installed`);
      const { code, stdout, stderr } = result;
      assert(!signal.aborted, `${command} does not end: ${stdout}${stderr}`);
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
