import { parseArgs } from "node:util";

/** A command line that asks for what there is not. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What the command line asks for. */
export interface Arguments {
  help: boolean;
  version: boolean;
  select: string | undefined;
  filter: string | undefined;
  top: number | undefined;
  output: string | undefined;
  baseUrl: string | undefined;
  sandbox: boolean;
}

/** The help text. */
export const HELP = `weir: open water-quality data from the DataStream service

  weir records [options]     records as CSV, to standard output or a file

  --select a,b,c     fields, in order (default: all)
  --filter "…"       an OData filter: "DOI eq '10.25976/…' and ActivityStartYear gte 2020"
  --top N            rows on a page, 1 to 10000, not rows in all (default: 10000)
  --output FILE      write to FILE: as FILE.part first, under its name only when whole
  --base-url URL     another root address of the service
  --sandbox          synthetic data, no key and no network
  --help, --version

The API key is read from the environment variable DATASTREAM_API_KEY.

  weir records --sandbox --filter "CharacteristicName eq 'pH'" --output ph.csv
`;

/**
 * Reads the arguments of the command line.
 *
 * @throws {UsageError} If the command is unknown or an option is; the message names it
 */
export function readArguments(args: string[]): Arguments {
  const { values, positionals, tokens } = parse(args);
  const names = tokens.flatMap((token) => token.kind === "option" ? [token.name] : []);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice: wanted it once`);
  const [command, ...rest] = positionals;
  const asksNothing = values.help || values.version;
  if (!asksNothing && (command !== "records" || rest.length > 0)) {
    throw new UsageError(`Wanted "weir records", got "weir ${positionals.join(" ")}"`);
  }
  if (values.sandbox && values["base-url"]) {
    throw new UsageError("--sandbox has no network: pass it or --base-url, not both");
  }
  if (values.output === "") throw new UsageError("--output must name a file, got nothing");
  return {
    help: values.help ?? false,
    version: values.version ?? false,
    select: values.select,
    filter: values.filter,
    top: values.top === undefined ? undefined : Number(values.top),
    output: values.output,
    baseUrl: values["base-url"],
    sandbox: values.sandbox ?? false,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      tokens: true,
      options: {
        select: { type: "string" },
        filter: { type: "string" },
        top: { type: "string" },
        output: { type: "string" },
        "base-url": { type: "string" },
        sandbox: { type: "boolean" },
        help: { type: "boolean" },
        version: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
