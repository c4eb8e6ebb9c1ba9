import type { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { DataStream } from "../../src/client/datastream.ts";
import { DataStreamError, oneLine } from "../../src/errors.ts";
import { placeBox } from "../../src/odata/place_box.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import { BadOption } from "../downloads/bad_option.ts";
import type { Downloads } from "../downloads/downloads.ts";
import { formatsOf } from "../downloads/formats.ts";
import { HttpProblem } from "../downloads/problem.ts";
import { queryOf } from "../downloads/resource_query.ts";
import { DatasetList } from "./dataset_list.ts";
import { renderDocument } from "./document.ts";
import { downloadUrl, type Form, type FormQuery, readForm, toFormQuery } from "./form.ts";
import { toLines } from "./lines.ts";
import { type DownloadLink, type Html, renderResults, type Results } from "./results.ts";
import { SCRIPT } from "./script.ts";
import { ICON, STYLE } from "./style.ts";

/** So many rows are previewed. */
const PREVIEW = 20;
/** The longest that a signed URL of the page holds, in days. */
const MOST_DAYS = 366;
/** Nobody has more to say, in bytes. */
const LONGEST_FORM = 100_000;

/**
 * Adds the page and its files to the app, where there is a page: who may not show a token could
 * count and preview nothing.
 *
 * @param paths Told of each path, with its methods
 */
export function addPage(app: Hono, paths: Map<string, string>, downloads: Downloads): void {
  const { access, tokens } = downloads.settings;
  const takesToken = access === "signed" || access === "token";
  if (takesToken && tokens.length === 0) return;
  for (const [path, { type, body }] of Object.entries(FILES)) {
    paths.set(path, "GET, HEAD");
    const headers = { "content-type": type, "cache-control": "public, max-age=300" };
    app.get(path, () => new Response(body, { headers }));
  }
  const page = new Page(downloads);
  paths.set("/", takesToken ? "GET, HEAD, POST" : "GET, HEAD");
  app.get("/", ({ req }) => page.answer(req.raw, new URL(req.url).searchParams));
  if (!takesToken) return;
  // The token of a form without script; in a URL it would be kept in many places.
  app.post("/", bodyLimit({ maxSize: LONGEST_FORM, onError: tooLong }), async ({ req }) => {
    const sent = new URLSearchParams(await req.text());
    const token = sent.get("token") || undefined;
    return page.answer(req.raw, sent, token);
  });
}

function tooLong(): never {
  throw new HttpProblem({
    status: 413,
    title: "Form too large",
    detail: `Wanted a form of at most ${LONGEST_FORM} bytes`,
    hint: "choose fewer datasets or fields",
  });
}

const FILES: Record<string, { type: string; body: string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: SCRIPT },
  "/weir.svg": { type: "image/svg+xml", body: ICON },
};

class Page {
  readonly #downloads: Downloads;
  readonly #datasets: DatasetList;

  constructor(downloads: Downloads) {
    this.#downloads = downloads;
    this.#datasets = new DatasetList(downloads.settings.clock);
  }

  async answer(request: Request, sent: URLSearchParams, token?: string): Promise<Response> {
    const { settings, access } = this.#downloads;
    const headers = {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      ...(access.vary && { vary: access.vary }),
    };
    if (request.method === "HEAD") return new Response(null, { headers });
    const form = readForm(sent);
    let status = 200;
    const alerts: string[] = [];
    const note = (problem: HttpProblem) => {
      status = problem.problem.status;
      alerts.push(`${problem.problem.detail}: ${problem.problem.hint}`);
    };
    /** What a person is told on the page, and not as a problem. */
    const orNote = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (error instanceof HttpProblem) return void note(error);
        if (!isOfForm(error)) throw error;
        status = 400;
        alerts.push(oneLine(error));
      }
    };
    const client = await orNote(() => access.admitToPage(request, token));
    const datasets = client
      ? await orNote(() => this.#ask(() => this.#datasets.get(client, request.signal)))
      : undefined;
    const isAsked = sent.has("endpoint");
    if (isAsked && client === undefined && settings.access !== "caller" && alerts.length === 0) {
      status = 401;
      alerts.push("A token is needed to count, preview and make links: give yours above");
    }
    const results = isAsked && alerts.length === 0
      ? await orNote(() => this.#results(request, form, client))
      : undefined;
    const { access: mode, synthetic } = settings;
    const alert = alerts.join(" ") || undefined;
    const document = { access: mode, synthetic, form, datasets, alert, results };
    return new Response(String(await renderDocument(document)), { status, headers });
  }

  /** What the form came to; before the caller has said who it is, its URLs at most. */
  async #results(
    request: Request,
    form: Form,
    client: DataStream | undefined,
  ): Promise<Html> {
    const { settings: { access } } = this.#downloads;
    const query = toFormQuery(form);
    const found = client && await this.#ask(() => find(client, query, request.signal));
    const { links, excel, expires } = await this.#links(new URL(request.url).origin, form, query);
    const name = query.resource.toLowerCase();
    return renderResults({
      access,
      resource: query.resource,
      links,
      lines: toLines(access, links[0]!.url, excel, name),
      found,
      expires,
    });
  }

  async #links(
    origin: string,
    { days }: Form,
    query: FormQuery,
  ): Promise<{ links: DownloadLink[]; excel: string; expires: Date | undefined }> {
    const { settings: { access, signingSecret, now } } = this.#downloads;
    const { resource, select } = query;
    // A map needs the position.
    const isPlaced = ["Longitude", "Latitude"].every((name) =>
      select?.split(",").includes(name) ?? true
    );
    const formats = formatsOf(resource).filter((format) => format !== "geojson" || isPlaced);
    const held = Math.min(Math.max(1, Math.floor(Number(days)) || 1), MOST_DAYS);
    const expires = access === "signed" ? new Date(now() + held * 86_400_000) : undefined;
    const urlOf = async (extension: string, more?: Record<string, string>) => {
      const url = downloadUrl(origin, `/${resource}.${extension}`, query, more);
      return expires ? await signUrl(url, { secret: signingSecret, expires }) : url;
    };
    const excel = await urlOf("csv", { bom: "true", escapeFormulas: "true" });
    const links: DownloadLink[] = [];
    for (const format of formats) {
      links.push({ label: LABELS[format], url: await urlOf(format), format });
      if (format === "csv") links.push({ label: "CSV for Excel", url: excel, format });
    }
    return { links, excel, expires };
  }

  /** Asks the service, in a place among the open downloads. */
  #ask<T>(work: () => Promise<T>): Promise<T> {
    return this.#downloads.hold(this.#downloads.enter(), work);
  }
}

const LABELS = { csv: "Download CSV", ndjson: "NDJSON", json: "JSON", geojson: "GeoJSON" };

/** Counts, previews and cites what a query gives. */
async function find(
  client: DataStream,
  { resource, select, filter, box }: FormQuery,
  signal: AbortSignal,
): Promise<Results["found"]> {
  const all = queryOf(client, resource, { select, filter, box, signal });
  const some = queryOf(client, resource, { select, filter, box, signal, limit: PREVIEW });
  const count = await all.count();
  const rows = await some.toArray() as Record<string, unknown>[];
  const citations = count === 0
    ? []
    : await client.citations(placeBox("Metadata", filter, box).filter, { signal });
  return { count, rows, citations };
}

/** Whether an error is about what the form holds. */
function isOfForm(error: unknown): boolean {
  if (error instanceof DataStreamError) return false;
  return error instanceof BadOption || error instanceof TypeError ||
    error instanceof SyntaxError || error instanceof RangeError;
}
