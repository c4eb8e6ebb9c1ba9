import { readFile } from "node:fs/promises";
import { parse } from "@std/csv/parse";
import { oneLine } from "../errors.ts";
import { normalizeDoi } from "../odata/clause.ts";
import { columnNames, fieldNames, RESOURCE_NAMES } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";

/** Columns of the values of a flag, in a file with a header. */
const LIST_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  doi: ["DOI", "dataset"],
  characteristic: ["CharacteristicName", "characteristic"],
  region: ["RegionId"],
  location: ["LocationId", "location_id"],
  unit: [],
};

/** `@FILE` stands for the values in a file, `@-` for those of standard input, unless `read` throws. */
export async function readLists(
  given: Arguments,
  context: Context,
  read: typeof readText = readText,
): Promise<Arguments> {
  const flags = new Map(given.flags);
  for (const [name, columns] of Object.entries(LIST_COLUMNS)) {
    const values: string[] = [];
    for (const value of flags.get(name) ?? []) {
      const text = value.trim();
      if (text.startsWith("@")) {
        const found = valuesOf(await read(name, text.slice(1), context), name, columns);
        if (found.length === 0) throw new UsageError(`--${name} ${text} has no values`);
        for (const value of found) values.push(value);
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

const SEPARATORS = [",", ";", "\t"];
const FIELDS: readonly string[] = RESOURCE_NAMES.flatMap((resource) => fieldNames(resource));

/**
 * Returns the values of a column if the first line names it, as in CSV or text with tabs; otherwise one value per line,
 * of which a tab ends the value.
 */
function valuesOf(content: string, flag: string, columns: readonly string[]): string[] {
  const text = content.replace(/^\uFEFF/, "");
  const [firstLine = ""] = text.split(/\r?\n/, 1);
  for (const separator of SEPARATORS) {
    const [header = []] = parse(firstLine, { separator, lazyQuotes: true });
    const names = header.map((name) => name.trim());
    const at = names.findIndex((name) =>
      columns.includes(name) || flag === "location" && name === "Id" && areLocations(names)
    );
    if (at >= 0) return readColumn(text, separator, at).slice(1).filter(Boolean);
    if (names.length > 1 && names.every((name) => FIELDS.includes(name))) {
      throw new UsageError(
        `--${flag} needs the column ${columns[0]}, and the file has ${names.join(", ")}: ` +
          "name a file with that column, or with one value per line",
      );
    }
  }
  return readColumn(text, "\t", 0).filter(Boolean);
}

/** A text of quotes within a cell, such as `6" pipe`, stays as it is. */
function readColumn(text: string, separator: string, at: number): string[] {
  return parse(text, { separator, lazyQuotes: true }).map((cells) => cells[at]?.trim() ?? "");
}

/** Whether `Id` is the one of a location. */
function areLocations(names: readonly string[]): boolean {
  const fields = fieldNames("Locations");
  const known = [...fields, ...columnNames("Locations", fields)];
  return names.every((name) => known.includes(name));
}
