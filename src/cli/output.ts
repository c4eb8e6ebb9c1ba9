import { constants } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { oneLine } from "../errors.ts";
import type { Arguments } from "./arguments.ts";
import type { DatasetVersion } from "./dataset_versions.ts";
import { FileError, isStandardOutput, type OutputPath, resolveOutput, writing } from "./files.ts";
import type { Io } from "./io.ts";
import { partPathOf, pathsOf, type Progressed } from "./part_state.ts";
import { openPart } from "./resumable_file.ts";
import { UsageError } from "./usage_error.ts";

/** Where the pages of a download go. */
interface Sink {
  /** Adds bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Keeps how far it has come, where it can go on from there. */
  keep(progressed: Omit<Progressed, "bytes"> & { isLast: boolean }): Promise<void>;
  /**
   * Says that nothing more comes; gives the bytes of a file.
   *
   * @param missingRows Number of rows that were counted and are accepted as missing
   */
  finish(missingRows?: number): Promise<number | undefined>;
  /**
   * Ends an output that is not complete.
   *
   * @param rows Number of rows that were written
   * @param remedy What to do about a part that is kept
   */
  leave(rows: number, remedy: string): Promise<void>;
}

/**
 * The file that is named, or standard output; and how far the file had come, to go on.
 *
 * @param output Where `--output` leads; undefined is standard output
 * @param question What is asked for, as text
 * @param requestDatasets Requests the versions of the datasets that match the query
 */
export async function openOutput(
  output: OutputPath | undefined,
  question: string,
  requestDatasets: () => Promise<readonly DatasetVersion[]>,
  flags: Arguments["flags"],
  io: Io,
): Promise<{ sink: Sink; from: Progressed | undefined }> {
  if (output === undefined) return { sink: standardOutput(io), from: undefined };
  const { path, isStream } = output;
  const resume = flags.has("resume");
  if (isStream) {
    if (!resume) return { sink: await openStream(path, io), from: undefined };
    throw new UsageError(`--resume continues a file, and ${path} is a device or a pipe`);
  }
  const force = flags.has("force");
  const options = { question, resume, force, requestDatasets };
  const { part, from } = await writing(path, openPart(path, options));
  return {
    from,
    sink: {
      write: (bytes) => writing(path, part.write(bytes)),
      keep: (progressed) => writing(path, part.keep(progressed)),
      finish: (missingRows) => writing(path, part.finish(missingRows)),
      async leave(rows, remedy) {
        if (!await part.leave(rows === 0)) return;
        io.error(`${partPathOf(path)} holds ${rows} rows: ${remedy}`);
      },
    },
  };
}

function standardOutput({ output, signal }: Io): Sink {
  const writer = output.getWriter();
  const unlessAborted = raceAgainst(signal);
  return {
    write: (bytes) => unlessAborted(writer.write(bytes)),
    keep: () => Promise.resolve(),
    finish: () => Promise.resolve(void writer.releaseLock()),
    leave: () => Promise.resolve(writer.releaseLock()),
  };
}

/**
 * Opens a device, a pipe or an open file descriptor, to write to as it is; a pipe opens when a reader
 * does.
 */
async function openStream(path: string, { signal }: Pick<Io, "signal">): Promise<Sink> {
  const unlessAborted = raceAgainst(signal);
  const naming = <T>(step: Promise<T>) =>
    unlessAborted(step.catch((error) => {
      throw new FileError(`Cannot write ${path}: ${oneLine(error)}`);
    }));
  // Neither created nor cut: a descriptor can be one of a file that others write to.
  const file = await naming(open(path, constants.O_WRONLY | constants.O_APPEND));
  let written = 0;
  return {
    async write(bytes) {
      for (let at = 0; at < bytes.length;) {
        at += (await naming(file.write(bytes, at, bytes.length - at))).bytesWritten;
      }
      written += bytes.length;
    },
    keep: () => Promise.resolve(),
    async finish() {
      await naming(file.close());
      return written;
    },
    leave: () => file.close().catch(() => {}),
  };
}

/**
 * Writes a text to standard output, a device, a pipe or a file, which keeps its permissions.
 *
 * @throws {FileError} If it cannot be written
 */
export async function writeText(path: string, text: string, io: Io): Promise<void> {
  if (isStandardOutput(path)) return await io.print(text);
  const output = await resolveOutput(path);
  if (!output.isStream) return await writeFile(output.path, text);
  const stream = await openStream(output.path, io);
  await stream.write(new TextEncoder().encode(text));
  await stream.finish();
}

/** A reader that takes nothing must not keep a process that is asked to end. */
function raceAgainst(signal: AbortSignal): <T>(step: Promise<T>) => Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  return (step) => Promise.race([step, aborted]);
}

/** Refuses flags that need a file, or that do not go together. */
export function requireFlags(flags: Arguments["flags"]): void {
  const has = (name: string) => flags.has(name);
  if (has("resume") && has("force")) {
    throw new UsageError("--resume goes on and --force begins anew: pass one of them");
  }
  const [cite, output] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  if (has("resume") && (output === undefined || isStandardOutput(output))) {
    throw new UsageError("--resume goes on with a file: name it with --output");
  }
  if (has("force") && !has("output") && !has("cite")) {
    throw new UsageError("--force overwrites a file: name it with --output");
  }
  if (cite !== undefined && isStandardOutput(cite) && isStandardOutput(output ?? "-")) {
    throw new UsageError("--cite and the rows cannot both be standard output: name a file for one");
  }
  requireTwoFiles(output, cite);
  const needless = [
    "output",
    "format",
    "cite",
    "select",
    "limit",
    "top",
    "bom",
    "separator",
    "no-header",
    "escape-formulas",
  ].find(has);
  if (has("count") && needless !== undefined) {
    throw new UsageError(`--count prints a number: leave --${needless} out`);
  }
}

/** Refuses to write citations over the rows, or over the files beside their part. */
export function requireTwoFiles(output: string | undefined, cite: string | undefined): void {
  if (output === undefined || cite === undefined || isStandardOutput(cite)) return;
  if (pathsOf(output).every((path) => resolve(path) !== resolve(cite))) return;
  throw new UsageError("--cite and --output are two files: name another one");
}
