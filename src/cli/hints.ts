import { didYouMean } from "../validation.ts";
import { type CommandName, COMMANDS, flagsOf } from "./commands.ts";

/** Names that other programs have for a flag, and what to write here. */
const FLAG_NAMES = new Map([
  ["box", "bbox"],
  ["bounding-box", "bbox"],
  ["within", "bbox"],
  ["parameter", "characteristic"],
  ["analyte", "characteristic"],
  ["citations", "cite"],
  ["dataset", "doi"],
  ["where", "filter"],
  ["overwrite", "force"],
  ["csv", "format csv"],
  ["geojson", "format geojson"],
  ["json", "format json"],
  ["jsonl", "format ndjson"],
  ["ndjson", "format ndjson"],
  ["since", "from"],
  ["start", "from"],
  ["year", "from"],
  ["max", "limit"],
  ["rows", "limit"],
  ["delimiter", "separator"],
  ["file", "output"],
  ["domain", "base-url"],
  ["host", "base-url"],
  ["url", "base-url"],
  ["test", "qa"],
  ["silent", "quiet"],
  ["province", "region"],
  ["continue", "resume"],
  ["demo", "sandbox"],
  ["columns", "select"],
  ["fields", "select"],
  ["end", "to"],
  ["until", "to"],
  ["page-size", "top"],
]);

/** Words that people try for a command or a resource. */
const COMMAND_NAMES = new Map([
  ["citations", "cite"],
  ["citation", "cite"],
  ["columns", "fields"],
  ["schema", "fields"],
  ["sites", "locations"],
  ["stations", "locations"],
  ["datasets", "metadata"],
  ["measurements", "observations"],
  ["results", "observations"],
  ["download", "records"],
  ["get", "records"],
  ["key", "setup"],
  ["login", "setup"],
]);

/** Names of formats that are here an option of another one. */
const FORMAT_NAMES = new Map([
  ["jsonl", "use ndjson"],
  ["jsonstream", "use ndjson"],
  ["excel", "use csv with --bom"],
  ["xlsx", "use csv with --bom"],
  ["tsv", "use csv with --separator tab"],
]);

/**
 * Returns what to do about a flag that a command does not have.
 *
 * @param name The flag without its dashes
 * @returns The hint; undefined if only the command's help can tell
 */
export function flagHint(command: CommandName, name: string): string | undefined {
  const known = Object.keys(flagsOf(command));
  if (/key/i.test(name)) return "set DATASTREAM_API_KEY, or save the key with weir setup";
  const other = FLAG_NAMES.get(name.toLowerCase()) ?? "";
  if (known.includes(other.split(" ")[0]!)) return `use --${other}`;
  const near = didYouMean(name, known, "").replace(/"([^"]+)"/g, '"--$1"');
  if (near !== "") return near;
  const owners = (Object.keys(COMMANDS) as CommandName[])
    .filter((owner) => Object.hasOwn(flagsOf(owner), name));
  return owners.length === 0 ? undefined : `use it with weir ${owners.join(" or weir ")}`;
}

/**
 * Returns what to do about an operand that is not a command, or not one of some commands.
 *
 * @param known The commands that there are to choose from
 */
export function commandHint(name: string, known: readonly string[]): string {
  const other = COMMAND_NAMES.get(name.toLowerCase()) ?? "";
  return known.includes(other) ? `use ${other}` : didYouMean(name, known);
}

/** Returns what to do about an unknown format. */
export function formatHint(name: string, known: readonly string[]): string {
  return FORMAT_NAMES.get(name.toLowerCase()) ?? didYouMean(name, known);
}
