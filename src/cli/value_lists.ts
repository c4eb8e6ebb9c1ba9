// The values of flags that can be repeated: they are trimmed, checked, and read from files.
import { readFile } from "node:fs/promises";
import { oneLine } from "../errors.ts";
import { normalizeDoi } from "../odata/clause.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";

/** Flags with lists, and the names of the columns that can be the first line of a file with their values. */
const LIST_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  doi: ["DOI"],
  characteristic: ["CharacteristicName"],
  region: ["RegionId"],
  location: ["LocationId", "Id"],
};

/**
 * Replaces the values `@FILE` of flags by the lines of the file, and `@-` by those of standard input.
 *
 * @throws {UsageError} If a value has a control character, or a file has no values
 * @throws {CommandError} If a file cannot be read
 */
export async function readLists(given: Arguments, context: Context): Promise<Arguments> {
  const flags = new Map(given.flags);
  for (const [name, columns] of Object.entries(LIST_COLUMNS)) {
    const values: string[] = [];
    for (const value of flags.get(name) ?? []) {
      const text = value.trim();
      if (text.startsWith("@")) {
        const lines = linesOf(await readText(name, text.slice(1), context), columns);
        if (lines.length === 0) throw new UsageError(`--${name} ${text} has no values`);
        for (const line of lines) values.push(line);
      } else values.push(text);
    }
    // deno-lint-ignore no-control-regex -- finds invisible characters
    const invalid = values.find((value) => /[\x00-\x1f\x7f]/.test(value));
    if (invalid !== undefined) {
      throw new UsageError(
        `--${name} has a control character: remove it from ${JSON.stringify(invalid)}`,
      );
    }
    if (values.length > 0) flags.set(name, name === "doi" ? values.map(normalizeDoi) : values);
  }
  return { ...given, flags };
}

async function readText(name: string, path: string, context: Context): Promise<string> {
  if (path === "-") return await context.readInput();
  return await readFile(path, "utf8").catch((error) => {
    throw new CommandError(
      `Cannot read ${path}: ${oneLine(error)}: check the path of --${name} @${path}`,
    );
  });
}

/** Returns the values in a text: the first column of CSV or of text with tabs, one value per line. */
function linesOf(text: string, columns: readonly string[]): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/).map((line) => {
    // A characteristic such as "Ammonia, total" is in quotes in CSV.
    const [, quoted] = /^\s*"((?:[^"]|"")*)"\s*$/.exec(line) ?? [];
    return (quoted?.replaceAll('""', '"') ?? line.split("\t")[0]!).trim();
  }).filter((line) => line !== "");
  return columns.includes(lines[0]!) ? lines.slice(1) : lines;
}
