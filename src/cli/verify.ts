// Compares a file with its data package.
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import { utf8Decoder } from "../bytes.ts";
import { requestDatasetVersions } from "../client/dataset_versions.ts";
import { DataStream } from "../client/datastream.ts";
import { oneLine } from "../errors.ts";
import type { PackageResource } from "../formats/data_package.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import type { Arguments } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";
import { describeChanges } from "./dataset_versions.ts";
import { type FlagValues, readBaseUrl, readClientOptions, readQuery } from "./flags.ts";
import { FileError, statIfExists } from "./output.ts";
import {
  type FilePackage,
  hashFile,
  packagePath,
  readPackage,
  readUnwrittenPackage,
} from "./part_file.ts";
import { countText } from "./progress_report.ts";

/** Exit code: the file is intact, but its datasets have other versions now, or unknown ones. */
const OUTDATED = 3;

export async function verify({ operand, flags }: Arguments, context: Context): Promise<number> {
  const path = operand!;
  const stats = await statIfExists(path);
  if (!stats?.isFile()) throw new FileError(`${path} is not a file: name a file that weir wrote`);
  const found = await readPackage(path);
  const file = await open(path, "r");
  const { hash } = await hashFile(file).finally(() => file.close());
  const unwritten = await readUnwrittenPackage(path, hash);
  if (found === undefined && unwritten === undefined) {
    throw new FileError(
      `${packagePath(path)} is missing or damaged: only a file with its package can be verified`,
    );
  }
  const [resource] = (found ?? unwritten)!.resources;
  const differences = [
    ...stats.size === resource.bytes ? [] : [`bytes: ${stats.size} instead of ${resource.bytes}`],
    ...hash === resource.hash ? [] : [`hash: ${hash} instead of ${resource.hash}`],
  ];
  differences.push(...await compareContent(path, resource));
  if (differences.length > 0 || found === undefined) {
    const reason = unwritten === undefined
      ? `${path} was changed, or is of another download`
      : "the download was killed before it wrote the package: repeat it with --resume";
    context.printError(`${packagePath(path)} does not belong to this file: ${reason}`);
    if (unwritten === undefined) differences.forEach((line) => context.printError(`  ${line}`));
    return 1;
  }
  const { rows = 0 } = resource;
  await context.print(`${path} is intact: ${countText(rows)}, ${stats.size} bytes, ${hash}\n`);
  return flags.has("online") ? await compareVersions(path, found, flags, context) : 0;
}

/** One request. */
async function compareVersions(
  path: string,
  { weir: { query, datasets } }: FilePackage,
  flags: FlagValues,
  context: Context,
): Promise<number> {
  const { resource: _, format: __, service, ...given } = query;
  // The service of the package is not used: the key would be sent to any address that is in a file.
  const requireService = (chosen = PRODUCTION_URL) => {
    if (service === chosen) return;
    const hint = "pass --sandbox, --qa or --base-url as in its download";
    throw new UsageError(`${path} is of ${service}: ${hint}`);
  };
  if (!flags.has("sandbox")) requireService(readBaseUrl(flags, context));
  const options = await readClientOptions(flags, context);
  requireService(options.baseUrl);
  if (datasets === undefined) {
    context.printError(`${path}: the versions of its datasets are not known`);
    return OUTDATED;
  }
  const values = Object.entries(given).map(([name, value]): [string, string[]] => [
    name,
    value === true ? [""] : [value].flat().map(String),
  ]);
  const filter = toWiderMetadataFilter(readQuery(new Map(values)));
  const client = new DataStream(options);
  const now = await requestDatasetVersions(client, filter, context.signal);
  const changes = describeChanges(datasets, now);
  if (changes === undefined) {
    await context.print("Its datasets have no new versions\n");
    return 0;
  }
  context.printError(`${path} is outdated: ${changes}: download it again with --update`);
  return OUTDATED;
}

