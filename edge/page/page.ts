// The routes of the web page.
import { html } from "hono/html";
import { bodyLimit } from "hono/body-limit";
import { sha256Hex } from "../../src/bytes.ts";
import { oneLine } from "../../src/errors.ts";
import type { AppContext } from "../downloads/download.ts";
import { Queue } from "../downloads/queue.ts";
import { HttpProblem, toServiceProblem } from "../downloads/problem.ts";
import type { Exchange, Router } from "../operation/request_log.ts";
import { describePoints } from "./chart.ts";
import {
  renderCharacteristics,
  renderDataset,
  renderDatasetList,
  renderFields,
} from "./dataset.ts";
import { createDownloads, createLink, publicOrigin, toPath } from "./download_link.ts";
import { describeFailure, type Failure } from "./failure.ts";
import { type Form, FormError, isFiltered, pageUrl, readForm, toSelection } from "./form.ts";
import { renderForm, renderFrame, type View } from "./html.ts";
import {
  findPlace,
  knownDatasets,
  loadDatasets,
  loadMeasured,
  loadResults,
  loadYears,
  type Source,
} from "./load.ts";
import { parseView } from "./map_view.ts";
import { boundsOfPixels, createFrame } from "./projection.ts";
import { renderBars, renderResults } from "./results.ts";
import { script } from "./scripts/script.ts";
import { ICON, STYLE } from "./style.ts";
import { renderSuggestions } from "./suggestions.ts";
import { chooseLanguage, type Html, TEXTS } from "./text.ts";
import { CITATION_FILES, type OfferedFile, TOOLS } from "./tools.ts";
import { TtlCache } from "./ttl_cache.ts";

const FILES: Record<string, { type: string; body: () => string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: () => STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: script },
  "/weir.svg": { type: "image/svg+xml", body: () => ICON },
};
/** Maximum length (bytes) of a form. */
const MAX_FORM_SIZE = 100_000;
/** Maximum number of concurrent requests to the service. Low, because downloads have priority. */
const MAX_CONCURRENT = 3;
const MAX_SUGGESTED_LENGTH = 100;

const NOT_STORED = { "cache-control": "no-store" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };

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
  app.get("/suggestions", ({ req }) => {
    const text = (req.query("text") ?? "").trim().slice(0, MAX_SUGGESTED_LENGTH);
    const content = renderSuggestions(text, chooseLanguage(req.query("lang") ?? null, null));
    return new Response(String(content), {
      headers: { ...HTML_TYPE, "cache-control": "no-cache" },
    });
  });
  const pages = createPages(context, (exchange) => app.fetch(exchange.request, { exchange }));
  for (const [path, respond] of Object.entries(pages)) {
    app.get(path, ({ req, env: { exchange } }) => {
      exchange.route = path.replace("/*", "");
      return respond(exchange, new URL(req.url).searchParams);
    });
  }
  if (access === "public") return;
  // The form sends the key or token in the request body, because URLs are logged.
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
        exchange.request = withCredential(exchange, access === "caller", parameters.get("token"));
        return pages[path]!(exchange, parameters);
      },
    );
  }
}

