import { html } from "hono/html";
import { endpoint } from "../../src/endpoint/endpoint.ts";
import { type FileFormat, FORMATS, formatsOf, missingFields } from "../../src/formats/formats.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import type { Settings } from "../options.ts";
import type { FormQuery } from "./form.ts";

export interface DownloadLink {
  label: string;
  url: string;
  format: FileFormat;
}

export interface Links {
  /** CSV, CSV for Excel, then the other formats. */
  buttons: readonly DownloadLink[];
  csv: string;
  excel: string;
  /** Set if the URLs are signed. */
  expires: Date | undefined;
}

const DAY = 86_400_000;

export async function createLinks(
  { access, signingSecret, now }: Settings,
  origin: string,
  days: number,
  query: FormQuery,
): Promise<Links> {
  const { resource, select } = query;
  const expires = access === "signed" ? new Date(now() + days * DAY) : undefined;
  const createUrl = async (format: FileFormat, csvOptions: Record<string, string> = {}) => {
    const path = `/${resource}.${FORMATS[format].extension}`;
    const url = downloadUrl(origin, path, query, csvOptions);
    return expires ? await signUrl(url, { secret: signingSecret, expires }) : url;
  };
  const csv = await createUrl("csv");
  const excel = await createUrl("csv", { bom: "true", escapeFormulas: "true" });
  const buttons: DownloadLink[] = [
    { label: `Download ${FORMATS.csv.label}`, url: csv, format: "csv" },
    { label: `${FORMATS.csv.label} for Excel`, url: excel, format: "csv" },
  ];
  for (const format of formatsOf(resource)) {
    if (format === "csv" || missingFields(format, select).length > 0) continue;
    buttons.push({ label: FORMATS[format].label, url: await createUrl(format), format });
  }
  return { buttons, csv, excel, expires };
}

function downloadUrl(
  origin: string,
  path: string,
  { filter, select, within }: FormQuery,
  csvOptions: Record<string, string>,
): string {
  const parameters = {
    $filter: filter,
    $select: select?.join(","),
    bbox: within && [within.west, within.south, within.east, within.north].join(","),
    ...csvOptions,
  };
  return endpoint({ method: "GET", baseUrl: origin, url: path, ...parameters }).url;
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

export function renderDisabledButtons(buttons: readonly DownloadLink[]): ReturnType<typeof html> {
  return html`
    <p class="buttons" role="group" aria-label="Downloads" aria-describedby="settings no-rows">
      ${buttons.map(({ label }) =>
        html`<button type="button" class="button" disabled>${label}</button>`
      )}
    </p>
    <p id="no-rows">There is nothing to download.</p>
  `;
}

export function renderButtons(
  buttons: readonly DownloadLink[],
  needsHeader: boolean,
): ReturnType<typeof html> {
  const state = needsHeader && html`data-needs-header hidden`;
  return html`
    <p class="buttons" role="group" aria-label="Downloads" aria-describedby="settings">
      ${buttons.map(({ label, url, format }) =>
        html`
          <a class="button" rel="nofollow" download href="${toPath(url)}" data-format="${format}"
            ${state}>${label}</a>
        `
      )}
    </p>
    ${needsHeader &&
      html`<noscript><p>Without JavaScript, use the curl command below.</p></noscript>`}
    <p id="download-status" role="status"></p>
  `;
}

/** So that a link works at any origin at which the page was opened. */
function toPath(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}
