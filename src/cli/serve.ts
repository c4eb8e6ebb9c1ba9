import { readFile } from "node:fs/promises";
import { abortable } from "../clock.ts";
import { messageFor, namesOf, oneLine, ValidationError } from "../errors.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";
import type { FlagValues } from "./flags.ts";

const VARIABLE_FLAGS = {
  HOST: "host",
  PORT: "port",
  WEIR_ACCESS: "access",
  WEIR_MIRROR: "mirror",
} as const;
/** By the variable that they replace, for messages. */
const FLAG_NAMES = Object.fromEntries(
  Object.entries(VARIABLE_FLAGS).map(([name, flag]) => [name, `--${flag} or ${name}`]),
);

/** Runs until a signal, then waits for the open responses. */
export async function serve({ flags }: Arguments, context: Context): Promise<number> {
  const server = await import("../../edge/server/start.ts");
  const fileVariables = await readVariables(flags.get("env-file")?.[0]);
  const environment: Record<string, string | undefined> = { ...fileVariables };
  for (const name of server.KNOWN_VARIABLES) {
    environment[name] = context.environmentIfAllowed(name) ?? environment[name];
  }
  applyFlags(flags, environment);
  const names = new Set([...Object.keys(fileVariables), ...context.environmentNames()]);
  try {
    const stop = await server.startConfiguredServer(environment, names, context.printError);
    await abortable(new Promise<never>(() => {}), context.signal).catch(() => {});
    const isComplete = await stop();
    context.endProcess();
    return isComplete ? 0 : 1;
  } catch (error) {
    if (error instanceof server.ListenError) throw new CommandError(error.message);
    if (!(error instanceof ValidationError)) throw error;
    const ofOptions = Object.entries(server.VARIABLE_NAMES)
      .map(([option, variable]) => [option, FLAG_NAMES[variable] ?? variable]);
    const nameVariable = namesOf({ ...Object.fromEntries(ofOptions), ...FLAG_NAMES });
    const message = messageFor(
      error,
      (option, value) =>
        option === "WEIR_SANDBOX" && value === "1" ? "--sandbox" : nameVariable(option, value),
    );
    const variable = server.VARIABLE_NAMES[error.option] ?? error.option;
    throw new UsageError(message + context.permissionHint(variable));
  }
}

export async function serverVariables(): Promise<[variable: string, help: string][]> {
  const { VARIABLES } = await import("../../edge/server/start.ts");
  return VARIABLES.map(({ variable, help, defaultText }) => [
    variable,
    defaultText === "none" ? help : `${help} (default: ${defaultText})`,
  ]);
}

function applyFlags(flags: FlagValues, environment: Record<string, string | undefined>): void {
  if (flags.has("sandbox")) environment.WEIR_SANDBOX = "1";
  if (flags.has("sandbox-firewall")) environment.WEIR_SANDBOX = "firewall";
  for (const [variable, flag] of Object.entries(VARIABLE_FLAGS)) {
    const [value] = flags.get(flag) ?? [];
    if (value !== undefined) environment[variable] = value;
  }
}

async function readVariables(path: string | undefined): Promise<Record<string, string>> {
  if (path === undefined) return {};
  const text = await readFile(path, "utf8").catch((error) => {
    throw new CommandError(`Cannot read ${path}: ${oneLine(error)}: check the path of --env-file`);
  });
  // Not a static import, with which an old Node could not load the server's bundle and name its version.
  const { parseEnv } = await import("node:util");
  // Editors of Windows can write a byte order mark, which would become part of the first name.
  const variables = parseEnv(text.replace(/^\uFEFF/, "")) as Record<string, string>;
  const isEmpty = text.split("\n").every((line) => /^\s*(#|$)/.test(line));
  if (!isEmpty && !Object.keys(variables).some((name) => /^\w+$/.test(name))) {
    throw new CommandError(
      `${path} has no variables: write lines such as WEIR_ACCESS=public, in UTF-8`,
    );
  }
  return variables;
}
