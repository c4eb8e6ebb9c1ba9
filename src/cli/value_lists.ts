import { readFile } from "node:fs/promises";
import { oneLine } from "../errors.ts";
import { normalizeDoi } from "../odata/clause.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";

/** Columns that can be the first line of a file with the values of a flag. */
const LIST_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  doi: ["DOI", "dataset"],
  characteristic: ["CharacteristicName", "characteristic"],
  region: ["RegionId"],
  location: ["LocationId", "Id", "location_id"],
  unit: [],
};

/** `@FILE` stands for the lines of a file, `@-` for those of standard input. */
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
  const bytes = await readFile(path).catch((error) => {
    throw new CommandError(
      `Cannot read ${path}: ${oneLine(error)}: check the path of --${name} @${path}`,
    );
  });
  // Windows PowerShell writes UTF-16 with a byte order mark.
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

/** The first column of CSV or of text with tabs, one value per line. */
function linesOf(text: string, columns: readonly string[]): string[] {
  const all = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  // A comma ends the first cell only if there is a header, because a value can have one: "Ammonia, total".
  const end = columns.some((column) => all[0]!.replaceAll('"', "").startsWith(`${column},`))
    ? ","
    : "\t";
  const lines = all.map((line) => {
    // A characteristic such as "Ammonia, total" is in quotes in CSV.
    const [, quoted, rest = ""] = /^\s*"((?:[^"]|"")*)"\s*(.*)$/.exec(line) ?? [];
    const isCell = rest === "" || rest.startsWith(end);
    return (isCell && quoted !== undefined ? quoted.replaceAll('""', '"') : line.split(end)[0]!)
      .trim();
  }).filter((line) => line !== "");
  return columns.includes(lines[0]!) ? lines.slice(1) : lines;
}
