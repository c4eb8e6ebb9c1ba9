import { DataStreamError, ValidationError } from "../errors.ts";
import type { ResourceName } from "../odata/resources.ts";
import { KEY_SOURCE } from "../service_constants.ts";
import { VERSION } from "../version.ts";
import { type Arguments, type Flags, parseArguments, type Syntax } from "./arguments.ts";
import { CommandError, type Context, INTERRUPTED, UsageError } from "./context.ts";
import { readLists } from "./value_lists.ts";
import {
  CITATION_FORMATS,
  DEFAULT_EXPIRES,
  downloadFlags,
  EXPIRES_FORM,
  FILTER_FLAGS,
  messageOf,
  QUERY_FLAGS,
  RESOURCE_COMMANDS,
  SERVICE_FLAGS,
  VALUE_FIELDS,
} from "./flags.ts";

/**
 * Runs a command line.
 *
 * @param args Arguments after the name of the program
 * @returns The exit code: 0 success, 1 failure, 2 invalid command line, 130 interrupted
 */
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
    return printFailure(error, args, given?.flags, context);
  }
}

async function runCommand(given: Arguments, context: Context): Promise<number> {
  const { command, flags } = given;
  if (flags.has("version")) await context.print(`${VERSION}\n`);
  else if (command === undefined) await context.print(programHelp());
  else if (flags.has("help")) await context.print(await commandHelp(command));
  else return await COMMANDS[command]!.run(await readLists(given, context), context) ?? 0;
  return 0;
}

/** Prints an error and what to do about it. Returns the exit code. */
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
  if (error instanceof DataStreamError) {
    if (error.status === 401 || error.status === 403) {
      context.printError("Set DATASTREAM_API_KEY, or save the key with weir setup");
    }
    const hint = error.kind === "network" ? context.networkHint() : undefined;
    if (hint) context.printError(hint);
  }
  if (flags?.has("debug")) context.printError(error instanceof Error && error.stack || "No stack");
  else if (!isExpected(error)) {
    context.printError("This is a bug in weir. Pass --debug to print the stack, and report it");
  }
  return 1;
}

/** Whether an error has a cause outside the program, so that it is not a bug. */
function isExpected(error: unknown): boolean {
  if (error instanceof DataStreamError || error instanceof CommandError) return true;
  // Errors of the operating system have a code. The names are of Deno's missing permissions.
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  // Codes such as ERR_INVALID_ARG_TYPE are those of a wrong call in the program.
  const isSystemError = typeof code === "string" && !code.startsWith("ERR_");
  return isSystemError || name === "NotCapable" || name === "PermissionDenied";
}

/** A command: its syntax, its help, and the function that runs it. */
export interface Command extends Syntax {
  /** Description on one line of the help. */
  summary: string;
  /** Command lines in the help of the command. */
  examples: readonly string[];
  /** Returns the environment variables in the help, with their meaning. */
  variables?: () => Promise<[variable: string, help: string][]>;
  /** Runs the command with parsed arguments. Returns the exit code; 0 without a value. */
  run: (given: Arguments, context: Context) => Promise<number | void>;
}

const RESOURCE_OPERAND = {
  name: Object.keys(RESOURCE_COMMANDS).join("|"),
  help: "the resource",
};
/** Access modes of the server, whose modules only the command `serve` loads. */
const SERVER_ACCESS_MODES = ["caller", "signed", "token", "public"];
/** Flags of every command. */
const COMMON_FLAGS = {
  debug: { help: "print the stack of an error" },
  help: { letter: "h", isList: true, help: "print this help" },
  version: { letter: "V", isList: true, help: "print the version of weir" },
} as const satisfies Flags;

/** Returns the function of the command that downloads a resource. */
function downloadCommand(resource: ResourceName): Command["run"] {
  return async (given, context) => {
    const { download } = await import("./command_functions.ts");
    return await download(resource, given, context);
  };
}

/**
 * The commands by name, in the order of the help. The modules of a command are loaded when it runs, so that
 * the help and other commands start faster.
 */
