import { DataStreamError, oneLine } from "../errors.ts";
import { VERSION } from "../version.ts";
import { setup } from "./api_key.ts";
import { type Arguments, readArguments } from "./arguments.ts";
import { cite } from "./cite.ts";
import { commandHelp, COMMANDS, programHelp, RESOURCE_COMMANDS } from "./commands.ts";
import { download } from "./download.ts";
import { fields } from "./fields.ts";
import type { Io } from "./io.ts";
import { sign } from "./sign.ts";
import { url } from "./url.ts";
import { UsageError } from "./usage_error.ts";

/** The exit code of a process that was asked to end: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

/**
 * Runs the command line.
 *
 * @param args The arguments after the program's name
 * @param io What it needs of its process
 * @returns The exit code: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await answer(readArguments(args), io);
    return 0;
  } catch (error) {
    if (io.signal.aborted) {
      io.error("Interrupted");
      return INTERRUPTED;
    }
    io.error(oneLine(error));
    if (error instanceof DataStreamError && (error.status === 401 || error.status === 403)) {
      io.error("Set DATASTREAM_API_KEY, or save the key with weir setup");
    }
    const isNetwork = error instanceof DataStreamError && error.kind === "network";
    const hint = isNetwork ? io.networkHint() : undefined;
    if (hint) io.error(hint);
    if (!(error instanceof UsageError)) return 1;
    const [command = ""] = args;
    const about = Object.hasOwn(COMMANDS, command) ? `${command} ` : "";
    io.error(`weir ${about}--help says what there is`);
    return 2;
  }
}

async function answer(given: Arguments, io: Io): Promise<void> {
  const { command, flags } = given;
  if (flags.has("version")) return await io.print(`${VERSION}\n`);
  if (command === undefined) return await io.print(programHelp());
  if (flags.has("help")) return await io.print(commandHelp(command));
  switch (command) {
    case "cite":
      return await cite(given, io);
    case "fields":
      return await fields(given, io);
    case "url":
      return await url(given, io);
    case "sign":
      return await sign(given, io);
    case "setup":
      return await setup(io);
    default:
      return await download(RESOURCE_COMMANDS[command], given, io);
  }
}
