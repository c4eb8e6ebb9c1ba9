// The files that the page offers: their names, sizes and URLs.
import { endpoint } from "../../src/endpoint/endpoint.ts";
import { MAXIMUM_TOP } from "../../src/odata/resources.ts";
import { fold } from "../../src/odata/value_hints.ts";
import { DEFAULT_LIFETIME_DAYS, signUrl } from "../../src/signing/signed_url.ts";
import { MAX_NAME_LENGTH, toFileName } from "../downloads/headers.ts";
import type { Settings } from "../http/options.ts";
import { nameInForm } from "./characteristics.ts";
import { selectedFields } from "./fields.ts";
import type { Form } from "./form.ts";
import type { DatasetInfo, Place, Results } from "./load.ts";
import { type OfferedFile, type ToolId, TOOLS } from "./tools.ts";

/**
 * Bytes per row of a file: average of the sandbox's records, and of its locations as GeoJSON. The tidy columns have
 * `tidy` bytes more than the result in their place.
 */
const SANDBOX_BYTES = { main: 181, tidy: 37, others: 171, location: 436 };
/** Size compared with CSV. NDJSON repeats the names in each row; measured with the same records. */
const SIZE_RATIOS = { csv: 1, parquet: 1 / 11, ndjson: 2.6, xlsx: 0.5 };
const ALL_NDJSON_RATIO = 4.3;
/** Seconds for a page of `MAXIMUM_TOP` rows: two requests per second, and their transfer. */
const PAGE_SECONDS = 2;
/** Estimates the rows, bytes and seconds of a download. */
export function estimateSize(
  tool: ToolId,
  form: Form,
  results: Results,
): { rows: number; bytes: number; seconds: number } {
  const { resource, extension } = TOOLS[tool];
  const { list, missing } = results.locations;
  const rows = resource === "Records" ? results.count : list.length + missing;
  const seconds = Math.ceil(rows / MAXIMUM_TOP) * PAGE_SECONDS;
  if (extension === "geojson") return { rows, bytes: rows * SANDBOX_BYTES.location, seconds };
  const { main, tidy, others } = SANDBOX_BYTES;
  const hasAll = form.columns === "all";
  const csv = main + (form.tidy === "1" ? tidy : 0) + (hasAll ? others : 0);
  const ratio = hasAll && extension === "ndjson" ? ALL_NDJSON_RATIO : SIZE_RATIOS[extension];
  return { rows, bytes: rows * csv * ratio, seconds };
}

const DAY = 86_400_000;

/** What the URL and the name of a file depend on. */
export interface FileContent {
  settings: Settings;
  origin: string;
  form: Form;
  results: Place;
  datasets: readonly DatasetInfo[] | undefined;
}

export function fileNameOf(content: FileContent, { extension }: OfferedFile): string {
  return toFileName(slugOf(content), extension, content.settings.synthetic);
}

/** Returns when links expire, if the server requires signed ones. */
export function expiryOf({ access, now }: Settings): Date | undefined {
  return access === "signed" ? new Date(now() + DEFAULT_LIFETIME_DAYS * DAY) : undefined;
}

/** Returns the URL of a file, signed if the server requires it. */
export async function createLink(content: FileContent, file: OfferedFile): Promise<string> {
  const { settings, origin, form, results: { selection: { filter, within } } } = content;
  const isMeasured = file.resource === "Records";
  const { url } = endpoint({
    method: "GET",
    baseUrl: origin,
    url: `/${file.resource}.${file.extension}`,
    $filter: filter,
    $select: isMeasured && form.columns !== "all" ? selectedFields(form).join(",") : undefined,
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
    ...(isMeasured && form.tidy === "1" && { tidy: "true" }),
    ...file.parameters,
    ...(file.isTranslated && { lang: form.locale.language }),
    ...(file.resource !== "Citations" && { filename: slugOf(content) }),
  });
  const expires = expiryOf(settings);
  return expires ? await signUrl(url, { secret: settings.signingSecret, expires }) : url;
}

/** Characters of the first part of a file name, and of the years or version. The place has the rest. */
const [MAX_WHAT, MAX_YEARS] = [24, 18];

/** Such as `total-phosphorus-lake-winnipeg-2015-2024`, in the language of the form. */
function slugOf({ form, results, datasets }: FileContent): string {
  const { characteristics, datasets: [doi], locations, from, to, locale } = form;
  const { text, formatPlural, formatYears } = locale;
  const what = characteristics.length > 1
    ? formatPlural("characteristics", characteristics.length)
    : nameInForm(characteristics[0] ?? "", locale).replace(/,.*/, "");
  const dataset = datasets?.find((dataset) => dataset.doi === doi);
  const [, suffix = ""] = doi?.split("/") ?? [];
  const place = results.placeName ||
    (form.datasets.length > 1
      ? formatPlural("datasets", form.datasets.length)
      : [suffix, dataset?.name].filter(Boolean).join(" ")) ||
    (locations.length > 1
      ? formatPlural("locations", locations.length)
      : locations.length === 1
      ? `${text.location} ${locations[0]}`
      : results.selection.within
      ? text.box
      : "canada");
  // A version says more of a dataset than its years.
  const years = formatYears(from, to) || (dataset?.version ? `v${dataset.version}` : text.allYears);
  const first = cut(toSlug(what), MAX_WHAT);
  const last = cut(fold(years).replace(/[^\w.]+/g, "-"), MAX_YEARS);
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
