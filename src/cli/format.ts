import type { ResourceName } from "../odata/resources.ts";
import { formatHint } from "./near_misses.ts";
import { UsageError } from "./usage_error.ts";

/** A format of rows. */
export type Format = "csv" | "ndjson" | "json" | "geojson";

const EXTENSIONS: Record<string, Format> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  geojson: "geojson",
};

/**
 * The format to write: as it is said, else as the file's name ends, else CSV.
 *
 * @throws {UsageError} If there is no such format, or the resource has none, or the name says none
 */
export function readFormat(
  resource: ResourceName,
  said: string | undefined,
  file: string | undefined,
): Format {
  const extension = file && /\.([^./\\]+)$/.exec(file)?.[1]?.toLowerCase();
  const names = [...new Set(Object.values(EXTENSIONS))];
  const format = said === undefined
    ? extension ? EXTENSIONS[extension] : "csv"
    : names.find((name) => name === said);
  if (format === undefined) {
    throw new UsageError(
      said === undefined
        ? `The name "${file}" does not end in a format: pass --format with one of ${
          names.join(", ")
        }`
        : `There is no format "${said}": ${formatHint(said, names)}`,
    );
  }
  if (format === "geojson" && resource !== "Locations") {
    throw new UsageError(
      `GeoJSON is of locations alone: ask for ${resource} as one of ${
        names.filter((name) => name !== "geojson").join(", ")
      }`,
    );
  }
  return format;
}
