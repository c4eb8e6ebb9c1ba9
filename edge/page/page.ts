// The routes of the web page.
import { html } from "hono/html";
import { bodyLimit } from "hono/body-limit";
import { CITATION_FORMATS } from "../../src/formats/citations.ts";
import { endpoint } from "../../src/endpoint/endpoint.ts";
import { messageFor, ValidationError } from "../../src/errors.ts";
import type { NoRowsReason } from "../../src/client/no_rows.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import type { AppContext } from "../downloads/download.ts";
import { Queue } from "../downloads/queue.ts";
import { HttpProblem, toServiceProblem } from "../downloads/problem.ts";
import type { Exchange, Router } from "../operation/request_log.ts";
import { TtlCache } from "./ttl_cache.ts";
import { drawBars } from "./bars.ts";
import { suggestionsJson } from "./characteristics.ts";
import { renderDataset, renderDatasetList, renderFields } from "./dataset.ts";
import {
  type Form,
  FormError,
  isFiltered,
  pageUrl,
  type PlaceFilter,
  readForm,
  type RowSelection,
  toSelection,
} from "./form.ts";
import { type Html, renderForm, renderFrame } from "./html.ts";
import {
  type DatasetInfo,
  findPlace,
  loadDatasets,
  loadResults,
  loadYears,
  type Locations,
  type Results,
  type Source,
  type Stores,
} from "./load.ts";
import type { YearResults } from "./bars.ts";
import type { Measurement } from "./series.ts";
import { parseView } from "./map_view.ts";
import { boundsOfPixels } from "./projection.ts";
import { type Links, renderCode, renderResults } from "./results.ts";
import { script } from "./scripts/page.ts";
import { ICON, STYLE } from "./style.ts";
import { chooseLanguage, fill, findRegion, type Text, TEXTS } from "./text.ts";
import { createLink, type DownloadLink, publicOrigin, slugOf } from "./download_link.ts";
import { type ToolId, TOOLS } from "./tools.ts";

const FILES: Record<string, { type: string; body: () => string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: () => STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: script },
  "/weir.svg": { type: "image/svg+xml", body: () => ICON },
  "/names.json": { type: "application/json", body: suggestionsJson },
};
/** Maximum length (bytes) of a form. */
const MAX_FORM_SIZE = 100_000;
/** Maximum number of concurrent requests to the service. Low, because downloads have priority. */
const MAX_CONCURRENT = 3;
/** Cache TTL (ms) of the datasets. */
const DATASETS_TTL = 3_600_000;
/** Cache TTL (ms) of results. */
const RESULTS_TTL = 300_000;
/** Maximum number of entries of up to 20,000 locations or 10,000 rows, about 5 MB each. */
const MAX_LARGE_ENTRIES = 6;
const MAX_SMALL_ENTRIES = 200;

/** Adds the routes, unless access requires a token and the server has no tokens. */
export function addPage(app: Router, context: AppContext): void {
  const { access, tokens } = context.settings;
  const requiresToken = access === "signed" || access === "token";
  if (requiresToken && tokens.length === 0) return;
  for (const [path, { type, body }] of Object.entries(FILES)) {
    // A browser must revalidate the files, so that a new page does not run an old script.
    const headers = { "content-type": type, "cache-control": "no-cache" };
    app.get(path, () => new Response(body(), { headers }));
  }
  const pages = createPages(context);
  for (const [path, respond] of Object.entries(pages)) {
    app.get(path, ({ req, env: { exchange } }) => {
      exchange.route = path.replace("/*", "");
      const url = new URL(req.url);
      return respond({ exchange, parameters: url.searchParams, path: url.pathname });
    });
  }
  if (!requiresToken) return;
  // Without JavaScript, the form sends the token in the request body, because URLs are logged.
  const onError = () => {
    throw FORM_TOO_LARGE;
  };
  for (const path of ["/", "/download"] as const) {
    app.post(
      path,
      bodyLimit({ maxSize: MAX_FORM_SIZE, onError }),
      async ({ req, env: { exchange } }) => {
        const text = await req.text().catch((error) => {
          // Deno stops reading bodies when the server stops.
          throw exchange.request.signal.aborted ? error : FORM_INCOMPLETE;
        });
        const parameters = new URLSearchParams(text);
        const token = parameters.get("token")?.trim() || undefined;
        exchange.addSecret(token);
        return pages[path]!({ exchange, parameters, path, token });
      },
    );
  }
}

const FORM_INCOMPLETE = new HttpProblem({
  status: 400,
  title: "Form incomplete",
  detail: "The form did not arrive completely",
  hint: "send it again",
});

