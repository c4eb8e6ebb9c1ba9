import { resolve } from "node:path";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { PartFile } from "./part_file.ts";
import type { Progressed } from "./part_state.ts";
import { UsageError } from "./usage_error.ts";
import { writing } from "./write_error.ts";

/** Where the pages of a download go. */
export interface Sink {
  /** Adds bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Keeps how far it has come, where it can go on from there. */
  keep(progressed: Omit<Progressed, "bytes">): Promise<void>;
  /** Says that it is whole; gives the bytes of a file. */
  finish(): Promise<number | undefined>;
  /** Says that it is not, after so many rows. */
  leave(rows: number): Promise<void>;
}

/**
 * The file that is named, or standard output; and how far the file had come, to go on.
 *
 * @param question What is asked for, as text
 */
export async function openOutput(
  path: string | undefined,
  question: string,
  flags: Arguments["flags"],
  io: Io,
): Promise<{ sink: Sink; from: Progressed | undefined }> {
  if (path === undefined) return { sink: standardOutput(io), from: undefined };
  const options = { question, resume: flags.has("resume"), force: flags.has("force") };
  const { part, from } = await writing(path, PartFile.open(path, options));
  return {
    from,
    sink: {
      write: (bytes) => writing(path, part.write(bytes)),
      keep: (progressed) => writing(path, part.keep(progressed)),
      finish: () => writing(path, part.finish()),
      async leave(rows) {
        if (!await part.leave(rows === 0)) return;
        io.error(
          `${path}.part holds ${rows} rows: the same command with --resume goes on from there`,
        );
      },
    },
  };
}

function standardOutput({ output, signal }: Io): Sink {
  const writer = output.getWriter();
  // A reader that takes nothing must not keep a process that is asked to end.
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  ended.catch(() => {});
  return {
    write: (bytes) => Promise.race([writer.write(bytes), ended]),
    keep: () => Promise.resolve(),
    finish: () => Promise.resolve(void writer.releaseLock()),
    leave: () => Promise.resolve(writer.releaseLock()),
  };
}

/** Refuses flags that need a file, or that do not go together. */
export function requireFlags(flags: Arguments["flags"]): void {
  const has = (name: string) => flags.has(name);
  if (has("resume") && has("force")) {
    throw new UsageError("--resume goes on and --force begins anew: pass one of them");
  }
  if (has("resume") && !has("output")) {
    throw new UsageError("--resume goes on with a file: name it with --output");
  }
  if (has("force") && !has("output") && !has("cite")) {
    throw new UsageError("--force overwrites a file: name it with --output");
  }
  const [cite = "", output = ""] = ["cite", "output"].map((name) => flags.get(name)?.[0]);
  const ends = ["", ".part", ".part.json", ".part.legs.json"];
  const files = ends.flatMap((end) => [`${output}${end}`, `${output}${end}.new`]);
  if (cite && output && files.some((name) => resolve(name) === resolve(cite))) {
    throw new UsageError("--cite and --output are two files: name another one");
  }
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
