import { FORMAT_NAMES, FORMATS } from "../formats/formats.ts";
import { nearNames, suggestBySpelling, suggestNames } from "../validation.ts";
import { UsageError } from "./context.ts";

/** A flag of a command. */
export interface Flag {
  /** Placeholder for its value in the help; `undefined` for a flag without a value. */
  value?: string;
  /** Valid values, for hints. Default: not known. */
  choices?: readonly string[];
  /** Whether it can be given several times. */
  isList?: boolean;
  /** One-letter form. */
  letter?: string;
  /** Description in the help. */
  help: string;
}

/** Flags by name, without the hyphens. */
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
  /** The argument that is not a flag; `undefined` if the command has none. */
  operand: string | undefined;
  /** Values of the given flags by name; one empty string each time for a flag without a value. */
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
    return { command: undefined, operand: undefined, flags: new Map([[flag, [""]]]) };
  }
  if (!Object.hasOwn(commands, command)) {
    throw unknownCommand(command, others, Object.keys(commands));
  }
  const { operand, flags: known } = commands[command]!;
  const { flags, operands } = parseFlags(
    others,
    known,
    (flag) => unknownFlag(flag, command, commands),
  );
  if (flags.has("help") || flags.has("version")) return { command, operand: undefined, flags };
  const maxOperands = operand === undefined ? 0 : 1;
  const unexpected = operands[maxOperands];
  if (unexpected !== undefined) {
    const accepted = operand === undefined ? "only flags" : `one ${operand.name} (${operand.help})`;
    const hint = unexpected.splitValue === undefined
      ? `weir ${command} takes ${accepted}`
      : `quote "${unexpected.splitValue.join(" ")}"`;
    throw new UsageError(`Unexpected "${unexpected.text}": ${hint}`);
  }
  if (operands.length < maxOperands) {
    throw new UsageError(`weir ${command} needs ${operand!.name} (${operand!.help})`);
  }
  return { command, operand: operands[0]?.text, flags };
}

/** Creates the error for a first argument that is not a command. */
function unknownCommand(
  first: string,
  others: readonly string[],
  known: readonly string[],
): UsageError {
  if (!/^-./.test(first)) {
    return new UsageError(`Unknown command "${first}": ${commandHint(first, known)}`);
  }
  // Only the name of the flag, because its value may be a secret.
  const [flag = "[flags]"] = /^--[\w-]+/.exec(first) ?? [];
  const command = others.find((arg) => known.includes(arg)) ?? "COMMAND";
  return new UsageError(`Put the command before the flags: weir ${command} ${flag}`);
}

/** An argument that is not a flag. */
interface Operand {
  text: string;
  /** Words of an unquoted value, including this one; `undefined` if the value is one word. */
  splitValue: readonly string[] | undefined;
}

/**
 * Separates the flags from the operands; `help` as the first operand is `--help`.
 *
 * `parseArgs` of `node:util` is not used: it is quadratic for long groups such as `-qqqq` and for over
 * 16,000 arguments, and with our messages it would not save code.
 */
function parseFlags(
  args: readonly string[],
  known: Flags,
  unknownFlag: (flag: string) => UsageError,
): { flags: Map<string, string[]>; operands: readonly Operand[] } {
  const flags = new Map<string, string[]>();
  const operands: Operand[] = [];
  const remaining = args.values();
  /** Value of the previous flag, and the operands directly after it. */
  let valueWords: string[] | undefined;
  for (const arg of remaining) {
    if (arg === "--") {
      for (const text of remaining) operands.push({ text, splitValue: undefined });
    } else if (arg === "help" && operands.length === 0) flags.set("help", [""]);
    else if (!arg.startsWith("-") || arg === "-") {
      valueWords?.push(arg);
      operands.push({ text: arg, splitValue: valueWords });
    } else {
      for (const [name, attached] of parseGroup(arg, known, unknownFlag)) {
        const { value, isList } = known[name]!;
        if (value === undefined && attached !== undefined) {
          throw new UsageError(`--${name} takes no value, got "${attached}"`);
        }
        const text = value === undefined ? "" : attached ?? nextValue(remaining);
        if (value !== undefined && text.trim() === "") {
          throw new UsageError(`--${name} needs a value: --${name} ${value}`);
        }
        valueWords = value === undefined ? undefined : [text];
        const texts = flags.get(name);
        if (texts && !isList && value !== undefined) {
          throw new UsageError(`--${name} is given twice: pass it once`);
        }
        if (texts) texts.push(text);
        else flags.set(name, [text]);
      }
    }
  }
  return { flags, operands };
}

/**
 * Parses one argument with flags: `--limit=5` is one flag, and `-qn5` is `--quiet` and `--limit 5`.
 *
 * @returns Each flag, and its value if the argument contains it
 */
