// Formats whose modules are loaded when a file needs them. `FORMATS` does not name these modules, because a bundle in one
// file would contain them whenever it contains the client.
import { ValidationError } from "../errors.ts";
import { type FileFormat, type FormatName, FORMATS, type LoadedFormat } from "./formats.ts";
import type { ParquetFacts } from "./parquet.ts";

export interface LoadOptions {
  /** Only for formats with types; `undefined` if it is not given. */
  invalidValues: "error" | "null" | undefined;
  /** URL of the query. */
  url: string;
  /** Returns the data package that is written at the end of the file. */
  describe(facts: ParquetFacts): string | Promise<string>;
}

const LOADERS = {
  async parquet({ describe, ...options }) {
    const { parquetFormat } = await import("./parquet.ts");
    return parquetFormat({
      ...options,
      metadata: async (facts) => ({ datapackage: await describe(facts) }),
    });
  },
} satisfies Record<LoadedFormat["name"], (options: LoadOptions) => Promise<LoadedFormat>>;

/**
 * Returns the format for methods of a query, and loads its module.
 *
 * @throws {ValidationError} If `invalidValues` is given for a format without types
 */
export async function loadFormat(
  format: FileFormat,
  options: LoadOptions,
): Promise<FormatName | LoadedFormat> {
  const { invalidValues: received } = options;
  if (received !== undefined && !FORMATS[format].isTyped) {
    const typed = Object.values(FORMATS).filter(({ isTyped }) => isTyped);
    const names = typed.map(({ label }) => label).join(" and ");
    const problem = `applies to ${names} only; the format is ${format}`;
    throw new ValidationError("invalidValues", problem, { received, hint: "omit it" });
  }
  return isLoaded(format) ? await LOADERS[format](options) : format;
}

function isLoaded(format: FileFormat): format is keyof typeof LOADERS {
  return Object.hasOwn(LOADERS, format);
}
