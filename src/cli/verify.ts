// Compares a file with its data package.
import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { parse } from "@std/csv/parse";
import { utf8Decoder } from "../bytes.ts";
import { describeChanges, requestDatasetVersions } from "../client/dataset_versions.ts";
import { DataStream } from "../client/datastream.ts";
import { oneLine } from "../errors.ts";
import type { PackageResource } from "../formats/data_package.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";
import { type FlagValues, readClientOptions, readQuery } from "./flags.ts";
import { resolveOutput, statIfExists } from "./output.ts";
import { type AnyPackage, hashOf, packagePath, partPath, readPackage } from "./part_file.ts";
import { countText } from "./progress_report.ts";

/** Exit code: the file is intact, but its datasets have changed or their versions are unknown. */
const OUTDATED = 3;

export async function verify({ operand, flags }: Arguments, context: Context): Promise<number> {
  const stats = await statIfExists(operand!);
  if (!stats?.isFile()) {
    throw new CommandError(`${operand} is not a file: name a file that weir wrote`);
  }
  // The package of a symbolic link is next to its target.
  const { path } = await resolveOutput(operand!);
  const { size } = stats;
  const recordPath = packagePath(path);
  const found = readPackage(path);
  const hash = await hashOf(path);
  if (found === undefined) {
    const isMissing = await statIfExists(recordPath) === undefined;
    throw new CommandError(
      `${recordPath} is ${isMissing ? "missing" : "not a data package of weir"}: ` +
        "only a file with its package can be verified",
    );
  }
  const { resources: [resource] } = found;
  if (typeof resource.hash !== "string") {
    throw new CommandError(
      `${recordPath} has no hash: download the file with weir, or request the package ` +
        "from the server again, right after the file",
    );
  }
  const { bytes = size } = resource;
  const { rows, differences } = await compareContent(path, resource);
  if (hash !== resource.hash) differences.unshift(`hash: ${hash} instead of ${resource.hash}`);
  if (size !== bytes) differences.unshift(`bytes: ${size} instead of ${bytes}`);
  if (differences.length > 0) {
    context.printError(
      hash === resource.hash
        ? `${recordPath} was changed: ${path} has the hash in it, and differs otherwise`
        : `${recordPath} does not belong to this file, which was changed, or is of another download`,
    );
    differences.forEach((line) => context.printError(`  ${line}`));
    // A run writes the package before the file gets its name.
    if (await statIfExists(partPath(path)) !== undefined) {
      context.printError(`${partPath(path)} is left over from a download: repeat it with --resume`);
    }
    return 1;
  }
  const counted = rows === undefined ? "" : `${countText(rows)}, `;
  await context.print(`${path} is intact: ${counted}${size} bytes, ${hash}\n`);
  return flags.has("online") ? await compareVersions(path, found, flags, context) : 0;
}

/** Compares the versions in the package with those of the service. Sends one request. */
async function compareVersions(
  path: string,
  { weir: { query, datasets } }: AnyPackage,
  flags: FlagValues,
  context: Context,
): Promise<number> {
  if (query === undefined) {
    throw new CommandError(
      `${packagePath(path)} has no query of weir, such as that of a server: --online needs one`,
    );
  }
  const { resource: _, format: __, service, ...given } = query;
  const options = await readClientOptions(flags, context);
  // Never connects to the service in the package, because a file could name any address to receive the key.
  if (service !== (options.baseUrl ?? PRODUCTION_URL)) {
    const hint = "pass --sandbox, --qa or --base-url as in its download";
    throw new UsageError(`${path} is of ${service}: ${hint}`);
  }
  if (datasets === undefined) {
    context.printError(`${path}: the versions of its datasets are not known`);
    return OUTDATED;
  }
  const values = Object.entries(given).map(([name, value]): [string, string[]] => [
    name,
    value === true ? [""] : [value].flat().map(String),
  ]);
  const filter = toWiderMetadataFilter(readQuery(new Map(values)));
  const now = await requestDatasetVersions(new DataStream(options), filter, context.signal);
  const changes = describeChanges(datasets, now);
  if (changes === undefined) {
    await context.print("Its datasets have no new versions\n");
    return 0;
  }
  context.printError(`${path} is outdated: ${changes}: download it again with --update`);
  return OUTDATED;
}

