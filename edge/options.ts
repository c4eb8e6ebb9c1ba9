import { MAXIMUM_TOP } from "../src/odata/query_options.ts";

/** What a download URL asks for. */
export interface DownloadOptions {
  select?: string;
  filter?: string;
  top?: number;
}

/** A download URL with options that there are not. */
export class BadOption extends Error {
  override readonly name = "BadOption";
}

const OPTIONS = ["$select", "$filter", "$top"];

/**
 * Reads the query options of a download URL, their `$` raw or encoded.
 *
 * @throws {BadOption} If an option is unknown or given twice, or `$top` is no number
 */
export function readOptions(url: URL): DownloadOptions {
  const given = [...url.searchParams];
  for (const [index, [name]] of given.entries()) {
    if (!OPTIONS.includes(name)) {
      throw new BadOption(`Unknown option "${name}": wanted ${OPTIONS.join(", ")}`);
    }
    if (given.findIndex(([other]) => other === name) < index) {
      throw new BadOption(`Option "${name}" is given twice: wanted it once`);
    }
  }
  const select = url.searchParams.get("$select");
  const filter = url.searchParams.get("$filter");
  const top = url.searchParams.get("$top");
  if (top !== null && !/^\d+$/.test(top)) {
    throw new BadOption(
      `Option "$top" is the rows on a page: wanted 1 to ${MAXIMUM_TOP}, got "${top}"`,
    );
  }
  return {
    // The client refuses what Records lacks, and what is empty.
    ...(select !== null && { select }),
    ...(filter !== null && { filter }),
    ...(top !== null && { top: Number(top) }),
  };
}
