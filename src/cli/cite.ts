import { stat, writeFile } from "node:fs/promises";
import { citationsText } from "../client/citations.ts";
import { DataStream } from "../client/datastream.ts";
import { oneLine } from "../errors.ts";
import { placeBox } from "../odata/place_box.ts";
import type { GivenOptions } from "../odata/query_options.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { FileError } from "./part_file.ts";
import { readBox, readFilter } from "./query_flags.ts";
import { serviceOf } from "./service.ts";
import { told, UsageError } from "./usage_error.ts";

/** Prints how to cite the datasets that meet a filter. */
export async function cite({ flags }: Arguments, io: Io): Promise<void> {
  const [format = "txt"] = flags.get("format") ?? [];
  if (format !== "txt" && format !== "json") {
    throw new UsageError(`Citations are txt or json, got "${format}"`);
  }
  const { filter } = told(() => placeBox("Metadata", readFilter(flags), readBox(flags)));
  const options = await serviceOf(flags, io);
  const client = told(() => {
    const client = new DataStream(options);
    client.metadata({ filter }); // refuses what it cannot take
    return client;
  });
  const citations = await client.citations(filter, { signal: io.signal });
  await io.print(
    format === "json" ? `${JSON.stringify(citations, null, 2)}\n` : citationsText(citations),
  );
}

/**
 * Says how to cite what a download gave: use of the data requires it.
 *
 * @param path The file to write it to; undefined is standard error
 */
export async function citeAfter(
  client: DataStream,
  { filter, within }: GivenOptions,
  path: string | undefined,
  io: Io,
): Promise<void> {
  let citations;
  try {
    const placed = placeBox("Metadata", filter === undefined ? undefined : String(filter), within);
    citations = await client.citations(placed.filter, { signal: io.signal });
  } catch (error) {
    if (path !== undefined || io.signal.aborted) throw error;
    // The rows are whole all the same.
    io.error(`The rows are whole, but not their citations: ${oneLine(error)}; weir cite asks anew`);
    return;
  }
  if (path !== undefined) return await writeFile(path, citationsText(citations));
  io.error("Use of this data requires citing:");
  for (const line of citationsText(citations).trimEnd().split("\n")) io.error(line);
}

/** Refuses to write over a file. */
export async function requireNew(path: string): Promise<void> {
  const isThere = await stat(path).then(() => true, () => false);
  if (isThere) {
    throw new FileError(`${path} is there: --force overwrites it, or choose another name`);
  }
}
