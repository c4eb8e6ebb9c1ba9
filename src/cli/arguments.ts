import { nearNames, suggestBySpelling, suggestNames } from "../validation.ts";
import { UsageError } from "./context.ts";

export interface Flag {
  /** Placeholder in the help; `undefined` for a flag without a value. */
  value?: string | undefined;
  choices?: readonly string[] | undefined;
  /** Can be given several times. */
  isList?: boolean;
  /** One-letter form. */
  letter?: string | undefined;
  help: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** End of the help of a flag that can be given several times. */
export const LIST_HELP = "; can be repeated, or @FILE";

/** Reads flags as the help writes them: `-n, --limit N`, or `--doi DOI...` for several. */
export function flagTable(
  table: Readonly<Record<string, string>>,
  choices: Readonly<Record<string, readonly string[]>> = {},
): Flags {
  const flags = Object.entries(table).map(([usage, help]): [string, Flag] => {
    const [, letter, name, value, dots] = /^(?:-(.), )?--(\S+)(?: (.+?)(\.{3})?)?$/.exec(usage)!;
    const isList = dots !== undefined;
    const text = isList ? help + LIST_HELP : help;
    return [name!, { letter, value, isList, help: text, choices: choices[name!] }];
  });
  return Object.fromEntries(flags);
}

export interface Syntax {
  /** The argument that is not a flag, if any. `noun` is for the message of a value that is not a choice. */
  operand?: { name: string; help: string; noun?: string; choices?: readonly string[] };
  flags: Flags;
}

/** A parsed command line. */
export interface Arguments {
  command: string | undefined;
  operand: string | undefined;
  /** By name; one empty string each time for a flag without a value. */
  flags: ReadonlyMap<string, readonly string[]>;
}

/** @throws {UsageError} If the command or a flag is unknown, or a value is missing or unexpected */
export function parseArguments(
  args: readonly string[],
  commands: Readonly<Record<string, Syntax>>,
): Arguments {
  // `weir help records` is `weir records --help`.
  const [command, ...others] = args[0] === "help" && args.length > 1
    ? [args[1], "--help", ...args.slice(2)]
    : args;
  if (command === undefined || /^(--help|-h|help|--version|-V)$/.test(command)) {
    // It is not shown, because it may be a secret.
    if (others.some((other) => other !== "--help")) {
      throw new UsageError(`Unexpected argument after ${command}: see weir help COMMAND`);
    }
    const flag = command === "-V" || command === "--version" ? "version" : "help";
    return { command: undefined, operand: undefined, flags: new Map([[flag, [""]]]) };
  }
  if (!Object.hasOwn(commands, command)) throw unknownCommand(command, Object.keys(commands));
  const { operand, flags: known } = commands[command]!;
  const { flags, operands } = parseFlags(
    others,
    known,
    (flag) => unknownFlag(flag, command, commands),
  );
  if (flags.has("help") || flags.has("version")) return { command, operand: undefined, flags };
  const [text, second] = operands;
  const unexpected = operand === undefined ? text : second;
  if (unexpected !== undefined) {
    const accepted = operand === undefined ? "only flags" : `one ${operand.name} (${operand.help})`;
    throw new UsageError(
      `Unexpected "${unexpected}": weir ${command} takes ${accepted}; quote a value with spaces`,
    );
  }
  if (operand === undefined) return { command, operand: undefined, flags };
  const { name, help, noun, choices } = operand;
  if (text === undefined) throw new UsageError(`weir ${command} needs ${name} (${help})`);
  if (choices?.includes(text) ?? true) return { command, operand: text, flags };
  throw new UsageError(`Unknown ${noun} "${text}": ${commandHint(text, choices!)}`);
}

function unknownCommand(first: string, known: readonly string[]): UsageError {
  // The flag is not shown, because its value may be a secret.
  return new UsageError(
    /^-./.test(first)
      ? "Put the command before the flags: weir COMMAND [flags]"
      : `Unknown command "${first}": ${commandHint(first, known)}`,
  );
}

/** `parseArgs` of `node:util` is quadratic for long groups (`-qqqq`) and many arguments. */
function parseFlags(
  args: readonly string[],
  known: Flags,
  unknownFlag: (flag: string) => UsageError,
): { flags: Map<string, string[]>; operands: readonly string[] } {
  const flags = new Map<string, string[]>();
  const operands: string[] = [];
  const remaining = args.values();
  for (const arg of remaining) {
    // Not push(...remaining): a call takes a limited number of arguments.
    if (arg === "--") { for (const text of remaining) operands.push(text); }
    else if (arg === "help" && operands.length === 0) flags.set("help", [""]);
    else if (!arg.startsWith("-") || arg === "-") operands.push(arg);
    else {
      for (const [name, attached] of parseGroup(arg, known, unknownFlag)) {
        const flag = known[name]!;
        const text = flag.value === undefined ? attached ?? "" : attached ?? nextValue(remaining);
        const texts = flags.get(name);
        if (texts && !flag.isList && flag.value !== undefined) {
          throw new UsageError(`--${name} is given twice: pass it once`);
        }
        checkValue(name, flag, text, attached !== undefined);
        if (texts) texts.push(text);
        else flags.set(name, [text]);
      }
    }
  }
  return { flags, operands };
}

/** @throws {UsageError} If a value is missing, or not one of the choices */
export function checkValue(
  name: string,
  { value, choices }: Flag,
  text: string,
  isAttached: boolean,
): void {
  if (value === undefined) {
    if (isAttached) throw new UsageError(`--${name} takes no value, got "${text}"`);
  } else if (text.trim() === "") {
    throw new UsageError(`--${name} needs a value: --${name} ${value}`);
  } else if (choices?.includes(text) === false) {
    const hint = suggestBySpelling(text, choices, "");
    const problem = `must be one of ${choices.join(", ")}, got "${text}"`;
    throw new UsageError(`--${name} ${problem}${hint && `: ${hint}`}`);
  }
}

/** `--limit=5` is one flag; `-qn5` is `--quiet` and `--limit 5`. */
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

/** Empty at the end of the line or before a flag. */
function nextValue(remaining: Iterator<string, undefined>): string {
  const { value = "" } = remaining.next();
  // `-`, and what begins with a negative number, are values.
  return /^-[^\d.]/.test(value) ? "" : value;
}

/** Words of other programs, by the flag or the command. */
const WORDS: Readonly<Record<string, string>> = {
  "base-url": "domain host url",
  bbox: "box bounding-box within",
  characteristic: "parameter analyte",
  cite: "citations citation",
  doi: "dataset",
  fields: "columns schema",
  filter: "where",
  format: "csv json jsonl ndjson geojson parquet bibtex ris",
  force: "overwrite",
  from: "since start year",
  limit: "max rows",
  location: "site station",
  locations: "sites stations",
  metadata: "datasets",
  observations: "measurements results",
  output: "file",
  qa: "test",
  quiet: "silent",
  records: "download get",
  region: "province",
  sandbox: "demo",
  select: "columns fields",
  separator: "delimiter",
  setup: "key login",
  to: "end until",
  top: "page-size",
};

/** Only names that are known here: weir url takes a resource, not setup. */
function replaceWord(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  return known.find((name) => WORDS[name]?.split(" ").includes(wanted));
}

/** `flag` has its hyphens. */
function unknownFlag(
  flag: string,
  command: string,
  commands: Readonly<Record<string, Syntax>>,
): UsageError {
  const name = flag.replace(/^-+/, "");
  const known = Object.keys(commands[command]!.flags);
  const synonym = replaceWord(name, known);
  const owners = Object.keys(commands)
    .filter((other) => Object.hasOwn(commands[other]!.flags, name));
  if (flag === `--${name}` && owners.length > 0 && synonym === undefined) {
    return new UsageError(`${flag} is not for ${command}: use it with ${owners.join(", ")}`);
  }
  // No flag takes the API key: other users of the machine can see command lines.
  const hint = /(^|[-_])(api)?key$/i.test(name)
    ? "set DATASTREAM_API_KEY, or save the key with weir setup"
    : synonym !== undefined
    ? `use --${synonym}`
    : suggestNames(nearNames(name, known).map((near) => `--${near}`));
  return new UsageError(`Unknown flag "${flag}"${hint ? `: ${hint}` : ""}`);
}

function commandHint(name: string, known: readonly string[]): string {
  const synonym = replaceWord(name, known);
  return synonym === undefined ? suggestBySpelling(name, known) : `use ${synonym}`;
}

/** Values of one flag in a suggested command. A list from a file can have thousands. */
const MAX_FORMATTED = 20;

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

/** Begins with a space. `value` is empty for a flag without one. */
export function formatFlag(name: string, value: string): string {
  if (value === "") return ` --${name}`;
  // After a space, a value such as -Id would be read as flags.
  return value.startsWith("-")
    ? ` ${quoteForShell(`--${name}=${value}`)}`
    : ` --${name} ${quoteForShell(value)}`;
}

function quoteForShell(text: string): string {
  return /^[\w%+=:,./@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
