// Formats whose modules are loaded when a file needs them. `FORMATS` does not name these modules, because a bundle in one
// file would contain them whenever it contains the client.
import { ValidationError } from "../errors.ts";
import {
  type DocumentFacts,
  type FileFormat,
  type Format,
  type FormatName,
  FORMATS,
  type LoadedFormat,
} from "./formats.ts";
import type { Language } from "../language.ts";
import type { EmbeddedPackage } from "./data_package.ts";

export interface LoadOptions {
  /** Whether a value that the format cannot hold is no error. Only for formats that have such values. */
  allowInvalid?: boolean | undefined;
  /** URL of the query. */
  url: string;
  /** Language of the citations and meanings in the file. Only for formats that have them. Default: English. */
  language?: Language | undefined;
  /** Time of the query. Default: when the first rows arrive. */
  time?: Date | undefined;
  /** Returns the data package that is written at the end of the file. Default: the format decides. */
  describe?(facts: DocumentFacts): EmbeddedPackage | Promise<EmbeddedPackage>;
}

const LOADERS = {
  async parquet({ describe, allowInvalid, url }) {
    const { parquetFormat } = await import("./parquet.ts");
    return parquetFormat({
      url,
      invalidValues: allowInvalid ? "null" : "error",
      metadata: describe &&
        (async (facts) => ({ datapackage: JSON.stringify(await describe(facts)) })),
    });
  },
  async xlsx({ allowInvalid, language, url, ...added }) {
    const { createXlsxFormat } = await import("./xlsx_writer.ts");
    const invalidValues = allowInvalid ? "cut" : "error";
    return createXlsxFormat({ language, url, invalidValues }, added);
  },
} satisfies Record<LoadedFormat["name"], (options: LoadOptions) => Promise<LoadedFormat>>;

/**
 * Returns the format for methods of a query, and loads its module.
 *
 * @throws {ValidationError} If an option is given that the format does not have
 */
export async function loadFormat(
  format: FileFormat,
  options: LoadOptions,
): Promise<FormatName | LoadedFormat> {
  const { allowInvalid, language } = options;
  const requireOption = (option: string, received: unknown, has: (format: Format) => unknown) => {
    if (received === undefined || has(FORMATS[format])) return;
    const names = Object.values(FORMATS).filter(has).map(({ label }) => label).join(" and ");
    const problem = `applies to ${names} only; the format is ${format}`;
    throw new ValidationError(option, problem, { received, hint: "omit it" });
  };
  requireOption("invalidValues", allowInvalid, ({ invalidValues }) => invalidValues);
  requireOption("language", language, ({ hasCitations }) => hasCitations);
  return isLoaded(format) ? await LOADERS[format](options) : format;
}

function isLoaded(format: FileFormat): format is keyof typeof LOADERS {
  return Object.hasOwn(LOADERS, format);
}
