// The link and the size of a download.
import { endpoint } from "../../src/endpoint/endpoint.ts";
import { FORMATS } from "../../src/formats/formats.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import type { Settings } from "../options.ts";
import { characteristicName, findCharacteristic } from "./characteristics.ts";
import type { Form, RowSelection } from "./form.ts";
import { fold, GROUP_NAMES } from "./text.ts";
import { type Tool, type ToolId, TOOLS } from "./tools.ts";

/** Fields of `/Records` that most readers need. */
export const MAIN_FIELDS: readonly string[] = [
  "DatasetName",
  "MonitoringLocationName",
  "MonitoringLocationLatitude",
  "MonitoringLocationLongitude",
  "ActivityMediaName",
  "ActivityStartDate",
  "CharacteristicName",
  "MethodSpeciation",
  "ResultSampleFraction",
  "ResultValue",
  "ResultUnit",
  "ResultDetectionCondition",
];

/** Bytes of a row of the sandbox in CSV. */
const ROW_BYTES = { main: 150, all: 460, tidy: 60 };
/** Seconds for a page of 10,000 rows: two requests per second, and their transfer. */
const PAGE_SECONDS = 2;
const ROWS_PER_REQUEST = 10_000;

/** Estimated bytes and seconds of a download. */
export function estimateSize(rows: number, form: Form): { bytes: number; seconds: number } {
  const perRow = (form.hasAllColumns ? ROW_BYTES.all : ROW_BYTES.main) +
    (form.isTidy ? ROW_BYTES.tidy : 0);
  return { bytes: rows * perRow, seconds: Math.ceil(rows / ROWS_PER_REQUEST) * PAGE_SECONDS };
}

const DAY = 86_400_000;
const MAX_SLUG = 60;

/** Such as `total-phosphorus-lake-winnipeg-2015-2024`. */
export function slugOf(form: Form, placeName: string): string {
  const [first] = form.characteristics;
  const found = first === undefined ? undefined : findCharacteristic(first);
  const what = form.characteristics.length !== 1 || found === undefined
    ? form.characteristics.length > 1 ? `${form.characteristics.length}-characteristics` : ""
    : found.group !== undefined
    ? GROUP_NAMES[form.language][found.group]
    : characteristicName(found.names[0]!, form.language).replace(/,.*/, "");
  const years = form.from === form.to ? form.from : [form.from, form.to].filter(Boolean).join("-");
  const parts = [what, placeName || form.where || "canada", years].map((part) =>
    fold(part).replace(/[^a-z\d]+/g, "-").replace(/^-|-$/g, "")
  );
  return parts.filter((part) => part !== "").join("-").slice(0, MAX_SLUG).replace(/-$/, "");
}

export interface DownloadLink {
  url: string;
  /** File name with extension. */
  file: string;
  /** Set if the URL is signed. */
  expires?: Date | undefined;
}

/** Returns the URL of the file for a tool, signed if the server requires it. */
export async function createLink(
  { access, signingSecret, now, synthetic }: Settings,
  origin: string,
  form: Form,
  { filter, within }: RowSelection,
  tool: ToolId,
  name: string,
): Promise<DownloadLink> {
  const { resource, format, parameters }: Tool = TOOLS[tool];
  const isMeasured = resource === "Records";
  const { extension } = FORMATS[format];
  const { url } = endpoint({
    method: "GET",
    baseUrl: origin,
    url: `/${resource}.${extension}`,
    $filter: filter,
    $select: isMeasured && !form.hasAllColumns ? MAIN_FIELDS.join(",") : undefined,
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
    ...(isMeasured && form.isTidy && { tidy: "true" }),
    ...parameters,
    filename: name,
  });
  const file = `${synthetic ? "synthetic-" : ""}${name}.${extension}`;
  if (access !== "signed") return { url, file };
  const expires = new Date(now() + Number(form.days) * DAY);
  return { url: await signUrl(url, { secret: signingSecret, expires }), file, expires };
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
