import { typeFlag } from "type-flag";
import { type CommandName, COMMANDS, type CommandText, flagsOf } from "./commands.ts";
import type { Flags } from "./flags.ts";
import { commandHint, flagHint } from "./near_misses.ts";
import { UsageError } from "./usage_error.ts";

/** What a command line asks for. */
export interface Arguments {
  /** The command; undefined where help or the version is asked of the program itself. */
  command: CommandName | undefined;
  operand: string | undefined;
  /** The values of flags by name; of one that has none, an empty text. */
  flags: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads a command line.
 *
 * @throws {UsageError} If there is no such command or flag, or a value is missing, or one too many
 */
export function readArguments(args: readonly string[]): Arguments {
  const [first, ...rest] = args;
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
  if (flags.has("help")) return { command, operand: undefined, flags };
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

function parse(
  args: readonly string[],
  known: Flags,
  command: CommandName,
): { flags: Map<string, string[]>; operands: readonly string[] } {
  const schema = Object.fromEntries(
    Object.entries(known).map(([name, { value }]) =>
      [name, value === undefined ? [Boolean] as const : [String] as const] as const
    ),
  );
  const spelled = spellOut(args, known);
  const valued = spelled.map((arg) => /^--([\w-]+)[=:.]/.exec(arg)?.[1] ?? "")
    .find((name) => Object.hasOwn(known, name) && known[name]!.value === undefined);
  if (valued !== undefined) {
    throw new UsageError(`--${valued} takes no value: give it, or leave it out`);
  }
  const { flags: given, unknownFlags, _: operands } = typeFlag(
    schema,
    joinNegative(spelled, known),
  );
  const [unknown] = Object.keys(unknownFlags);
  if (unknown !== undefined) {
    const flag = `${unknown.length === 1 ? "-" : "--"}${unknown}`;
    const hint = flagHint(command, unknown);
    throw new UsageError(`There is no flag "${flag}"${hint === undefined ? "" : `: ${hint}`}`);
  }
  const flags = new Map<string, string[]>();
  for (const [name, { value, isList }] of Object.entries(known)) {
    const values = (given[name] ?? []) as (string | boolean)[];
    if (values.length === 0 || values[0] === false) continue;
    if (values.length > 1 && !isList) {
      throw new UsageError(`--${name} is given twice: wanted it once`);
    }
    const texts = values.map((text) => text === true ? "" : String(text));
    if (value !== undefined && texts.some((text) => text.trim() === "")) {
      throw new UsageError(`--${name} wants a value: --${name} ${value}`);
    }
    flags.set(name, texts);
  }
  return { flags, operands };
}

/** One letter stands for a name. */
function spellOut(args: readonly string[], known: Flags): string[] {
  return args.map((arg) => {
    const found = Object.entries(known).find(([, { letter }]) => letter && arg === `-${letter}`);
    return found === undefined ? arg : `--${found[0]}`;
  });
}

/** A value that begins with a minus sign, a longitude, say, would be taken for flags. */
function joinNegative(args: readonly string[], known: Flags): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1) ?? "";
    const isFlag = before.startsWith("--") && known[before.slice(2)]?.value !== undefined;
    if (isFlag && /^-([\d.]|$)/.test(arg)) joined[joined.length - 1] = `${before}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}
