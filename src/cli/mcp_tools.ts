// The tools of `weir mcp`. Their arguments are flags of the command line, which checks and runs them.
import { lstat, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { DataStream } from "../client/datastream.ts";
import { comparedFields, explainNoRows, unmatchedValues } from "../client/no_rows.ts";
import { FileError, statIfExists } from "../files/output.ts";
import { type FilePackage, packagePath, pathsOf } from "../files/part_file.ts";
import type { PackageField } from "../formats/data_package.ts";
import { type Citation, CITATION_FORMATS, citationsText } from "../formats/citations.ts";
import { type FileFormat, FORMAT_NAMES } from "../formats/formats.ts";
import { PANDAS_ARGUMENTS, PYTHON_TYPES } from "../formats/code_snippets.ts";
import { isMeasured, type ResourceName, type SUMMARY_KEYS } from "../odata/resources.ts";
import { KNOWN_VALUES, searchValues } from "../odata/value_hints.ts";
import type { Flags } from "./arguments.ts";
import { type CommandQuery, readCommandQuery } from "./command_query.ts";
import { COMMANDS } from "./commands.ts";
import { type Context, UsageError } from "./context.ts";
import { download } from "./download.ts";
import {
  FILTER_FLAGS,
  type FlagValues,
  hasDays,
  RESOURCE_COMMANDS,
  VALUE_FIELDS,
} from "./flags.ts";
import { type Answer, toTable } from "./mcp_answer.ts";
import { noteLines } from "./progress_report.ts";
import { confirmReading, MAX_UNCONFIRMED } from "./values.ts";

/** Values, locations, or groups of an answer before it is shortened. */
const MAX_LISTED = 100;
const MAX_PREVIEW = 50;
const DEFAULT_PREVIEW = 10;

export interface ToolCall {
  flags: FlagValues;
  context: Context;
  /** Absolute path of the folder for files, without symbolic links. */
  folder: string;
}

export interface Tool {
  description: string;
  flags: Flags;
  /** Flags that must be given. */
  required?: readonly string[];
  writesFiles?: boolean;
  run(call: ToolCall): Promise<Answer>;
}

function flagsOf(command: string, ...names: string[]): Flags {
  const { flags } = COMMANDS[command]!;
  return Object.fromEntries(names.map((name) => [name, flags[name]!]));
}

const NAMED_FIELDS = [
  ...Object.keys(VALUE_FIELDS).filter((name) => KNOWN_VALUES[VALUE_FIELDS[name]!] !== undefined),
  "location",
];

function downloadTool(mayReplace: boolean): Tool {
  return {
    description: "Write all rows to a file. To continue an interrupted download, repeat the call.",
    flags: {
      file: { value: "NAME", help: `name, ending in .${FORMAT_NAMES.join(", .")}` },
      resource: {
        value: "NAME",
        choices: Object.keys(RESOURCE_COMMANDS),
        help: "default: records",
      },
      ...FILTER_FLAGS,
      ...flagsOf("records", "select", "limit", "tidy", "unit", "exclude-quality-control"),
      ...flagsOf("summary", "yes"),
      ...mayReplace ? flagsOf("records", "update", "force") : {},
    },
    required: ["file"],
    writesFiles: true,
    run: downloadFile,
  };
}

/** By name. `mayReplace` says whether a file may be replaced. */
export function createTools(mayReplace: boolean): Readonly<Record<string, Tool>> {
  return {
    find_values: {
      description: "Find the exact names that filters need, also by synonym or wrong spelling.",
      flags: {
        field: { value: "FIELD", choices: NAMED_FIELDS, help: "what to search" },
        search: { value: "TEXT", help: "name, in English or French" },
      },
      required: ["field", "search"],
      run: findValues,
    },
    find_locations: {
      description: "List monitoring locations: Id, name, position, type.",
      flags: FILTER_FLAGS,
      run: findLocations,
    },
    summary: {
      description: "Count results per group, with years, units and non-detects.",
      flags: {
        ...flagsOf("summary", "by", "yes"),
        ...FILTER_FLAGS,
        ...flagsOf("summary", "exclude-quality-control"),
      },
      run: summarizeRows,
    },
    preview: {
      description: "Show a few rows with value, unit, censoring and bounds.",
      flags: {
        limit: {
          value: "N",
          help: `rows, at most ${MAX_PREVIEW} (default: ${DEFAULT_PREVIEW})`,
        },
        ...FILTER_FLAGS,
        ...flagsOf("records", "select", "unit", "exclude-quality-control"),
      },
      run: previewRows,
    },
    download: downloadTool(mayReplace),
    cite: {
      description: "Cite the datasets that match.",
      flags: { ...FILTER_FLAGS, ...flagsOf("cite", "format") },
      run: citeDatasets,
    },
  };
}

const toTexts = (citations: readonly Citation[]) =>
  citations.map((citation) => citationsText([citation]).trim());

/** The licences of the datasets require citing them. */
async function citeRows(
  client: DataStream,
  rows: readonly Readonly<Record<string, unknown>>[],
  signal: AbortSignal,
): Promise<string[]> {
  const dois = rows.map(({ DOI }) => String(DOI));
  return dois.length === 0 ? [] : toTexts(await client.citations(undefined, { dois, signal }));
}

/** The values of the filter without rows, with near names. */
async function unmatched(
  { client, input }: CommandQuery,
  resource: ResourceName,
  rows: number,
  found?: Parameters<typeof unmatchedValues>[3],
): Promise<Answer> {
  const reasons = rows === 0
    ? await explainNoRows(client, resource, input)
    : await unmatchedValues(client, resource, input, found);
  return reasons.length === 0 ? {} : { unmatched: reasons.map(({ text }) => text) };
}

async function findValues({ flags, context }: ToolCall): Promise<Answer> {
  const [[name = ""] = [], [text = ""] = []] = [flags.get("field"), flags.get("search")];
  const field = VALUE_FIELDS[name];
  if (field !== undefined) {
    const names = new Map(KNOWN_VALUES[field]!.map((columns) => [columns[0]!, columns]));
    return {
      values: searchValues(field, text).slice(0, MAX_LISTED).map((value) => names.get(value)),
    };
  }
  const { client, input: { signal } } = await readCommandQuery("Locations", flags, context);
  const select = ["Id", "Name", "DOI"] as const;
  const rows = await client.locations({ select, signal }).toArray();
  const found = searchValues("Name", text, rows.map(({ Name }) => Name)).slice(0, MAX_LISTED);
  const locations = found.flatMap((name) => rows.filter(({ Name }) => Name === name));
  return {
    found: locations.length,
    ...toTable(locations),
    citations: await citeRows(client, locations, signal),
  };
}

const LOCATION_FIELDS = ["Id", "Name", "Latitude", "Longitude", "MonitoringLocationType", "DOI"];

async function findLocations({ flags, context }: ToolCall): Promise<Answer> {
  const query = await readCommandQuery("Locations", flags, context);
  const { client, input } = query;
  const options = { ...input, select: LOCATION_FIELDS, limit: MAX_LISTED };
  const rows = await client.query<ResourceName>("Locations", options).toArray();
  const isAll = rows.length < MAX_LISTED;
  return {
    locations: isAll ? rows.length : await client.query<ResourceName>("Locations", input).count(),
    ...isAll
      ? await unmatched(query, "Locations", rows.length, {
        DOI: rows.map(({ DOI }) => String(DOI)),
      })
      : {},
    ...toTable(rows),
    citations: await citeRows(client, rows, input.signal),
  };
}

async function summarizeRows({ flags, context }: ToolCall): Promise<Answer> {
  const query = await readCommandQuery("Observations", flags, context);
  await confirmReading(query);
  const { client, input } = query;
  const { filter, within, signal } = input;
  const by = flags.get("by")?.[0] as typeof SUMMARY_KEYS[number] | undefined;
  let notes: Parameters<typeof noteLines>[0];
  const groups = await client.summary({
    ...input,
    by,
    onProgress(progress) {
      notes = progress.notes;
      context.onProgress?.(progress);
    },
  });
  noteLines(notes).forEach(context.printError);
  const largest = groups.toSorted((a, b) => b.results - a.results).slice(0, MAX_LISTED);
  return {
    groups: groups.length,
    results: groups.reduce((sum, { results }) => sum + results, 0),
    ...await unmatched(query, "Observations", groups.length),
    censoring: "none: not censored, left: below a limit, right: above one, unknown: an interval " +
      "that is not stated, missing: not reported",
    ...toTable(largest.map((group) => ({ ...group }))),
    citations: groups.length === 0
      ? []
      : toTexts(await client.citations(filter, { within, signal })),
  };
}

const PREVIEW_FIELDS = [
  ...["MonitoringLocationName", "CharacteristicName", "MethodSpeciation"],
  ...["ResultSampleFraction", "ActivityStartDate", "ResultDetectionCondition"],
];

async function previewRows({ flags, context }: ToolCall): Promise<Answer> {
  const query = await readCommandQuery("Records", new Map([...flags, ["tidy", [""]]]), context);
  const { client, input } = query;
  const { limit = DEFAULT_PREVIEW, select = PREVIEW_FIELDS.join() } = input;
  const compared = comparedFields("Records", input.filter);
  let notes: Parameters<typeof noteLines>[0];
  const rows = await client.query<ResourceName>("Records", {
    ...input,
    limit: limit > MAX_PREVIEW ? MAX_PREVIEW : limit,
    select: [...new Set([...String(select).split(","), "DOI", ...compared])].join(),
    onProgress: (progress) => void (notes = progress.notes),
  }).toArray();
  noteLines(notes).forEach(context.printError);
  const isAll = rows.length < Math.min(limit, MAX_PREVIEW);
  const found = compared.map((field) => [field, rows.map((row) => String(row[field]))]);
  const years = hasDays(flags) ? "rows_of_whole_years" : "rows_of_query";
  return {
    [years]: isAll ? rows.length : await client.query<ResourceName>("Records", input).count(),
    ...isAll ? await unmatched(query, "Records", rows.length, Object.fromEntries(found)) : {},
    ...toTable(rows),
    citations: await citeRows(client, rows, input.signal),
  };
}

async function citeDatasets({ flags, context }: ToolCall): Promise<Answer> {
  const [name = "text"] = flags.get("format") ?? [];
  const { format } = CITATION_FORMATS[name as keyof typeof CITATION_FORMATS];
  const query = await readCommandQuery("Metadata", flags, context);
  const { filter, within, signal } = query.input;
  const citations = await query.client.citations(filter, { within, signal });
  return {
    datasets: citations.length,
    ...await unmatched(query, "Metadata", citations.length, {
      DOI: citations.map(({ doi }) => doi),
    }),
    citations: citations.map((citation) => format([citation]).trim()),
  };
}

type ReadFile = (path: string, fields: readonly PackageField[]) => string;

/** Code of Python that reads a file. */
const READERS: Readonly<Record<FileFormat, ReadFile>> = {
  csv: (path, fields) => `pandas.read_csv(${path}, ${csvArguments(fields)})`,
  "csv.gz": (path, fields) => `pandas.read_csv(${path}, ${csvArguments(fields)})`,
  tsv: (path, fields) => `pandas.read_csv(${path}, sep="\\t", ${csvArguments(fields)})`,
  ndjson: (path) => `pandas.read_json(${path}, lines=True)`,
  json: (path) => `json.load(open(${path}))["value"]`,
  geojson: (path) => `geopandas.read_file(${path})`,
  parquet: (path) => `pandas.read_parquet(${path})`,
  xlsx: (path) => `pandas.read_excel(${path}, keep_default_na=False, na_values=[""])`,
};

/** A column is text unless the package of the file says otherwise. */
function csvArguments(fields: readonly PackageField[]): string {
  const types = Object.entries(PYTHON_TYPES).flatMap(([type, written]) =>
    fields.filter((field) => field.type === type).map(({ name }) => `${name}=${written}`)
  );
  return `dtype=collections.defaultdict(${["lambda: str", ...types].join(", ")}), ` +
    PANDAS_ARGUMENTS;
}

/** Without a separator of folders, a colon, or a leading dot or hyphen. */
const FILE_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,99}$/u;