const FORM_TOO_LARGE = new HttpProblem({
  status: 413,
  title: "Form too large",
  detail: `The form must be at most ${MAX_FORM_SIZE} bytes`,
  hint: "choose fewer datasets or fields",
});

interface FormRequest {
  exchange: Exchange;
  parameters: URLSearchParams;
  path: string;
  token?: string | undefined;
}

type Respond = (request: FormRequest) => Promise<Response>;

const NOT_STORED = { "cache-control": "no-store" };
const HTML_HEADERS = { "content-type": "text/html; charset=utf-8", ...NOT_STORED };

function createPages(context: AppContext): Record<string, Respond> {
  const { settings, accessControl } = context;
  const { clock, access } = settings;
  const limit = new Queue({ max: MAX_CONCURRENT, tasks: "requests for the page", clock });
  const small = { ttl: RESULTS_TTL, maxEntries: MAX_SMALL_ENTRIES, clock };
  const large = { ...small, maxEntries: MAX_LARGE_ENTRIES };
  const datasetsStore = new TtlCache<readonly DatasetInfo[]>({ ttl: DATASETS_TTL, clock });
  const newStores = (): Stores => ({
    datasets: datasetsStore,
    locations: new TtlCache<Locations>(large),
    rows: new TtlCache<readonly Measurement[]>(large),
    counts: new TtlCache<number>(small),
    years: new TtlCache<readonly YearResults[]>(small),
    reasons: new TtlCache<readonly NoRowsReason[]>(small),
  });
  const shared = newStores();

  /** Returns `undefined` if the request has no key or token. */
  async function openSource({ exchange, token }: FormRequest): Promise<Source | undefined> {
    const authorized = await accessControl.authorizePage(exchange.request, token);
    if (authorized === undefined) return undefined;
    const { signal } = exchange;
    return {
      dataStream: exchange.countRequests(authorized.dataStream),
      signal,
      // A result that was requested with one user's key must not be shown to others.
      stores: access === "caller" ? newStores() : shared,
      async run(task) {
        try {
          return await limit.run(task, undefined, signal, 0);
        } catch (error) {
          throw toServiceProblem(error, "Request for the web page", settings, exchange);
        }
      },
    };
  }

  async function createLinks(
    request: Request,
    form: Form,
    selection: RowSelection,
    placeName: string,
  ): Promise<Links> {
    const origin = publicOrigin(request);
    const name = slugOf(form, placeName);
    const downloads = {} as Record<ToolId, DownloadLink>;
    for (const tool of Object.keys(TOOLS) as ToolId[]) {
      downloads[tool] = await createLink(settings, origin, form, selection, tool, name);
    }
    const { expires } = downloads[form.tool];
    const citations = [];
    for (
      const [label, id] of [[TEXTS[form.language].plainText, "text"], ["BibTeX", "bibtex"], [
        "RIS",
        "ris",
      ]] as const
    ) {
      const { filter, within } = selection;
      const { url } = endpoint({
        method: "GET",
        baseUrl: origin,
        url: `/Citations.${CITATION_FORMATS[id].extension}`,
        $filter: filter,
        bbox: within && [within.west, within.south, within.east, within.north].join(","),
      });
      const signed = expires
        ? await signUrl(url, { secret: settings.signingSecret, expires })
        : url;
      citations.push({ label, url: signed });
    }
    return { downloads, citations };
  }

  function readPage({ exchange, parameters }: FormRequest): Form {
    const header = exchange.request.headers.get("accept-language");
    const form = readForm(parameters, chooseLanguage(parameters.get("lang"), header));
    return { ...form, ...boxOfPixels(parameters.get("drawn"), form.view) };
  }

  function respondWithPage(
    form: Form,
    path: string,
    title: string | undefined,
    content: Html,
    alerts: Alerts,
    isFolded = false,
  ): Response {
    const language = form.language === "en" ? "fr" : "en";
    const frame = {
      language: form.language,
      isSynthetic: settings.synthetic,
      url: pageUrl(form, {}, path),
      otherLanguage: pageUrl(form, { language }, path),
      title,
      isFolded,
    };
    return new Response(String(renderFrame(frame, content)), {
      status: alerts.status,
      headers: { ...alerts.headers, ...HTML_HEADERS },
    });
  }

  const showForm: Respond = async (request) => {
    const { exchange } = request;
    if (exchange.request.method === "HEAD") return new Response(null, { headers: HTML_HEADERS });
    const form = readPage(request);
    const text = TEXTS[form.language];
    const alerts = new Alerts(form, exchange.id);
    const source = await alerts.capture(() => openSource(request));
    let results: Results | undefined;
    let content: Html | undefined;
    if (source !== undefined) {
      await alerts.capture(async () => {
        results = await loadResults(source, form);
        const { selection, placeName } = results;
        const links = await createLinks(exchange.request, form, selection, placeName);
        content = renderResults({ access, form, results, links });
      });
    } else if (alerts.isEmpty && access === "caller") {
      await alerts.capture(async () => {
        const selection = toSelection(form, placeWithoutService(form));
        const links = await createLinks(exchange.request, form, selection, "");
        content = html`<p class="info"><span>${text.needsKey}</span></p>
          ${renderCode({ access, form, links }, text)}`;
      });
    } else if (alerts.isEmpty && isFiltered(form)) {
      alerts.add(401, html`<p><strong>${text.noAccess}</strong> ${text.tokenRequired}</p>`, {
        "www-authenticate": "Bearer",
      });
    }
    const datasets = results?.datasets ?? datasetsStore.getStale("all");
    const known = access === "caller" && source === undefined ? undefined : datasets;
    const isFolded = isFiltered(form) && (content !== undefined || !alerts.isEmpty);
    return respondWithPage(
      form,
      "/",
      undefined,
      html`${renderForm({ access, form, datasets: known, results })}
        <div id="results" tabindex="-1" role="region" aria-label="${text.results}">
          ${alerts.content}${
        results === undefined && alerts.isEmpty &&
        html`<h1 class="hidden">${text.results}</h1>`
      }${content}
        </div>`,
      alerts,
      isFolded,
    );
  };

  /** Redirects to the file, so that the form needs no script. */
  const download: Respond = async (request) => {
    const form = readPage(request);
    const alerts = new Alerts(form, request.exchange.id);
    const url = await alerts.capture(async () => {
      const source = await openSource(request);
      if (source === undefined) throw new FormError("tokenRequired");
      const { place, name } = await findPlace(source, form);
      const selection = toSelection(form, place);
      const { downloads } = await createLinks(request.exchange.request, form, selection, name);
      return downloads[form.tool].url;
    });
    if (url === undefined) {
      const content = html`<div id="results">${alerts.content}</div>`;
      return respondWithPage(form, "/", undefined, content, alerts);
    }
    const { pathname, search } = new URL(url);
    return new Response(null, {
      status: 303,
      headers: { location: pathname + search, ...NOT_STORED },
    });
  };

  const showYears: Respond = async (request) => {
    const form = readPage(request);
    const text = TEXTS[form.language];
    const alerts = new Alerts(form, request.exchange.id);
    const years = await alerts.capture(async () => {
      const source = await openSource(request);
      if (source === undefined) throw new FormError("tokenRequired");
      const { place } = await findPlace(source, form);
      return await loadYears(source, toSelection(form, place));
    });
    return respondWithPage(
      form,
      "/years",
      text.perYear,
      html`<div id="results">${alerts.content}<div class="fragment">${
        years &&
        drawBars(years, form.language)
      }</div></div>`,
      alerts,
    );
  };

  /** Creates a page whose content needs the list of datasets. */
  const withDatasets = (
    render: (
      form: Form,
      datasets: readonly DatasetInfo[],
      source: Source,
      request: FormRequest,
    ) => Promise<{ title: string; content: Html; status?: number }>,
  ): Respond =>
  async (request) => {
    const form = readPage(request);
    const alerts = new Alerts(form, request.exchange.id);
    const rendered = await alerts.capture(async () => {
      const source = await openSource(request);
      if (source === undefined) throw new FormError("tokenRequired");
      return await render(form, await loadDatasets(source), source, request);
    });
    if (rendered?.status !== undefined) alerts.status = rendered.status;
    return respondWithPage(
      form,
      request.path,
      rendered?.title,
      rendered?.content ?? html`<div id="results">${alerts.content}</div>`,
      alerts,
    );
  };

  return {
    "/": showForm,
    "/download": download,
    "/years": showYears,
    "/fields": (request) => {
      const form = readPage(request);
      const { title, content } = renderFields(form.language);
      const alerts = new Alerts(form, request.exchange.id);
      return Promise.resolve(respondWithPage(form, "/fields", title, content, alerts));
    },
    "/datasets": withDatasets((form, datasets) =>
      Promise.resolve(renderDatasetList(form.language, datasets))
    ),
    "/datasets/*": withDatasets(async (form, datasets, source, { exchange, path }) => {
      const doi = decodePath(path.slice("/datasets/".length)).toLowerCase();
      const dataset = datasets.find((dataset) => dataset.doi.toLowerCase() === doi);
      if (dataset === undefined) {
        const text = TEXTS[form.language];
        const content = html`
          <div id="results">
            <h1>${text.noDataset}</h1>
          </div>
        `;
        return { title: text.noDataset, content, status: 404 };
      }
      const ofDataset = { ...form, datasets: [dataset.doi] };
      const results = await loadResults(source, ofDataset);
      const { selection } = results;
      const links = await createLinks(exchange.request, ofDataset, selection, dataset.name);
      const content = renderDataset({ access, form: ofDataset, results, links }, dataset, path);
      return { title: dataset.name, content };
    }),
  };
}

