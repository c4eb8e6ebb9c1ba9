import { didYouMean } from "../validation.ts";
import { UsageError } from "./context.ts";

/** A flag of a command. */
export interface Flag {
  /** Placeholder of its value in the help; `undefined` for a flag without a value. */
  value?: string;
  /** Whether it can be given several times. */
  isList?: boolean;
  /** Its one-letter form. */
  letter?: string;
  /** Description for the help. */
  help: string;
}

/** Flags by their names, without the hyphens. */
export type Flags = Readonly<Record<string, Flag>>;

/** The syntax of a command. */
export interface Syntax {
  /** The argument that is not a flag; `undefined` if the command has none. */
  operand?: { name: string; help: string };
  flags: Flags;
}

/** A parsed command line. */
export interface Arguments {
  /** Name of the command; `undefined` for the help or the version of the program. */
  command: string | undefined;
  operand: string | undefined;
  /** Values of the flags by name; an empty string for a flag without a value. */
  flags: ReadonlyMap<string, readonly string[]>;
}

/**
 * Parses a command line.
 *
 * @param args Arguments after the name of the program
 * @param commands Syntax of each command by name
 * @throws {UsageError} If the command or a flag is unknown, or a value is missing or unexpected
 */
export function parseArguments(
  args: readonly string[],
  commands: Readonly<Record<string, Syntax>>,
): Arguments {
  // `weir help records` is `weir records --help`.
  const [command, ...others] = args[0] === "help" && args.length > 1
    ? [args[1], "--help", ...args.slice(2)]
    : args;
  if (command === undefined || /^(--help|-h|help|--version|-V)$/.test(command)) {
    if (others.length > 0) {
      throw new UsageError(`Unexpected argument "${others[0]}" after ${command}`);
    }
    const flag = command === "-V" || command === "--version" ? "version" : "help";
    return { command: undefined, operand: undefined, flags: new Map([[flag, []]]) };
  }
  if (!Object.hasOwn(commands, command)) {
    const hint = command.startsWith("-")
      ? "the command comes first"
      : commandHint(command, Object.keys(commands));
    throw new UsageError(`Unknown command "${command}": ${hint}`);
  }
  const { operand, flags: known } = commands[command]!;
  const { flags, operands } = parseFlags(others, known, (flag) => {
    const hint = flagHint(flag.replace(/^-+/, ""), command, commands);
    return new UsageError(`Unknown flag "${flag}"${hint && `: ${hint}`}`);
  });
  if (flags.has("help") || flags.has("version")) return { command, operand: undefined, flags };
  const most = operand === undefined ? 0 : 1;
  if (operands.length > most) {
    const accepted = operand === undefined ? "only flags" : `one ${operand.name}`;
    throw new UsageError(
      `weir ${command} takes ${accepted}, got "${operands[most]}": quote a value that has spaces`,
    );
  }
  if (operands.length < most) {
    throw new UsageError(`weir ${command} needs ${operand!.name}, ${operand!.help}`);
  }
  return { command, operand: operands[0], flags };
}

/**
 * Separates the flags from the operands; `help` as the first operand is `--help`.
 *
 * Not `parseArgs` of `node:util`, which takes quadratic time for long clusters and for more than
 * about 16,000 arguments, and is no shorter with the messages below.
 */
function parseFlags(
  args: readonly string[],
  known: Flags,
  unknownFlag: (flag: string) => UsageError,
): { flags: Map<string, string[]>; operands: readonly string[] } {
  const flags = new Map<string, string[]>();
  const operands: string[] = [];
  const remaining = args.values();
  for (const arg of remaining) {
    if (arg === "--") { for (const operand of remaining) operands.push(operand); }
    else if (arg === "help" && operands.length === 0) flags.set("help", []);
    else if (!arg.startsWith("-") || arg === "-") operands.push(arg);
    else {
      for (const [name, attached] of flagsIn(arg, known, unknownFlag)) {
        const { value, isList } = known[name]!;
        if (value === undefined && attached !== undefined) {
          throw new UsageError(`--${name} takes no value, got "${attached}"`);
        }
        const text = value === undefined ? "" : attached ?? nextValue(remaining);
        if (value !== undefined && text.trim() === "") {
          throw new UsageError(`--${name} needs a value: --${name} ${value}`);
        }
        const texts = flags.get(name);
        if (texts && !isList) throw new UsageError(`--${name} is given twice: pass it once`);
        if (texts) texts.push(text);
        else flags.set(name, [text]);
      }
    }
  }
  return { flags, operands };
}

