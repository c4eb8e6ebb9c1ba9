// The files that the page offers: their names, sizes and URLs.
import { utf8Encoder } from "../../src/bytes.ts";
import { endpoint } from "../../src/endpoint/endpoint.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import { MAX_NAME_LENGTH, toFileName } from "../downloads/headers.ts";
import type { Settings } from "../options.ts";
import { findCharacteristic } from "./characteristics.ts";
import { FURTHER_FIELDS, MAIN_FIELDS, TABLE_FIELDS } from "./fields.ts";
import type { Form, RowSelection } from "./form.ts";
import type { DatasetInfo, Results } from "./load.ts";
import { fold, formatYears, GROUP_NAMES } from "./text.ts";
import { type OfferedFile, type ToolId, TOOLS } from "./tools.ts";

/** Average bytes per row of the sandbox's 40,000 records as CSV, and of its 60 locations as GeoJSON. */
const SANDBOX_BYTES = { main: 153, tidy: 49, others: 188, location: 436 };
/** Average bytes of the columns that the page does not read: names of dataset and location, and coordinates. */
const NAMES_BYTES = 80;
/** Size compared with CSV. NDJSON repeats the names in each row; measured with the same records. */
const SIZE_RATIOS = { parquet: 1 / 20, ndjsonMain: 2.8, ndjsonAll: 4.5 };
const SAMPLE_ROWS = 500;
/** Seconds for a page of 10,000 rows: two requests per second, and their transfer. */
const PAGE_SECONDS = 2;
/** Fields that are not in the sample. Only a table with all columns has the further fields, which `SANDBOX_BYTES` covers. */
const UNSAMPLED = [
  ...TABLE_FIELDS.filter((field) => !MAIN_FIELDS.includes(field)),
  ...["Id", ...FURTHER_FIELDS],
];
const ROWS_PER_REQUEST = 10_000;

/** Estimates the rows, bytes and seconds of a download from the rows that the page has read. */
export function estimateSize(
  tool: ToolId,
  form: Form,
  results: Results,
): { rows: number; bytes: number; seconds: number } {
  const { resource, extension } = partsOf(TOOLS[tool]);
  const { list, missing } = results.locations;
  const rows = resource === "Records" ? results.count : list.length + missing;
  const hasAll = form.columns === "all";
  const sample = results.rows.slice(0, SAMPLE_ROWS).map((row) =>
    Object.keys(row).filter((field) => !UNSAMPLED.includes(field)).map((field) => row[field]).join()
  );
  const read = sample.length > 0 ? utf8Encoder.encode(sample.join()).length / sample.length : 0;
  const csv = (read > 0 ? read + NAMES_BYTES : SANDBOX_BYTES.main + SANDBOX_BYTES.tidy) -
    (form.tidy === "1" ? 0 : SANDBOX_BYTES.tidy) + (hasAll ? SANDBOX_BYTES.others : 0);
  const { parquet, ndjsonMain, ndjsonAll } = SIZE_RATIOS;
  const perRow: Record<string, number> = {
    csv,
    parquet: csv * parquet,
    ndjson: csv * (hasAll ? ndjsonAll : ndjsonMain),
    geojson: SANDBOX_BYTES.location,
  };
  const seconds = Math.ceil(rows / ROWS_PER_REQUEST) * PAGE_SECONDS;
  return { rows, bytes: rows * perRow[extension]!, seconds };
}

function partsOf({ path }: OfferedFile): { resource: string; extension: string } {
  const [resource = "", extension = ""] = path.slice(1).split(".");
  return { resource, extension };
}

const DAY = 86_400_000;

export interface Downloads {
  /** Returns the name of the file of a tool. */
  nameOf: (tool: ToolId) => string;
  urls: { csv: string; parquet: string };
  expires: Date | undefined;
}

export interface LinkContext {
  settings: Settings;
  origin: string;
  form: Form;
  selection: RowSelection;
  placeName: string;
  datasets: readonly DatasetInfo[] | undefined;
}