/** Returns the text itself if its percent-encoding is invalid. */
function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Resolves `where` without a request, as a region or a DOI. */
function placeWithoutService({ where }: Form): PlaceFilter {
  if (where === "") return {};
  const region = findRegion(where);
  if (region !== undefined) return { region };
  if (where.includes("10.")) return { datasets: [where] };
  throw new FormError("noLocation", { name: where });
}

/** Converts a drawn box to degrees. `drawn` has the pixels of two corners, and the map's width and height. */
function boxOfPixels(drawn: string | null, viewText: string): Partial<Form> {
  const [x1, y1, x2, y2, width, height] = (drawn ?? "").slice(0, 100).split(",").map(Number);
  const view = parseView(viewText);
  if (view === undefined || !(width! > 0 && height! > 0)) return {};
  const size = { width: width!, height: height! };
  const bounds = boundsOfPixels(view, size, [x1!, y1!], [x2!, y2!]);
  const sides = Object.entries(bounds).map(([side, degrees]) => [side, degrees.toFixed(2)]);
  return { ...Object.fromEntries(sides), view: "" };
}

const WAIT_STATUSES = [429, 503];

class Alerts {
  status = 200;
  headers: Record<string, string> = {};
  readonly #list: Html[] = [];
  readonly #text: Text;

