/**
 * The command line: `deno run jsr:@weir/datastream/cli records --output records.csv`.
 *
 * @module
 */
import { open, rename, rm } from "node:fs/promises";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { run } from "./run.ts";

/**
 * Runs the command line in this process; a reader of standard output that leaves (`| head`) ends
 * it quietly.
 *
 * Permissions in Deno: `--allow-env=DATASTREAM_API_KEY`, `--allow-net` for the service's host, and
 * for `--output` to read and write the folder of the file.
 *
 * @param args The arguments after the program's name; default: the process's own
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line
 */
export async function main(args: string[] = process.argv.slice(2)): Promise<number> {
  let readerLeft = false;
  process.stdout.on("error", (error: Error & { code?: string }) => {
    // Any other error reaches `run` as a failed write.
    if (error.code === "EPIPE") readerLeft = true;
  });
  const code = await run(args, {
    environment: (name) => process.env[name],
    output: Writable.toWeb(process.stdout),
    writeFile,
    error: (line) => {
      if (!readerLeft) process.stderr.write(`${line}\n`);
    },
  });
  return readerLeft ? 0 : code;
}

async function writeFile(path: string, bytes: ReadableStream<Uint8Array>): Promise<void> {
  const part = `${path}.part`;
  const file = await open(part, "wx").catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new Error(`${part} is there: another download writes it, or one broke; remove it then`);
  });
  try {
    await pipeline(Readable.fromWeb(bytes), file.createWriteStream());
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

if (import.meta.main) process.exitCode = await main();