async function pathInFolder(folder: string, name: string): Promise<string> {
  if (!FILE_NAME.test(name)) {
    throw new UsageError(
      `--file must be a name without a folder, such as ph.csv, got "${name}": files are in ${folder}`,
    );
  }
  if (await realpath(folder) !== folder) {
    throw new FileError(`${folder} has become a symbolic link: start weir mcp again`);
  }
  const path = join(folder, name);
  for (const written of pathsOf(path)) {
    const found = await statIfExists(written, lstat);
    if (found?.isFile() === false) {
      throw new FileError(`${written} is a link or not a file: choose another name`);
    }
  }
  return path;
}

async function downloadFile({ flags, context, folder }: ToolCall): Promise<Answer> {
  const [[file = ""] = [], [command = "records"] = []] = [flags.get("file"), flags.get("resource")];
  const resource = RESOURCE_COMMANDS[command]!;
  const path = await pathInFolder(folder, file);
  const given = new Map([...flags, ["output", [path]]]);
  const query = await readCommandQuery(resource, given, context);
  const isSmall = (query.input.limit ?? Infinity) <= MAX_UNCONFIRMED;
  if (isMeasured(resource) && !isSmall) await confirmReading(query);
  await download({ command, operand: undefined, flags: given }, context);
  const written: FilePackage = JSON.parse(await readFile(packagePath(path), "utf8"));
  const { resources: [{ rows, bytes, hash, schema }], created, sources = [], weir } = written;
  return {
    path,
    ...{ rows, bytes, hash, created },
    how_to_read: READERS[weir.query.format as FileFormat](JSON.stringify(path), schema.fields),
    package: packagePath(path),
    citations: sources.map(({ citation, licence }) => `${citation}\nLicence: ${licence}`),
  };
}