  constructor(readonly form: Form, readonly requestId: string) {
    this.#text = TEXTS[form.language];
  }

  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  get content(): Html {
    return this.isEmpty ? html`` : html`<h1 class="hidden">${this.#text.results}</h1>${this.#list}`;
  }

  add(status: number, content: Html, headers: Record<string, string> = {}, kind = "alert"): void {
    if (this.isEmpty) {
      this.status = status;
      this.headers = headers;
    }
    const retry = headers["retry-after"];
    const state = retry && kind === "info" && html`data-retry="${retry}"`;
    this.#list.push(
      html`<div class="${kind}" role="alert" tabindex="-1" ${state}>${content}</div>`,
    );
  }

  /** Runs a task. Adds an error for the reader to the alerts and rethrows any other. */
  async capture<T>(task: () => Promise<T>): Promise<T | undefined> {
    try {
      return await task();
    } catch (error) {
      const text = this.#text;
      const { language } = this.form;
      const tryAgain = html`<a href="${pageUrl(this.form)}">${text.tryAgain}</a>`;
      const request = html`<p class="note">${text.request} ${this.requestId}</p>`;
      if (error instanceof FormError) {
        this.add(
          400,
          html`<p><strong>${fill(text[error.text], error.values, language)}</strong></p>`,
        );
      } else if (error instanceof ValidationError) {
        this.add(400, html`<p><strong>${text.badFilter}</strong> ${messageFor(error, {})}</p>`);
      } else if (!(error instanceof HttpProblem)) {
        throw error;
      } else {
        const { details: { status, detail, hint }, headers } = error;
        const wait = Number(headers["retry-after"]);
        if (WAIT_STATUSES.includes(status) && wait > 0) {
          const note = fill(text.busyNote, { n: wait }, language);
          this.add(
            status,
            html`<p><strong>${text.busy}</strong> <span class="wait">${note}</span> ${tryAgain}</p>
              <progress max="${wait}" value="0"></progress>
              <p class="note" lang="en">${detail}${hint && `: ${hint}`}.</p>${request}`,
            headers,
            "info",
          );
        } else {
          const isRefused = status === 401 || status === 403;
          this.add(
            status,
            html`<p><strong>${isRefused ? text.noAccess : text.failed}</strong>
                ${isRefused ? "" : text.failedNote} ${tryAgain}</p>
              <p class="note" lang="en">${hint === undefined ? detail : `${detail}: ${hint}`}</p>
              ${request}`,
            headers,
          );
        }
      }
    }
  }
}