/** Parses one argument such as `--limit=5` or `-qn5`: its flags, and the value attached to the last. */
function* flagsIn(
  arg: string,
  known: Flags,
  unknownFlag: (flag: string) => UsageError,
): Generator<[name: string, value?: string]> {
  const [, name, , value] = /^--([^=]*)(=(.*))?$/s.exec(arg) ?? [];
  if (name !== undefined) {
    if (!Object.hasOwn(known, name)) throw unknownFlag(`--${name}`);
    return yield [name, value];
  }
  for (let at = 1; at < arg.length; at++) {
    const [letter] = arg.slice(at);
    const name = Object.keys(known).find((name) => known[name]!.letter === letter);
    if (name === undefined) throw unknownFlag(`-${letter}`);
    if (known[name]!.value === undefined) yield [name];
    else return yield [name, arg.slice(at + 1).replace(/^=/, "") || undefined];
  }
}

/** Returns the next argument as a value; empty if there is none, or if it is another flag. */
function nextValue(remaining: Iterator<string, undefined>): string {
  const { value = "" } = remaining.next();
  // A negative number and `-` are values.
  return /^-[^\d.]/.test(value) ? "" : value;
}

/** Names that other programs use for a flag, and the flag to use here. */
const FLAG_SYNONYMS = new Map([
  ["box", "bbox"],
  ["bounding-box", "bbox"],
  ["within", "bbox"],
  ["parameter", "characteristic"],
  ["analyte", "characteristic"],
  ["citations", "cite"],
  ["dataset", "doi"],
  ["where", "filter"],
  ["overwrite", "force"],
  ["csv", "format csv"],
  ["geojson", "format geojson"],
  ["json", "format json"],
  ["jsonl", "format ndjson"],
  ["ndjson", "format ndjson"],
  ["since", "from"],
  ["start", "from"],
  ["year", "from"],
  ["max", "limit"],
  ["rows", "limit"],
  ["delimiter", "separator"],
  ["file", "output"],
  ["domain", "base-url"],
  ["host", "base-url"],
  ["url", "base-url"],
  ["test", "qa"],
  ["silent", "quiet"],
  ["province", "region"],
  ["continue", "resume"],
  ["demo", "sandbox"],
  ["columns", "select"],
  ["fields", "select"],
  ["end", "to"],
  ["until", "to"],
  ["page-size", "top"],
]);

/** Other words for a command or a resource. */
const COMMAND_SYNONYMS = new Map([
  ["citations", "cite"],
  ["citation", "cite"],
  ["columns", "fields"],
  ["schema", "fields"],
  ["sites", "locations"],
  ["stations", "locations"],
  ["datasets", "metadata"],
  ["measurements", "observations"],
  ["results", "observations"],
  ["download", "records"],
  ["get", "records"],
  ["key", "setup"],
  ["login", "setup"],
]);

/**
 * Returns what to do about an unknown flag of a command; empty if no flag is similar.
 *
 * @param name Name of the flag without its hyphens
 */
function flagHint(
  name: string,
  command: string,
  commands: Readonly<Record<string, Syntax>>,
): string {
  const known = Object.keys(commands[command]!.flags);
  if (/key/i.test(name)) return "set DATASTREAM_API_KEY, or save the key with weir setup";
  const synonym = FLAG_SYNONYMS.get(name.toLowerCase()) ?? "";
  if (known.includes(synonym.split(" ")[0]!)) return `use --${synonym}`;
  const near = didYouMean(name, known, "").replace(/"([^"]+)"/g, '"--$1"');
  if (near !== "") return near;
  const owners = Object.keys(commands).filter((other) =>
    Object.hasOwn(commands[other]!.flags, name)
  );
  return owners.length === 0 ? "" : `use it with weir ${owners.join(" or weir ")}`;
}

/**
 * Returns what to do about an unknown command or resource.
 *
 * @param known Names of the commands to choose from
 */
export function commandHint(name: string, known: readonly string[]): string {
  const synonym = COMMAND_SYNONYMS.get(name.toLowerCase()) ?? "";
  return known.includes(synonym) ? `use ${synonym}` : didYouMean(name, known);
}

/**
 * Formats flags for a shell, to be part of a suggested command.
 *
 * @param names Names of the flags to include if they are given
 */
export function formatFlags(flags: Arguments["flags"], names: readonly string[]): string {
  return [...flags]
    .filter(([name]) => names.includes(name))
    .flatMap(([name, values]) => values.map((value) => formatFlag(name, value)))
    .join("");
}

/** Formats a flag for a shell, after a space. The value of a flag without one is empty. */
export function formatFlag(name: string, value: string): string {
  if (value === "") return ` --${name}`;
  // Otherwise a value such as -64,46,-62,47 would be parsed as flags.
  return value.startsWith("-") ? ` ${quote(`--${name}=${value}`)}` : ` --${name} ${quote(value)}`;
}

/** Puts a text in single quotes if it has characters that a shell interprets. */
function quote(text: string): string {
  return /^[\w%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
