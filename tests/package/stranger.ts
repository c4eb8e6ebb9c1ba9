// Commands of a stranger: in an empty folder, with an empty home, empty caches and the packages of two
// registries.
import { assert } from "@std/assert";
import { type Server, startServer } from "../e2e/servers/server.ts";
import { type ProgramResult, runProgram, runProgramWith } from "../helpers/programs.ts";
import { PROJECT } from "../helpers/project.ts";
import type { JsrRegistry } from "./jsr_registry.ts";
import type { NpmRegistry } from "./npm_registry.ts";
import { output } from "./project.ts";

/** A person who knows the package by its name alone. */
export interface Stranger extends AsyncDisposable {
  /** Path of the empty folder with a trailing slash. */
  folder: string;
  /** Path of the home with a trailing slash. */
  home: string;
  /** Runs a command in the folder. Its words are separated by single spaces. */
  run(command: string): Promise<ProgramResult>;
  /** Runs a command in the folder, asserts that it succeeds, and returns its standard output. */
  output(command: string): Promise<string>;
  /** Starts a server in the folder. The group of `port` is the port in its output. */
  serve(command: string, port: RegExp): Promise<Server>;
}

/** Options of `createStranger()`. */
export interface StrangerOptions {
  jsr: JsrRegistry;
  npm: NpmRegistry;
  /** Name by which the registry counts the requests. */
  name: string;
  /** Environment variables in addition to those that the programs need. */
  environment?: Record<string, string>;
  /** Programs by their names, which precede those of the machine. */
  programs?: Record<string, string>;
  /** Whether the programs of the machine are missing. Default false */
  hasOnlyPrograms?: boolean;
}

/**
 * Variables that determine how programs reach the registry of npm. Others of npm, which `npx` sets for the
 * programs that it runs, name the cache and the settings of the machine.
 */
const NETWORK_VARIABLES =
  /^((https?|all|no)_proxy|npm_config_(registry|(https_|no)?proxy|ca|cafile|strict_ssl)|node_extra_ca_certs|ssl_cert_(file|dir)|deno_(cert|tls_ca_store))$/i;

/** Registry that npm is configured to use. The files in the empty home do not name it. */
const npmHost = (await output(PROJECT, "npm", "config", "get", "registry")).trim();
/** Programs that start and end the programs of strangers. */
const TOOLS = ["setpriv", "setsid"];

/** Creates a stranger. */
export async function createStranger(options: StrangerOptions): Promise<Stranger> {
  const { programs = {}, hasOnlyPrograms = false } = options;
  const root = `${await Deno.makeTempDir({ prefix: "weir-stranger-" })}/`;
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
    NPM_CONFIG_REGISTRY: npmHost,
    ...Object.fromEntries(network),
    HOME: `${root}home`,
    JSR_URL: options.jsr.urlFor(options.name),
    NO_COLOR: "1",
    NPM_CONFIG_UPDATE_NOTIFIER: "false",
    PATH: hasOnlyPrograms ? `${root}bin` : `${root}bin:${variables.PATH}`,
    TMPDIR: `${root}temporary`,
    ...options.environment,
  };
  const run: Stranger["run"] = async (command) => {
    const [program, ...args] = command.split(" ");
    // A command that does not end, such as a server, fails the test instead of stopping it.
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
