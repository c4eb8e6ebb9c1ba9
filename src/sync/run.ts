// The query of a mirror, checked, and the requests that follow from it.
import type { DataStream } from "../client/datastream.ts";
import type { Progress, Query } from "../client/query.ts";
import { columnNamesIn } from "../formats/formats.ts";
import { TIDY_COLUMNS } from "../formats/tidy.ts";
import { type Clause, formatClauses, listClauses } from "../odata/clause.ts";
import { clausesOf, toWiderMetadataFilter } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import type { Folder } from "./folder.ts";
import type { MirrorQuery } from "./manifest.ts";
import { MIRROR_FORMATS, MIRROR_RESOURCES, type SyncOptions, type SyncQuery } from "./options.ts";

/** A call of `sync()`. */
export interface Run {
  client: DataStream;
  folder: Folder;
  options: SyncOptions;
  resource: NonNullable<SyncQuery["resource"]>;
  format: NonNullable<SyncQuery["format"]>;
  /** Format of the files. */
  fileFormat: "parquet" | "csv";
  /** Absent if the query does not say it. */
  allowInvalid: boolean | undefined;
  tidy: boolean;
  /** Time in ms since 1970. */
  now(): number;
  /** Filter of the datasets that can have rows. */
  metadataFilter: string | undefined;
  mirrorQuery: MirrorQuery;
  /** Query of the rows of some datasets, or of all. */
  rowsOf(
    dois: readonly string[],
    onProgress?: (progress: Progress) => void,
  ): Query<Record<string, unknown>>;
  locationsOf(doi: string): Query<Record<string, unknown>>;
}

/** @throws {ValidationError} If an option of the query is invalid */
export function createRun(
  client: DataStream,
  {
    resource = MIRROR_RESOURCES[0],
    format = MIRROR_FORMATS[0],
    invalidValues,
    ...query
  }: SyncQuery,
  folder: Folder,
  options: SyncOptions,
): Run {
  const { signal } = options;
  // What is accepted changes no row of a dataset that did not need it.
  const { within, filter, incomplete: _, ...rules } = query;
  const clauses = clausesOf(filter);
  const fileFormat = format === "csv" ? "csv" : "parquet";
  const rowsOf: Run["rowsOf"] = (dois, onProgress) =>
    client.query<ResourceName>(resource, {
      ...query,
      filter: dois.length === 0 ? filter : ofDatasets(clauses, dois),
      signal,
      onProgress,
    });
  // Checks the options. The URL has the address of the service and the filter as they are sent.
  const url = new URL(rowsOf([]).url);
  const columns = columnNamesIn(fileFormat, resource, fieldNames(resource));
  return {
    client,
    folder,
    options,
    resource,
    format,
    fileFormat,
    allowInvalid: invalidValues && invalidValues === "null",
    tidy: query.tidy === true,
    now: options.now ?? Date.now,
    metadataFilter: toWiderMetadataFilter(query),
    mirrorQuery: {
      query: {
        resource,
        service: url.href.slice(0, url.href.indexOf(`/${resource}`)),
        filter: normalize(clauses),
        ...withoutDefaults({ within, ...rules }),
        format,
      },
      columns: [...columns, ...query.tidy ? TIDY_COLUMNS : []],
    },
    rowsOf,
    locationsOf: (doi) =>
      client.query<ResourceName>("Locations", {
        within,
        filter: ofDatasets(clauses, [doi]),
        signal,
      }),
  };
}

/** Replaces conditions on DOIs, with which the datasets were found. */
function ofDatasets(clauses: readonly Clause[], dois: readonly string[]): string {
  return formatClauses([
    ...clauses.filter(({ field }) => field !== "DOI"),
    ...listClauses("DOI", dois),
  ]);
}

/** Returns the same text for the same clauses in another order; `undefined` for none. */
function normalize(clauses: readonly Clause[]): string | undefined {
  const texts = clauses.map((clause) => {
    const values = clause.values.toSorted((a, b) => a.text < b.text ? -1 : 1);
    const isOne = clause.operator === "in" && values.length === 1;
    return formatClauses([{ ...clause, operator: isOne ? "eq" : clause.operator, values }]);
  });
  return texts.sort().join(" and ") || undefined;
}

function withoutDefaults(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== false),
  );
}
