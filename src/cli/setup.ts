import { KEY_SOURCE } from "../service_roots.ts";
import type { Io } from "./io.ts";
import { writeKey } from "./key.ts";

/** Keeps a key that is typed, or comes on standard input, in a file. */
export async function setup(io: Io): Promise<void> {
  io.error(`Ask for a key at ${KEY_SOURCE}.`);
  const key = (await io.askSecret("API key (not shown): ")).trim();
  const path = await writeKey(key, io);
  io.error(
    `Kept in ${path}, for you alone to read. DATASTREAM_API_KEY, where it is set, is used instead.`,
  );
}