export const COMMANDS: Readonly<Record<string, Command>> = {
  records: {
    summary: "download records, with all columns of dataset and location, meant for CSV",
    flags: { ...downloadFlags("Records"), ...COMMON_FLAGS },
    examples: [
      "weir records --characteristic pH --from 2015 --output ph.csv",
      "weir records --doi 10.25976/xxxx-xx00 --output records.csv --resume",
      "weir records --filter \"MonitoringLocationType eq 'Lake/Pond'\" --select Id,ResultValue | head",
    ],
    run: downloadCommand("Records"),
  },
  observations: {
    summary: "download observations, with the Id of the location",
    flags: { ...downloadFlags("Observations"), ...COMMON_FLAGS },
    examples: [
      "weir observations --region admin.4.ca.pe --count",
      "weir observations --bbox=-64.5,45.9,-62,47.1 --format ndjson --output box.ndjson",
    ],
    run: downloadCommand("Observations"),
  },
  locations: {
    summary: "download monitoring locations",
    flags: { ...downloadFlags("Locations"), ...COMMON_FLAGS },
    examples: [
      "weir locations --region hub.atlantic --output atlantic.geojson",
      "weir locations --doi 10.25976/xxxx-xx00 --select Id,Name,Latitude,Longitude",
    ],
    run: downloadCommand("Locations"),
  },
  metadata: {
    summary: "download datasets: name, citation, licence, extent",
    flags: { ...downloadFlags("Metadata"), ...COMMON_FLAGS },
    examples: ["weir metadata --select DOI,DatasetName", "weir metadata --characteristic Arsenic"],
    run: downloadCommand("Metadata"),
  },
  cite: {
    summary: "print the citations of the datasets that match a filter (required by the licences)",
    flags: {
      ...FILTER_FLAGS,
      format: {
        value: "FORMAT",
        choices: CITATION_FORMATS,
        help: `${CITATION_FORMATS.join(" or ")} (default: ${CITATION_FORMATS[0]})`,
      },
      ...SERVICE_FLAGS,
      ...COMMON_FLAGS,
    },
    examples: ["weir cite --characteristic pH --region hub.pacific", "weir cite --format json"],
    run: async (given, context) => (await import("./command_functions.ts")).cite(given, context),
  },
  values: {
    summary:
      "print the values of a field: the known ones, or with --live those of rows, with numbers",
    operand: { name: "FIELD", help: `one of ${Object.keys(VALUE_FIELDS).join(", ")}` },
    flags: {
      search: { value: "TEXT", help: "only values that contain a text, in any case" },
      live: { help: "values that occur in rows that match the filters; reads all of these rows" },
      yes: { help: "read more than 100,000 rows" },
      ...FILTER_FLAGS,
      ...SERVICE_FLAGS,
      ...COMMON_FLAGS,
    },
    examples: [
      "weir values characteristic --search phosph",
      "weir values unit --live --characteristic pH --region admin.4.ca.pe",
    ],
    run: async (given, context) =>
      (await import("./command_functions.ts")).printValues(given, context),
  },
  fields: {
    summary: "print the fields for --select and --filter",
    operand: RESOURCE_OPERAND,
    flags: COMMON_FLAGS,
    examples: ["weir fields records"],
    run: async (given, context) =>
      (await import("./command_functions.ts")).printFields(given, context),
  },
  url: {
    summary: "print the encoded URL of the first request, without sending it",
    operand: RESOURCE_OPERAND,
    flags: {
      ...QUERY_FLAGS,
      "base-url": SERVICE_FLAGS["base-url"],
      qa: SERVICE_FLAGS.qa,
      ...COMMON_FLAGS,
    },
    examples: ["weir url records --doi 10.25976/xxxx-xx00 --select Id,ResultValue"],
    run: async (given, context) =>
      (await import("./command_functions.ts")).printUrl(given, context),
  },
  sign: {
    summary: "print a signed download URL of the server; the secret is WEIR_SIGNING_SECRET",
    operand: { name: "URL", help: "the download URL, in single quotes" },
    flags: {
      expires: {
        value: "WHEN",
        help: `${EXPIRES_FORM} (default: ${DEFAULT_EXPIRES})`,
      },
      ...COMMON_FLAGS,
    },
    examples: [
      "weir sign 'https://weir.example/Records.csv?$filter=DOI eq '\\''10.25976/xxxx-xx00'\\''' --expires 30d",
    ],
    run: async (given, context) =>
      (await import("./command_functions.ts")).printSignedUrl(given, context),
  },
  serve: {
    summary: "start a server of download URLs, with a web page that makes them",
    flags: {
      host: {
        value: "ADDRESS",
        help: "address to listen on; 0.0.0.0 is all (default: HOST, else 127.0.0.1)",
      },
      port: {
        value: "PORT",
        help: "port to listen on; 0 is any free port (default: PORT, else 8000)",
      },
      access: {
        value: "MODE",
        choices: SERVER_ACCESS_MODES,
        help: `who may download: ${SERVER_ACCESS_MODES.join(", ")} (default: WEIR_ACCESS)`,
      },
      sandbox: SERVICE_FLAGS.sandbox,
      "env-file": {
        value: "FILE",
        help: "file with lines such as WEIR_TOKENS=…; the environment has priority",
      },
      ...COMMON_FLAGS,
    },
    examples: [
      "weir serve --sandbox",
      "weir serve --access public --port 8080",
      "weir serve --host 0.0.0.0 --env-file /etc/weir.env",
    ],
    variables: async () => (await import("./command_functions.ts")).serverVariables(),
    run: async (given, context) => (await import("./command_functions.ts")).serve(given, context),
  },
  completion: {
    summary: "print a script that completes commands, flags and values in a shell",
    operand: { name: "SHELL", help: "bash, zsh or fish" },
    flags: COMMON_FLAGS,
    examples: [
      "source <(weir completion bash)",
      "weir completion fish > ~/.config/fish/completions/weir.fish",
    ],
    run: async ({ operand }, context) => {
      const { completionScript } = await import("./command_functions.ts");
      await context.print(completionScript(operand!, COMMANDS));
    },
  },
  setup: {
    summary: "save an API key in a file that only you can read",
    flags: COMMON_FLAGS,
    examples: ["weir setup", "weir setup < key.txt"],
    run: async (_given, context) => (await import("./command_functions.ts")).setup(context),
  },
};

/** Returns the help of the program. */
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

Exit codes: 0 success, 1 failure, 2 invalid command line, 130 interrupted.
`;
}

/** Returns the help of a command. */
async function commandHelp(name: string): Promise<string> {
  const { summary, operand, flags, variables, examples } = COMMANDS[name]!;
  const environment = variables
    ? `Environment variables:\n${formatTable(await variables())}\n\n`
    : "";
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

/** Maximum length of a line of the help. */
const MAX_WIDTH = 118;

/** Formats two aligned columns. */
function formatTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 3;
  const indent = " ".repeat(width + 2);
  const pattern = new RegExp(`(.{1,${MAX_WIDTH - indent.length}})(?:(?<!default:) |$)`, "g");
  return rows.map(([first, second]) => {
    const lines = [...second.matchAll(pattern)].map(([, line]) => line);
    return `  ${first.padEnd(width)}${lines.join(`\n${indent}`)}`;
  }).join("\n");
}