export async function createDownloads(context: LinkContext): Promise<Downloads> {
  const { settings, form } = context;
  const prefix = settings.synthetic ? "synthetic-" : "";
  const slug = slugOf(context);
  return {
    nameOf: (tool) => prefix + toFileName(slug, partsOf(TOOLS[tool]).extension),
    urls: {
      csv: await createLink(context, TOOLS.r),
      parquet: await createLink(context, TOOLS.duckdb),
    },
    expires: expiryOf(form, settings),
  };
}

function expiryOf({ days }: Form, { access, now }: Settings): Date | undefined {
  return access === "signed" ? new Date(now() + Number(days) * DAY) : undefined;
}

/** Returns the URL of a file, signed if the server requires it. */
export async function createLink(context: LinkContext, file: OfferedFile): Promise<string> {
  const { settings, origin, form, selection: { filter, within } } = context;
  const { resource } = partsOf(file);
  const isMeasured = resource === "Records";
  const { url } = endpoint({
    method: "GET",
    baseUrl: origin,
    url: file.path,
    $filter: filter,
    $select: isMeasured && form.columns !== "all" ? MAIN_FIELDS.join(",") : undefined,
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
    ...(isMeasured && form.tidy === "1" && { tidy: "true" }),
    ...file.parameters,
    ...(resource !== "Citations" && { filename: slugOf(context) }),
  });
  const expires = expiryOf(form, settings);
  return expires ? await signUrl(url, { secret: settings.signingSecret, expires }) : url;
}

/** Characters of the first part of a file name, and of the years or version. The place has the rest. */
const [MAX_WHAT, MAX_YEARS] = [24, 15];

/** Such as `total-phosphorus-lake-winnipeg-2015-2024`, in both languages. */
function slugOf({ form, placeName, datasets }: LinkContext): string {
  const { characteristics, from, to } = form;
  const { names, group } = findCharacteristic(characteristics[0] ?? "");
  const what = characteristics.length > 1
    ? `${characteristics.length}-characteristics`
    : group !== undefined
    ? GROUP_NAMES.en[group]
    : names[0]!.replace(/,.*/, "");
  const [doi] = form.datasets;
  const dataset = datasets?.find((dataset) => dataset.doi === doi);
  const [, suffix = ""] = doi?.split("/") ?? [];
  const place = placeName || form.where ||
    (form.datasets.length > 1
      ? `${form.datasets.length}-datasets`
      : [suffix, dataset?.name].filter(Boolean).join(" ")) ||
    "canada";
  // A version says more of a dataset than its years.
  const all = dataset?.version ? `v${dataset.version}` : "all-years";
  const years = from || to ? formatYears(from, to, "en") : all;
  const first = cut(toSlug(what), MAX_WHAT);
  const last = cut(years.replace(/[^\w.]+/g, "-"), MAX_YEARS);
  const hyphens = 2;
  const rest = MAX_NAME_LENGTH - first.length - last.length - hyphens;
  return [first, cut(toSlug(place), rest), last].filter(Boolean).join("-");
}

function toSlug(text: string): string {
  return fold(text).replace(/[^a-z\d]+/g, "-").replace(/^-|-$/g, "");
}

/** Leaves out a word that would be cut. */
function cut(slug: string, length: number): string {
  return slug.length > length ? slug.slice(0, length).replace(/-[^-]*$/, "") : slug;
}

/** A client can forge the headers of a proxy: use it only in the response to the same client. */
export function publicOrigin({ url, headers }: Request): string {
  const { protocol, host, origin } = new URL(url);
  const first = (name: string) => headers.get(name)?.split(",")[0]?.trim().toLowerCase();
  const proto = first("x-forwarded-proto");
  const scheme = proto === "https" || proto === "http" ? `${proto}:` : protocol;
  const forwarded = `${scheme}//${first("x-forwarded-host") ?? host}`;
  if (!URL.canParse(forwarded)) return origin;
  const { href, origin: forwardedOrigin } = new URL(forwarded);
  // A host with a path or a user name is not an origin.
  return href === `${forwardedOrigin}/` ? forwardedOrigin : origin;
}

/** Removes the origin, so that a link works at any origin of the page. */
export function toPath(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}
