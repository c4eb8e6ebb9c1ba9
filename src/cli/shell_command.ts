import type { Arguments } from "./arguments.ts";

/**
 * Returns flags of this command line as they are typed in a shell, to be part of another command.
 *
 * @param names The flags to take, if they are given
 */
export function flagsText(flags: Arguments["flags"], names: readonly string[]): string {
  return [...flags]
    .filter(([name]) => names.includes(name))
    .flatMap(([name, values]) => values.map((value) => flagText(name, value)))
    .join("");
}

/** Returns a space and a flag; one without a value has an empty text. */
export function flagText(name: string, value: string): string {
  if (value === "") return ` --${name}`;
  // Else a value such as -64,46,-62,47 would be read as flags.
  return value.startsWith("-") ? ` ${quote(`--${name}=${value}`)}` : ` --${name} ${quote(value)}`;
}

/** Puts a text in single quotes if a shell would read it as something else. */
function quote(text: string): string {
  return /^[\w%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