function* parseGroup(
  arg: string,
  known: Flags,
  unknownFlag: (flag: string) => UsageError,
): Generator<[name: string, value?: string]> {
  const [, name, , value] = /^--([^=]*)(=(.*))?$/s.exec(arg) ?? [];
  if (name !== undefined) {
    if (!Object.hasOwn(known, name)) throw unknownFlag(`--${name}`);
    return yield [name, value];
  }
  // `-limit` is `--limit` with a hyphen missing, not `-l` or a group that begins with `-l`.
  const [word = ""] = arg.slice(1).split("=");
  if (word.length > 1 && Object.hasOwn(known, word)) throw unknownFlag(`-${word}`);
  for (let at = 1; at < arg.length; at++) {
    // Not arg[at], which is half of a character such as an emoji. The message shows the character.
    const [letter] = arg.slice(at);
    const name = Object.keys(known).find((name) => known[name]!.letter === letter);
    if (name === undefined) throw unknownFlag(`-${letter}`);
    if (known[name]!.value === undefined) yield [name];
    else return yield [name, arg.slice(at + 1).replace(/^=/, "") || undefined];
  }
}

/** Returns the next argument as a value; empty at the end of the line or before a flag. */
function nextValue(remaining: Iterator<string, undefined>): string {
  const { value = "" } = remaining.next();
  // `-`, and what begins with a negative number, are values.
  return /^-[^\d.]/.test(value) ? "" : value;
}

/** Flags, with a value if one is needed, by the name that other programs use. */
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
  ...FORMAT_NAMES.flatMap((format) =>
    [format, ...FORMATS[format].aliases ?? []].map((name) => [name, `format ${format}`] as const)
  ),
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
  ["site", "location"],
  ["station", "location"],
  ["continue", "resume"],
  ["demo", "sandbox"],
  ["columns", "select"],
  ["fields", "select"],
  ["end", "to"],
  ["until", "to"],
  ["page-size", "top"],
]);

/** Commands by the name that other programs use. */
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
 * Creates the error for a flag that a command does not have.
 *
 * @param flag The flag with its hyphens, without a value
 */
function unknownFlag(
  flag: string,
  command: string,
  commands: Readonly<Record<string, Syntax>>,
): UsageError {
  const name = flag.replace(/^-+/, "");
  const { flags } = commands[command]!;
  const owners = Object.keys(commands).filter((other) =>
    Object.hasOwn(commands[other]!.flags, name)
  );
  const hasSynonym = Object.hasOwn(flags, FLAG_SYNONYMS.get(name) ?? "");
  if (flag === `--${name}` && owners.length > 0 && !hasSynonym) {
    const last = owners.pop();
    const choices = owners.length === 0 ? last : `${owners.join(", ")} or ${last}`;
    return new UsageError(`${flag} is not for ${command}: use it with ${choices}`);
  }
  const hint = flagHint(name, flags);
  return new UsageError(`Unknown flag "${flag}"${hint && `: ${hint}`}`);
}

/**
 * Returns what to use instead of an unknown flag; empty if nothing is similar.
 *
 * @param name Name of the flag without its hyphens
 * @param known Flags of the command
 */
function flagHint(name: string, known: Flags): string {
  // No flag takes the API key: other users of the machine can see command lines.
  if (/(^|[-_])(api)?key$/i.test(name)) {
    return "set DATASTREAM_API_KEY, or save the key with weir setup";
  }
  // A synonym can contain a value, such as "format csv". It is suggested if this command has the flag.
  const synonym = FLAG_SYNONYMS.get(name.toLowerCase()) ?? "";
  const [synonymName = "", value] = synonym.split(" ");
  if (Object.hasOwn(known, synonymName)) {
    const { choices } = known[synonymName]!;
    const isValid = value === undefined || choices === undefined || choices.includes(value);
    return isValid ? `use --${synonym}` : `use --${synonymName} with one of ${choices.join(", ")}`;
  }
  return suggestNames(nearNames(name, Object.keys(known)).map((flag) => `--${flag}`)) ?? "";
}

/**
 * Returns what to use instead of an unknown command or resource.
 *
 * @param known Names of the commands to choose from
 */
export function commandHint(name: string, known: readonly string[]): string {
  // A synonym is suggested only if it is among the choices: weir url takes a resource, not setup.
  const synonym = COMMAND_SYNONYMS.get(name.toLowerCase()) ?? "";
  return known.includes(synonym) ? `use ${synonym}` : suggestBySpelling(name, known);
}

/** Maximum number of values of one flag in a suggested command. A list from a file can have thousands. */
const MAX_FORMATTED = 20;

/**
 * Formats flags for a shell, to be part of a suggested command.
 *
 * @param names Names of the flags to include if they are given
 */
export function formatFlags(flags: Arguments["flags"], names: readonly string[]): string {
  return [...flags]
    .filter(([name]) => names.includes(name))
    .flatMap(([name, values]) =>
      values.length > MAX_FORMATTED
        ? formatFlag(name, "@FILE")
        : values.map((value) => formatFlag(name, value))
    )
    .join("");
}

/**
 * Formats a flag for a shell, after a space.
 *
 * @param value Value of the flag; empty for a flag without a value
 */
export function formatFlag(name: string, value: string): string {
  if (value === "") return ` --${name}`;
  // After a space, a value such as -Id would be read as flags.
  return value.startsWith("-")
    ? ` ${quoteForShell(`--${name}=${value}`)}`
    : ` --${name} ${quoteForShell(value)}`;
}

/** Puts a text in single quotes if it has characters that a shell interprets. */
function quoteForShell(text: string): string {
  return /^[\w%+=:,./@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
