import type { DataStreamOptions } from "../client/client_options.ts";
import { DataStream } from "../client/datastream.ts";
import type { Query } from "../client/query.ts";
import { oneLine } from "../errors.ts";
import { createSandbox } from "../sandbox/service.ts";
import { VERSION } from "../version.ts";
import { type Arguments, HELP, readArguments, UsageError } from "./arguments.ts";

/** What the command line needs of its process. */
export interface Io {
  /** The value of an environment variable. */
  environment: (name: string) => string | undefined;
  /** Where the data goes without `--output`. */
  output: WritableStream<Uint8Array>;
  /** Writes a file that appears under its name only when the stream has ended. */
  writeFile: (path: string, bytes: ReadableStream<Uint8Array>) => Promise<void>;
  /** Writes a line to standard error. */
  error: (line: string) => void;
}

/**
 * Runs the command line.
 *
 * @param args The arguments after the program's name
 * @param io What it needs of its process
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line
 */
export async function run(args: string[], io: Io): Promise<number> {
  try {
    const given = readArguments(args);
    if (given.help) await write(HELP, io);
    else if (given.version) await write(`${VERSION}\n`, io);
    else await records(given, io);
    return 0;
  } catch (error) {
    io.error(oneLine(error));
    if (!(error instanceof UsageError)) return 1;
    io.error("weir --help says what there is");
    return 2;
  }
}

async function records(given: Arguments, io: Io): Promise<void> {
  const csv = queryOf(given, io).csv();
  await (given.output === undefined
    // Aborted, standard output would throw the error a second time, past the one line it gets here.
    ? csv.pipeTo(io.output, { preventAbort: true })
    : io.writeFile(given.output, csv));
}

/** The query; what is wrong with it is told before anything is sent. */
function queryOf(given: Arguments, io: Io): Query<object> {
  const { select, filter, top } = given;
  try {
    return new DataStream(given.sandbox ? sandboxed() : service(given, io)).records({
      ...(select !== undefined && { select }),
      ...(filter !== undefined && { filter }),
      ...(top !== undefined && { top }),
    });
  } catch (error) {
    throw new UsageError(oneLine(error));
  }
}

function sandboxed(): DataStreamOptions {
  const { apiKey, url, fetch } = createSandbox();
  return { apiKey, baseUrl: url, fetch };
}

function service({ baseUrl }: Arguments, io: Io): DataStreamOptions {
  const apiKey = io.environment("DATASTREAM_API_KEY");
  if (!apiKey) {
    throw new UsageError(
      "No API key: set DATASTREAM_API_KEY, or try --sandbox, which needs none",
    );
  }
  return { apiKey, ...(baseUrl && { baseUrl }) };
}

async function write(text: string, { output }: Io): Promise<void> {
  const writer = output.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
}