/** Compares the rows and columns of a file with those in its package. `rows` is absent if they are not counted. */
async function compareContent(
  path: string,
  resource: PackageResource,
): Promise<{ rows?: number; differences: string[] }> {
  const counter = createCounter(resource);
  if (counter === undefined) return { differences: [] };
  const stream = createReadStream(path);
  const gunzip = createGunzip();
  // `pipe` does not forward errors: a read error must end the decompression.
  const data = resource.compression === undefined
    ? stream
    : stream.on("error", (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    for await (const bytes of data) counter.add(bytes);
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith("Z_")) {
      throw new CommandError(`Cannot read ${path}: ${oneLine(error)}`);
    }
    return { differences: [`content: cannot be decompressed (${oneLine(error)})`] };
  } finally {
    stream.destroy();
  }
  const { rows, header } = counter.end();
  const differences: string[] = [];
  if (resource.rows !== undefined && rows !== resource.rows) {
    differences.push(`rows: ${rows} instead of ${resource.rows}`);
  }
  const names = resource.schema.fields.map(({ name }) => name);
  // One name more than there are columns: a column that is missing, or too many.
  const at = header === undefined
    ? -1
    : [...names, undefined].findIndex((name, index) => header[index] !== name);
  if (at >= 0) {
    const show = (name: string | undefined) => name === undefined ? "none" : `"${name}"`;
    const [found, expected] = [show(header![at]), show(names[at])];
    differences.push(`header: column ${at + 1} is ${found} instead of ${expected}`);
  }
  return { rows, differences };
}

interface RowCounter {
  add(bytes: Uint8Array): void;
  /** `header` is absent if the format has none. */
  end(): { rows: number; header?: string[] | undefined };
}

/** Returns `undefined` for a format whose rows are not counted. */
function createCounter({ format, dialect }: PackageResource): RowCounter | undefined {
  if (dialect !== undefined) return csvCounter(dialect);
  if (format === "ndjson") return csvCounter({ delimiter: "", header: false, isPlain: true });
  if (format === "json" || format === "geojson") return jsonCounter();
  return undefined;
}

const [LINE_FEED, QUOTE, BACKSLASH] = [0x0a, 0x22, 0x5c];

/** Maximum length (bytes) of a header row. */
const MAX_HEADER = 1 << 16;

/** Counts line ends; one in quotes does not count. In a plain document, quotes have no meaning. */
function csvCounter(
  { delimiter, header, isPlain = false }: { delimiter: string; header: boolean; isPlain?: boolean },
): RowCounter {
  let [lines, isQuoted] = [0, false];
  let first = new Uint8Array();
  return {
    add(bytes) {
      let firstEnd = lines === 0 ? bytes.length : 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at]!;
        if (byte === QUOTE) isQuoted = !isPlain && !isQuoted;
        else if (byte === LINE_FEED && !isQuoted) {
          if (lines++ === 0) firstEnd = at;
        }
      }
      if (header && first.length < MAX_HEADER) {
        first = Uint8Array.from([...first, ...bytes.subarray(0, Math.min(firstEnd, MAX_HEADER))]);
      }
    },
    end() {
      if (!header) return { rows: lines };
      const text = utf8Decoder.decode(first).replace(/^\ufeff|\r$/g, "");
      // A damaged header can have any quotes.
      const [names] = parse(text, { separator: delimiter, lazyQuotes: true });
      return { rows: Math.max(0, lines - 1), header: names ?? [] };
    },
  };
}

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
