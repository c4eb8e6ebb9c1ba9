import { signUrl } from "../../src/signing/signed_url.ts";
import type { Settings } from "../options.ts";
import { type FormatName, FORMATS, formatsOf, missingFields } from "../../src/formats/formats.ts";
import { downloadUrl, type Form, type FormQuery } from "./form.ts";

/** A button of the page that downloads. */
export interface DownloadLink {
  label: string;
  url: string;
  format: FormatName;
}

/** The URLs that a form came to. */
interface Links {
  /** The first is the CSV. */
  buttons: readonly DownloadLink[];
  /** The CSV for Excel. */
  excel: string;
  /** Until when they hold, where they are signed. */
  expires: Date | undefined;
}

/**
 * Makes the URLs of a form, signed where access is by signature.
 *
 * @param origin Where this server is reached
 */
export async function makeLinks(
  { access, signingSecret, now }: Settings,
  origin: string,
  { days }: Form,
  query: FormQuery,
): Promise<Links> {
  const { resource, select } = query;
  const selected = select?.split(",");
  const formats = formatsOf(resource).filter((format) =>
    missingFields(format, selected).length === 0
  );
  const expires = access === "signed" ? new Date(now() + Number(days) * 86_400_000) : undefined;
  const urlOf = async (extension: string, more?: Record<string, string>) => {
    const url = downloadUrl(origin, `/${resource}.${extension}`, query, more);
    return expires ? await signUrl(url, { secret: signingSecret, expires }) : url;
  };
  const excel = await urlOf("csv", { bom: "true", escapeFormulas: "true" });
  const buttons: DownloadLink[] = [];
  for (const [index, format] of formats.entries()) {
    const { label } = FORMATS[format];
    buttons.push({
      label: index === 0 ? `Download ${label}` : label,
      url: await urlOf(format),
      format,
    });
    if (format === "csv") buttons.push({ label: "CSV for Excel", url: excel, format });
  }
  return { buttons, excel, expires };
}

/**
 * Where a caller reaches this server: behind a proxy that ends TLS, as the proxy says. It is for the
 * lines on the caller's own page alone.
 */
export function originOf({ url, headers }: Request): string {
  const { protocol, host } = new URL(url);
  const first = (name: string) => headers.get(name)?.split(",")[0]?.trim().toLowerCase();
  const scheme = first("x-forwarded-proto");
  const told = `${scheme === "https" || scheme === "http" ? `${scheme}:` : protocol}//${
    first("x-forwarded-host") ?? host
  }`;
  const isOrigin = URL.canParse(told) && new URL(told).href === `${new URL(told).origin}/`;
  return isOrigin ? new URL(told).origin : new URL(url).origin;
}