/** Compares the number of rows and the names of the columns. */
async function compareContent(path: string, resource: PackageResource): Promise<string[]> {
  const counter = createCounter(resource);
  if (counter === undefined) return [];
  const stream = createReadStream(path);
  const gunzip = createGunzip();
  // Without a listener, an error of the file would be thrown. It ends the decompression.
  const data = resource.compression === undefined
    ? stream
    : stream.on("error", (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    for await (const bytes of data) counter.add(bytes);
  } catch (error) {
    return [`content: cannot be decompressed (${oneLine(error)})`];
  } finally {
    stream.destroy();
  }
  const { rows, header } = counter.end();
  const differences = rows === resource.rows ? [] : [`rows: ${rows} instead of ${resource.rows}`];
  const names = resource.schema.fields.map(({ name }) => name);
  if (header === undefined) return differences;
  const at = Array.from({ length: Math.max(header.length, names.length) }, (_, index) => index)
    .find((index) => header[index] !== names[index]);
  if (at !== undefined) {
    const show = (name: string | undefined) => name === undefined ? "none" : `"${name}"`;
    differences.push(
      `header: column ${at + 1} is ${show(header[at])} instead of ${show(names[at])}`,
    );
  }
  return differences;
}

/** Counts the rows of a document that arrives in chunks. */
interface RowCounter {
  add(bytes: Uint8Array): void;
  /** `header` is absent if the format has none. */
  end(): { rows: number; header?: string[] | undefined };
}

/** `undefined` for a format whose rows are not counted. */
function createCounter({ format, dialect }: PackageResource): RowCounter | undefined {
  if (dialect !== undefined) return csvCounter(dialect);
  if (format === "ndjson") return csvCounter({ delimiter: "", header: false, isPlain: true });
  if (format === "json" || format === "geojson") return jsonCounter();
  return undefined;
}

const [LINE_FEED, QUOTE, BACKSLASH] = [0x0a, 0x22, 0x5c];

/** Maximum length (bytes) of a header row. */
const MAX_HEADER = 1 << 16;

/** Counts lines, except those in quotes. A plain document has no quotes around lines. */
function csvCounter(
  { delimiter, header, isPlain = false }: { delimiter: string; header: boolean; isPlain?: boolean },
): RowCounter {
  let [lines, isQuoted, isInLine] = [0, false, false];
  let first = new Uint8Array();
  return {
    add(bytes) {
      let firstEnd = lines === 0 ? bytes.length : 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at]!;
        isInLine = true;
        if (byte === QUOTE) isQuoted = !isPlain && !isQuoted;
        else if (byte === LINE_FEED && !isQuoted) {
          if (lines++ === 0) firstEnd = at;
          isInLine = false;
        }
      }
      if (header && first.length < MAX_HEADER) {
        first = Uint8Array.from([...first, ...bytes.subarray(0, Math.min(firstEnd, MAX_HEADER))]);
      }
    },
    end() {
      const rows = lines + (isInLine ? 1 : 0) - (header ? 1 : 0);
      return header
        ? { rows, header: parseRecord(utf8Decoder.decode(first), delimiter) }
        : { rows };
    },
  };
}

/** Returns the cells of a line of CSV. */
function parseRecord(line: string, delimiter: string): string[] {
  const cells = [""];
  let isQuoted = false;
  for (const char of line.replace(/\r$/, "")) {
    if (char === '"') isQuoted = !isQuoted;
    else if (char === delimiter && !isQuoted) cells.push("");
    else cells[cells.length - 1] += char;
  }
  return cells;
}

/** Counts the objects in the list of the outer object. */
function jsonCounter(): RowCounter {
  let [rows, depth, isText, isEscaped] = [0, 0, false, false];
  return {
    add(bytes) {
      for (const byte of bytes) {
        if (isText) {
          if (isEscaped) isEscaped = false;
          else if (byte === BACKSLASH) isEscaped = true;
          else if (byte === QUOTE) isText = false;
        } else if (byte === QUOTE) isText = true;
        else if ((byte | 0x20) === 0x7b) { // [ {
          if (depth++ === 2 && byte === 0x7b) rows++;
        } else if ((byte | 0x20) === 0x7d) depth--; // ] }
      }
    },
    end: () => ({ rows }),
  };
}
