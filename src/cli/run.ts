import { causesOf, DataStreamError, ValidationError } from "../errors.ts";
import { KEY_SOURCE } from "../service_constants.ts";
import { VERSION } from "../version.ts";
import { type Arguments, parseArguments } from "./arguments.ts";
import { COMMANDS } from "./commands.ts";
import { ClosedPipe, FileError } from "../files/output.ts";
import {
  CommandError,
  type Context,
  INTERRUPTED,
  OUTDATED,
  OutdatedError,
  UsageError,
} from "./context.ts";
import { messageOf } from "./flags.ts";
import { readLists } from "./value_lists.ts";

/** Returns the exit code: 0 success, 1 failure, 2 invalid command line, 3 outdated file, 130 interrupted. */
export async function run(args: readonly string[], context: Context): Promise<number> {
  let given: Arguments | undefined;
  try {
    given = parseArguments(args, COMMANDS);
    return await runCommand(given, context);
  } catch (error) {
    if (context.signal.aborted) {
      context.printError("Interrupted");
      return INTERRUPTED;
    }
    if (error instanceof ClosedPipe) return 0;
    return printFailure(error, args, given?.flags, context);
  }
}

async function runCommand(given: Arguments, context: Context): Promise<number> {
  const { command, flags } = given;
  if (flags.has("version")) await context.print(`${VERSION}\n`);
  else if (command === undefined) await context.print(programHelp());
  else if (flags.has("help")) await context.print(await commandHelp(command));
  else {
    // Loaded now, so that the help and a wrong command line do not load the client.
    const functions = await import("./command_functions.ts");
    return await functions[COMMANDS[command]!.run](await readLists(given, context), context) ?? 0;
  }
  return 0;
}

function printFailure(
  error: unknown,
  args: readonly string[],
  flags: Arguments["flags"] | undefined,
  context: Context,
): number {
  const isInvalid = error instanceof UsageError || error instanceof ValidationError;
  context.printError(messageOf(error, flags));
  if (isInvalid) {
    const [command = ""] = args;
    const name = Object.hasOwn(COMMANDS, command) ? ` ${command}` : "";
    context.printError(`For help, run weir${name} --help`);
    return 2;
  }
  if (error instanceof OutdatedError) return OUTDATED;
  if (error instanceof DataStreamError) {
    const isKey = error.status === 401 || error.status === 403 && !error.isTemporary;
    if (isKey && error.kind === "status") {
      context.printError("Set DATASTREAM_API_KEY, or save the key with weir setup");
    }
    const hint = error.kind === "network" ? context.networkHint() : undefined;
    if (hint) context.printError(hint);
  }
  if (flags?.has("debug")) {
    // The causes have the codes and messages of the runtime.
    const stacks = causesOf(error).map(({ stack }) => stack ?? "No stack");
    context.printError(stacks.join("\nCaused by: ") || "No stack");
  } else if (!isExpected(error)) {
    context.printError("This is a bug in weir. Pass --debug to print the stack, and report it");
  }
  return 1;
}

/** Whether the cause is outside the program, so that the error is not a bug. */
function isExpected(error: unknown): boolean {
  if ([DataStreamError, CommandError, FileError].some((kind) => error instanceof kind)) return true;
  // Errors of the operating system have a code. The names are of Deno's missing permissions.
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  // Codes such as ERR_INVALID_ARG_TYPE are those of a wrong call in the program.
  const isSystemError = typeof code === "string" && !code.startsWith("ERR_");
  return isSystemError || name === "NotCapable" || name === "PermissionDenied";
}

function programHelp(): string {
  return `weir: Canada's open water-quality data from the DataStream service

  weir COMMAND [flags]

${formatTable(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]))}

  For the flags: weir COMMAND --help
  For the version: weir --version

The API key is read from the environment variable DATASTREAM_API_KEY, else from the file that
weir setup writes. Request one at ${KEY_SOURCE}.
To try weir without a key: weir records --sandbox --limit 5

Use of the proxy variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY:
  Deno and Bun           always
  Node 24.14 or later    always
  Node 22.21 or later    if NODE_USE_ENV_PROXY=1 is set
  earlier Node           never

Exit codes: 0 success, 1 failure, 2 invalid command line, 3 outdated file, 130 interrupted.
`;
}

async function commandHelp(name: string): Promise<string> {
  const { summary, operand, flags, examples } = COMMANDS[name]!;
  const environment = name === "serve" ? await variablesHelp() : "";
  return `weir ${name}: ${summary}

  weir ${name}${operand ? ` ${operand.name}` : ""} [flags]

${
    formatTable(
      Object.entries(flags).map(([flag, { value, help, letter }]) => [
        `${letter ? `-${letter}, ` : ""}--${flag}${value ? ` ${value}` : ""}`,
        help,
      ]),
    )
  }

${environment}Examples:
${examples.map((example) => `  ${example}`).join("\n")}
`;
}

/** Only this help and `serve` load the server. */
async function variablesHelp(): Promise<string> {
  const { serverVariables } = await import("./command_functions.ts");
  return `Environment variables:\n${formatTable(await serverVariables())}\n\n`;
}

/** Width of a help text in characters. */
const MAX_WIDTH = 118;

function formatTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 3;
  const indent = " ".repeat(width + 2);
  const pattern = new RegExp(`(.{1,${MAX_WIDTH - indent.length}})(?:(?<!default:) |$)`, "g");
  return rows.map(([first, second]) => {
    const lines = [...second.matchAll(pattern)].map(([, line]) => line);
    return `  ${first.padEnd(width)}${lines.join(`\n${indent}`)}`;
  }).join("\n");
}
