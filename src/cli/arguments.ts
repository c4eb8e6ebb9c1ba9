import { type CommandName, COMMANDS, type CommandText, type Flags, flagsOf } from "./commands.ts";
import { commandHint, flagHint } from "./hints.ts";
import { UsageError } from "./usage_error.ts";

/** What a command line asks for. */
export interface Arguments {
  /** The command; undefined for the help or version of the program itself. */
  command: CommandName | undefined;
  operand: string | undefined;
  /** The values of the flags by name; an empty string for a flag without a value. */
  flags: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads a command line.
 *
 * @throws {UsageError} If there is no such command or flag, or a value is missing, or one too many
 */
export function readArguments(args: readonly string[]): Arguments {
  // `weir help records` is `weir records --help`.
  const [first, ...rest] = args[0] === "help" && args.length > 1
    ? [args[1], "--help", ...args.slice(2)]
    : args;
  if (first === undefined || /^(--help|-h|help|--version|-V)$/.test(first)) {
    if (rest.length > 0) throw new UsageError(`Wanted nothing after ${first}, got "${rest[0]}"`);
    const asked = first === "-V" || first === "--version" ? "version" : "help";
    return { command: undefined, operand: undefined, flags: new Map([[asked, []]]) };
  }
  const names = Object.keys(COMMANDS);
  const command = names.find((name) => name === first) as CommandName | undefined;
  if (command === undefined) {
    const hint = first.startsWith("-") ? "a command comes first" : commandHint(first, names);
    throw new UsageError(`There is no command "${first}": ${hint}`);
  }
  const known = flagsOf(command);
  const { flags, operands } = parse(rest, known, command);
  const { operand }: CommandText = COMMANDS[command];
  if (flags.has("help") || flags.has("version")) return { command, operand: undefined, flags };
  const most = operand === undefined ? 0 : 1;
  if (operands.length > most) {
    const extra = operands[most]!;
    const taken = operand === undefined ? "flags alone" : `one ${operand.name}`;
    throw new UsageError(
      `weir ${command} takes ${taken}, got "${extra}": put a value that has spaces in quotes`,
    );
  }
  if (operands.length < most) {
    throw new UsageError(`weir ${command} wants ${operand!.name}, ${operand!.help}`);
  }
  return { command, operand: operands[0], flags };
}

/**
 * Separates the flags from the operands; `help` as the first operand is `--help`.
 *
 * Not `parseArgs` of `node:util`, which takes quadratic time for long clusters and for more than
 * about 16,000 arguments, and is no shorter with the messages below.
 */
function parse(
  args: readonly string[],
  known: Flags,
  command: CommandName,
): { flags: Map<string, string[]>; operands: readonly string[] } {
  const flags = new Map<string, string[]>();
  const operands: string[] = [];
  const left = args.values();
  for (const arg of left) {
    if (arg === "--") { for (const operand of left) operands.push(operand); }
    else if (arg === "help" && operands.length === 0) flags.set("help", []);
    else if (!arg.startsWith("-") || arg === "-") operands.push(arg);
    else {
      for (const [name, given] of flagsIn(arg, known, command)) {
        const { value, isList } = known[name]!;
        if (value === undefined && given !== undefined) {
          throw new UsageError(`--${name} takes no value: give it, or leave it out`);
        }
        const text = value === undefined ? "" : given ?? nextValue(left);
        if (value !== undefined && text.trim() === "") {
          throw new UsageError(`--${name} wants a value: --${name} ${value}`);
        }
        const texts = flags.get(name);
        if (texts && !isList) throw new UsageError(`--${name} is given twice: wanted it once`);
        if (texts) texts.push(text);
        else flags.set(name, [text]);
      }
    }
  }
  return { flags, operands };
}

/** Reads one argument, such as `--limit=5` or `-qn5`: its flags, and the value attached to the last. */
function* flagsIn(
  arg: string,
  known: Flags,
  command: CommandName,
): Generator<[name: string, value?: string]> {
  const [, name, , value] = /^--([^=]*)(=(.*))?$/s.exec(arg) ?? [];
  if (name !== undefined) {
    if (!Object.hasOwn(known, name)) throw unknownFlag(command, `--${name}`);
    return yield [name, value];
  }
  for (let at = 1; at < arg.length; at++) {
    const [letter] = arg.slice(at);
    const name = Object.keys(known).find((name) => known[name]!.letter === letter);
    if (name === undefined) throw unknownFlag(command, `-${letter}`);
    if (known[name]!.value === undefined) yield [name];
    else return yield [name, arg.slice(at + 1).replace(/^=/, "") || undefined];
  }
}

/** The next argument as a value; empty if there is none, or if it is a flag and not a negative number or `-`. */
function nextValue(left: Iterator<string, undefined>): string {
  const { value = "" } = left.next();
  return /^-[^\d.]/.test(value) ? "" : value;
}

function unknownFlag(command: CommandName, flag: string): UsageError {
  const hint = flagHint(command, flag.replace(/^-+/, ""));
  return new UsageError(`There is no flag "${flag}"${hint === undefined ? "" : `: ${hint}`}`);
}