/** Returns a request like those of programs, which send the key or token as a header. */
function withCredential(exchange: Exchange, isKey: boolean, credential: string | null): Request {
  const { url, headers: sent, signal } = exchange.request;
  const headers = new Headers(sent);
  // A header cannot have other characters, such as invisible ones of a copied text.
  const value = credential?.replace(/[^\x21-\x7e]/g, "");
  exchange.addSecret(value);
  if (value) headers.set(isKey ? "x-api-key" : "authorization", isKey ? value : `Bearer ${value}`);
  return new Request(url, { headers, signal });
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

interface PageRequest {
  exchange: Exchange;
  path: string;
  parameters: URLSearchParams;
  form: Form;
}

type Respond = (exchange: Exchange, parameters: URLSearchParams) => Promise<Response>;

/** `dispatch` responds to the request of an exchange again, after it was changed. */
function createPages(
  context: AppContext,
  dispatch: (exchange: Exchange) => Response | Promise<Response>,
): Record<string, Respond> {
  const { settings, accessControl } = context;
  const { clock, access } = settings;
  const limit = new Queue({ max: MAX_CONCURRENT, tasks: "requests for the page", clock });
  const cache = new TtlCache(clock);
  const credentialText = access === "caller" ? "keyRequired" : "tokenRequired";

  /** Returns `undefined` if the request has no key or token. */
  async function openSource({ exchange }: PageRequest): Promise<Source | undefined> {
    const authorized = await accessControl.authorizePage(exchange.request);
    if (authorized === undefined) return undefined;
    const { signal } = exchange;
    return {
      dataStream: exchange.countRequests(authorized.dataStream),
      signal,
      cache,
      owner: access === "caller" ? await sha256Hex(authorized.credential!) : "",
      async run(task) {
        try {
          return await limit.run(task, undefined, signal, 0);
        } catch (error) {
          throw toServiceProblem(error, "Request for the web page", settings, exchange);
        }
      },
    };
  }

  async function requireSource(request: PageRequest): Promise<Source> {
    const source = await openSource(request);
    if (source !== undefined) return source;
    throw new FormError(credentialText, {}, 401);
  }

  /** The form, without data that needs a key or token. */
  const renderEmptyForm = (form: Form) => {
    const datasets = access === "public" ? knownDatasets({ cache, owner: "" }) : undefined;
    return renderForm({ access, form, datasets });
  };

  /** Loads and describes the results of a form. */
  async function loadContent({ exchange, form, path }: PageRequest, source: Source) {
    const results = await loadResults(source, form);
    const origin = publicOrigin(exchange.request);
    const downloads = await createDownloads({ settings, origin, form, ...results });
    return { access, form, path, results, datasets: results.datasets, downloads };
  }

  /** A page whose content the script also inserts into another one. */
  const fragmentPage = (
    titleId: "perYear" | "whatMeasured" | "measurements",
    render: (source: Source, form: Form) => Promise<Html>,
  ) =>
  async (request: PageRequest): Promise<View> => {
    const { form } = request;
    const text = TEXTS[form.language];
    const content = html`
      <h1>${text[titleId]}</h1>
      <div class="fragment">${await render(await requireSource(request), form)}</div>
      <p><a href="${pageUrl(form)}">${text.backToSelection}</a></p>
    `;
    return { title: text[titleId], content };
  };

  const findSelection = async (source: Source, form: Form) =>
    toSelection((await findPlace(source, form)).found);

  const pages: Record<string, (request: PageRequest) => Promise<View | Response>> = {
    async "/"(request) {
      const { form } = request;
      const source = isFiltered(form) ? await requireSource(request) : await openSource(request);
      if (source === undefined) {
        const content = html`<p class="info">${TEXTS[form.language][credentialText]}</p>`;
        return { form: renderEmptyForm(form), content };
      }
      const content = await loadContent(request, source);
      return {
        form: renderForm(content),
        content: renderResults(content),
        isFolded: isFiltered(form),
      };
    },

    async "/download"(request) {
      const { exchange, form, parameters } = request;
      const source = await requireSource(request);
      const files: Readonly<Record<string, OfferedFile>> = CITATION_FILES;
      const file = files[parameters.get("file") ?? ""] ?? TOOLS[form.tool];
      const { found, name: placeName } = await findPlace(source, form);
      const { url, headers, method, signal } = exchange.request;
      const link = await createLink({
        settings,
        origin: publicOrigin(exchange.request),
        form,
        datasets: knownDatasets(source),
        selection: toSelection(found),
        placeName,
      }, file);
      exchange.request = new Request(new URL(toPath(link), url), { headers, method, signal });
      const response = await dispatch(exchange);
      response.headers.set("content-location", toPath(link));
      if (response.status < 400 || method === "HEAD") return response;
      const retry = response.headers.get("retry-after");
      throw new HttpProblem(await response.json(), retry === null ? {} : { "retry-after": retry });
    },

    "/years": fragmentPage("perYear", async (source, form) => {
      const years = await loadYears(source, await findSelection(source, form));
      const { noYears, removeFilter } = TEXTS[form.language];
      return years.length > 0 ? renderBars(years, form) : html`<p>${noYears} ${removeFilter}</p>`;
    }),

    "/measured": fragmentPage(
      "whatMeasured",
      async (source, form) =>
        renderCharacteristics(
          form,
          await loadMeasured(source, await findSelection(source, form)),
        ),
    ),

    "/values": fragmentPage("measurements", async (source, form) => {
      const results = await loadResults(source, form);
      // A name can contain a line break.
      const lines = describePoints({ form, path: "/", results }).map(oneLine);
      return html`<pre>${lines.join("\n")}</pre>`;
    }),

    "/fields": ({ form }) => Promise.resolve(renderFields(form.language)),

    async "/datasets"(request) {
      return renderDatasetList(
        request.form.language,
        await loadDatasets(await requireSource(request)),
      );
    },

    async "/datasets/*"(request) {
      const source = await requireSource(request);
      const datasets = await loadDatasets(source);
      const doi = decodePath(request.path.slice("/datasets/".length)).toLowerCase();
      const dataset = datasets.find((dataset) => dataset.doi.toLowerCase() === doi);
      if (dataset === undefined) throw new FormError("noDataset", {}, 404);
      const form = { ...request.form, datasets: [dataset.doi] };
      return renderDataset(await loadContent({ ...request, form }, source), dataset);
    },
  };

  /** Renders the page, or the form with the reason why there is none. */
  const respondWith = (page: string): Respond => async (exchange, parameters) => {
    const { pathname: path } = new URL(exchange.request.url);
    const form = readPage(exchange.request, parameters);
    // A failed download shows the page instead.
    const shown = path === "/download" ? "/" : path;
    let view: View | Response;
    let failure: Failure | undefined;
    try {
      const isHead = exchange.request.method === "HEAD" && page !== "/download";
      view = isHead
        ? { content: html`` }
        : await pages[page]!({ exchange, path, parameters, form });
    } catch (error) {
      failure = describeFailure(error, form, shown, exchange.id);
      view = { form: renderEmptyForm(form), content: failure.content };
    }
    if (view instanceof Response) return view;
    const language = form.language === "en" ? "fr" : "en";
    const body = renderFrame({
      ...view,
      language: form.language,
      isSynthetic: settings.synthetic,
      url: pageUrl(form, {}, shown),
      otherLanguage: pageUrl(form, { language }, shown),
    });
    const { status = 200, headers = {} } = failure ?? {};
    return new Response(String(body), {
      status,
      headers: { ...headers, ...HTML_TYPE, ...NOT_STORED },
    });
  };
  return Object.fromEntries(Object.keys(pages).map((path) => [path, respondWith(path)]));
}

function readPage({ headers }: Request, parameters: URLSearchParams): Form {
  const language = chooseLanguage(parameters.get("lang"), headers.get("accept-language"));
  const form = readForm(parameters, language);
  return { ...form, ...boxOfPixels(parameters.get("drawn"), form.view) };
}

/** Returns the text itself if its percent-encoding is invalid. */
function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Kilometres of a degree of latitude. */
const DEGREE = 111;

/**
 * Converts a drawn box to the degrees that hold it. `drawn` has the pixels of two corners, and the map's width and height.
 * A degree has so many decimals that the box differs by at most about a pixel.
 */
function boxOfPixels(drawn: string | null, viewText: string): Partial<Form> {
  const [x1, y1, x2, y2, width, height] = (drawn ?? "").slice(0, 100).split(",").map(Number);
  const view = parseView(viewText);
  if (view === undefined || !(width! > 0 && height! > 0)) return {};
  const size = { width: width!, height: height! };
  const bounds = boundsOfPixels(createFrame(view, size), [x1!, y1!], [x2!, y2!]);
  const decimals = Math.max(2, Math.ceil(-Math.log10(view.width / size.width / DEGREE)));
  const sides = Object.entries(bounds).map(([side, degrees]) => [side, degrees.toFixed(decimals)]);
  return { ...Object.fromEntries(sides), view: "" };
}
