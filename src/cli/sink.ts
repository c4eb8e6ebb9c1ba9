import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { PartFile, type Progressed } from "./part_file.ts";
import { UsageError } from "./usage_error.ts";

/** Where the pages of a download go. */
export interface Sink {
  /** Adds bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Keeps how far it has come, where it can go on from there. */
  keep(progressed: Omit<Progressed, "bytes">): Promise<void>;
  /** Says that it is whole. */
  finish(): Promise<void>;
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
  const { part, from } = await PartFile.open(path, options);
  return {
    from,
    sink: {
      write: (bytes) => part.write(bytes),
      keep: (progressed) => part.keep(progressed),
      finish: () => part.finish(),
      async leave(rows) {
        await part.leave(rows === 0);
        if (rows === 0) return;
        io.error(
          `${path}.part holds ${rows} rows: the same command with --resume goes on from there`,
        );
      },
    },
  };
}

function standardOutput({ output }: Io): Sink {
  const writer = output.getWriter();
  const release = () => Promise.resolve(writer.releaseLock());
  return {
    write: (bytes) => writer.write(bytes),
    keep: () => Promise.resolve(),
    finish: release,
    leave: release,
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
  const needless = ["output", "format", "cite", "select", "limit", "top"].find(has);
  if (has("count") && needless !== undefined) {
    throw new UsageError(`--count prints a number: leave --${needless} out`);
  }
}
