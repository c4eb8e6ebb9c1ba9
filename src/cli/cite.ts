import { citationsText } from "../client/citations.ts";
import { DataStream } from "../client/datastream.ts";
import { oneLine } from "../errors.ts";
import { placeBox } from "../odata/place_box.ts";
import type { GivenOptions } from "../odata/query_options.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { readBox, readFilter } from "./query_flags.ts";
import { serviceOf } from "./service.ts";
import { writeText } from "./sink.ts";
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

/** Where citations go, and what they are of. */
interface After {
  /** The file for them; undefined is standard error. */
  path: string | undefined;
  /** The file with the rows; undefined is standard output. */
  file: string | undefined;
}

/**
 * Says how to cite what a download gave: use of the data requires it.
 *
 * @throws {Error} If they could not be had, or written, where a file was named for them
 */
export async function citeAfter(
  client: DataStream,
  { filter, within, limit }: GivenOptions,
  { path, file = "The output" }: After,
  io: Io,
): Promise<void> {
  let text;
  try {
    const placed = placeBox("Metadata", filter === undefined ? undefined : String(filter), within);
    text = citationsText(await client.citations(placed.filter, { signal: io.signal }));
    if (path !== undefined) return await writeText(path, text, io);
  } catch (error) {
    if (io.signal.aborted) throw error;
    // The rows are whole all the same.
    const said = `${file} is whole, but not its citations (${oneLine(error)})`;
    if (path !== undefined) throw new Error(`${said}: weir cite asks for them alone`);
    return io.error(`${said}: weir cite asks for them`);
  }
  const of = limit === undefined ? "" : " (every dataset that meets the filter)";
  io.error(`Use of this data requires citing${of}:`);
  for (const line of text.trimEnd().split("\n")) io.error(line);
}
