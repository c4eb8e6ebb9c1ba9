// The routes of the web page.
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { html } from "hono/html";
import { sha256Hex } from "../../src/bytes.ts";
import { oneLine } from "../../src/errors.ts";
import type { AppContext } from "../downloads/document.ts";
import { contentDisposition } from "../downloads/headers.ts";
import { type ListedFile, listFiles, type Mirror, MIRROR_PATH } from "../downloads/mirror.ts";
import { recordVersions, seenVersions } from "../downloads/versions.ts";
import { Queue } from "../http/queue.ts";
import { HttpProblem, noServerKey, serviceProblem, toServiceProblem } from "../http/problem.ts";
import { publicOrigin } from "../http/public_origin.ts";
import type { Exchange, Router } from "../http/exchange.ts";
import type { Settings } from "../http/options.ts";
import { unknownNames } from "./characteristics.ts";
import { describePoints } from "./chart.ts";
import {
  renderCharacteristics,
  renderDataset,
  renderDatasetList,
  renderFields,
} from "./dataset.ts";
import { createLink, expiryOf, fileNameOf } from "./download_link.ts";
import { describeFailure } from "./failure.ts";
import { type Form, FormError, isFiltered, pageUrl, readForm } from "./form.ts";
import { renderForm, renderFrame, renderShortForm, type View } from "./html.ts";
import { findPlace, knownDatasets, load, loadResults, type Source } from "./load.ts";
import { renderLocations } from "./locations.ts";
import { renderMirror } from "./mirror.ts";
import { type PAGE_FILES, PAGE_ROUTES } from "./paths.ts";
import { renderBars, renderResults, type ResultsContent } from "./results.ts";
import { script } from "./scripts/script.ts";
import { ICON, STYLE } from "./style.ts";
import { renderSuggestions } from "./suggestions.ts";
import { chooseLocale, type Html } from "./text.ts";
import { CITATION_FILES, type OfferedFile, TOOLS } from "./tools.ts";
import { TtlCache } from "./ttl_cache.ts";

const HTML_TYPE = "text/html; charset=utf-8";

type PageFile = [type: string, body: (parameters: URLSearchParams) => string];
const FILES: Readonly<Record<typeof PAGE_FILES[number], PageFile>> = {
  "/weir.css": ["text/css; charset=utf-8", () => STYLE],
  "/weir.js": ["text/javascript; charset=utf-8", script],
  "/weir.svg": ["image/svg+xml", () => ICON],
  "/suggestions": [HTML_TYPE, (parameters) => {
    const locale = chooseLocale(parameters.get("lang"), null);
    return String(renderSuggestions(parameters.get("text") ?? "", locale));
  }],
};
/** Maximum length (bytes) of a form. */
const MAX_FORM_SIZE = 100_000;
/** Maximum number of concurrent requests to the service. Low, because downloads have priority. */
const MAX_CONCURRENT = 3;

/** `dispatch` responds to the request of an exchange again, after it was changed. */
export function createPage(
  context: AppContext,
  dispatch: Visit["dispatch"],
  mirror: Mirror | undefined,
): Router {
  const { access } = context.settings;
  const app: Router = new Hono();
  // The server responds to errors.
  app.onError((error) => {
    throw error;
  });
  for (const [path, [type, body]] of Object.entries(FILES)) {
    // A browser must revalidate the files, so that a new page does not run an old script.
    const headers = { "content-type": type, "cache-control": "no-cache" };
    app.get(path, ({ req }) => new Response(body(new URL(req.url).searchParams), { headers }));
  }
  const respond = createResponder(context, { dispatch, mirror });
  const onError = () => {
    throw FORM_TOO_LARGE;
  };
  for (const route of PAGE_ROUTES) {
    app.all(
      route,
      bodyLimit({ maxSize: MAX_FORM_SIZE, onError }),
      async ({ req, env: { exchange } }) => {
        const parameters = new URL(req.url).searchParams;
        if (req.method === "POST") {
          // The form sends the key or token in the request body, because URLs are logged.
          const text = await req.text().catch((error) => {
            // Deno stops reading bodies when the server stops.
            throw exchange.request.signal.aborted ? error : FORM_INCOMPLETE;
          });
          const form = new URLSearchParams(text);
          for (const [name, value] of form) parameters.append(name, value);
          exchange.request = withCredential(exchange, access === "caller", form.get("token"));
        }
        const doi = req.param("doi");
        if (doi !== undefined) parameters.set("doi", doi);
        exchange.facts.path = route.split("/:")[0]!;
        return respond(route, exchange, parameters);
      },
    );
  }
  return app;
}

/** Returns a request like those of programs, which send the key or token as a header. */
function withCredential(exchange: Exchange, isKey: boolean, credential: string | null): Request {
  const { url, headers: sent, signal } = exchange.request;
  const headers = new Headers(sent);
  // A header cannot have other characters, such as invisible ones of a copied text.
  const value = credential?.replace(/[^\x21-\x7e]/g, "");
  exchange.log.addSecret(value);
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

/** A request for a page, and the inputs of its route. */
interface Visit {
  settings: Settings;
  exchange: Exchange;
  parameters: URLSearchParams;
  form: Form;
  /** @throws {FormError} Without a key or token, if access requires it */
  open: () => Promise<Source>;
  dispatch: (exchange: Exchange) => Response | Promise<Response>;
  feeds: AppContext["feeds"];
  /** Set if there is the route of its list. */
  mirror: Mirror | undefined;
}

type Route = typeof PAGE_ROUTES[number];

const ROUTES: Readonly<Record<Route, (visit: Visit) => Promise<View | Response>>> = {
  async "/"(visit) {
    const content = await loadContent(visit);
    return {
      form: renderForm(content),
      content: renderResults(content),
      isFolded: isFiltered(visit.form) && unknownNames(visit.form.characteristics).length === 0,
    };
  },

  async "/download"({ settings, exchange, parameters, form, open, dispatch }) {
    const source = await open();
    const files: Readonly<Record<string, OfferedFile>> = CITATION_FILES;
    const file = files[parameters.get("file") ?? ""] ?? TOOLS[form.tool];
    const { url, headers, method, signal } = exchange.request;
    const content = {
      settings,
      origin: publicOrigin(exchange.request),
      form,
      datasets: knownDatasets(source),
      results: await findPlace(source, form),
    };
    const { pathname, search } = new URL(await createLink(content, file));
    const link = pathname + search;
    exchange.request = new Request(new URL(link, url), { headers, method, signal });
    const response = await dispatch(exchange);
    response.headers.set("content-location", link);
    if (response.status < 400 && file.resource === "Citations") {
      // Their own URL has a name; a browser would name the file of this one "download".
      const name = contentDisposition(fileNameOf(content, file));
      response.headers.set("content-disposition", name);
    }
    if (response.status < 400 || method === "HEAD") return response;
    const retry = response.headers.get("retry-after");
    throw new HttpProblem(await response.json(), retry === null ? {} : { "retry-after": retry });
  },

  "/years": fragmentRoute("perYear", async (source, form) => {
    const { selection } = await findPlace(source, form);
    const years = await load(source, "years", selection);
    const { noYears, removeFilter } = form.locale.text;
    return years.length > 0 ? renderBars(years, form) : html`<p>${noYears} ${removeFilter}</p>`;
  }),

  "/measured": fragmentRoute("whatMeasured", async (source, form) => {
    const { selection } = await findPlace(source, form);
    return renderCharacteristics(form, await load(source, "measured", selection));
  }),

  "/located": fragmentRoute("locations", async (source, form) => {
    const { selection } = await findPlace(source, form);
    return renderLocations(form, await load(source, "located", selection));
  }),

  "/values": fragmentRoute("measurements", async (source, form) => {
    const results = await loadResults(source, form);
    // A name can contain a line break.
    const lines = describePoints({ form, results }).map(oneLine);
    return html`<pre>${lines.join("\n")}</pre>`;
  }),

  "/fields": ({ form }) => Promise.resolve(renderFields(form.locale)),

  async [MIRROR_PATH]({ settings, exchange, form, open, mirror }) {
    await open();
    const list = await listFiles(mirror!, exchange, settings, expiryOf(settings));
    return renderMirror(settings, form, list);
  },

  async "/datasets"({ form, open }) {
    return renderDatasetList(form.locale, await load(await open(), "datasets"));
  },

  async "/datasets/:doi{.+}"(visit) {
    const datasets = await load(await visit.open(), "datasets");
    const doi = visit.parameters.get("doi")!.toLowerCase();
    const dataset = datasets.find((dataset) => dataset.doi.toLowerCase() === doi);
    if (dataset === undefined) throw new FormError("noDataset", {}, 404);
    const form = { ...visit.form, datasets: [dataset.doi] };
    const content = await loadContent({ ...visit, form });
    const { settings: { clock, now }, feeds } = visit;
    const versions = seenVersions(feeds, dataset.doi)
      .map((seen) => ({ ...seen, since: now() - clock.now() + seen.since }));
    return renderDataset(content, dataset, { versions, files: await filesOf(visit, dataset.doi) });
  },
};

/** Returns the files of the mirror that are of a dataset; none while the mirror cannot be read. */
async function filesOf({ mirror, exchange, settings }: Visit, doi: string): Promise<ListedFile[]> {
  if (mirror === undefined) return [];
  try {
    const { files } = await listFiles(mirror, exchange, settings, expiryOf(settings));
    return files.filter(({ dataset }) => dataset === doi);
  } catch (error) {
    if (error instanceof HttpProblem) return [];
    throw error;
  }
}

/** Returns the route of a page whose content the script can also insert into another page. */
function fragmentRoute(
  titleId: "perYear" | "whatMeasured" | "locations" | "measurements",
  render: (source: Source, form: Form) => Promise<Html>,
) {
  return async ({ form, open }: Visit): Promise<View> => {
    const { text } = form.locale;
    const content = html`
      <h1>${text[titleId]}</h1>
      <div class="fragment">${await render(await open(), form)}</div>
      <p><a href="${pageUrl(form, { path: "/" })}">${text.backToSelection}</a></p>
    `;
    return { title: text[titleId], content };
  };
}

/** Loads the results of a form, and creates the links to their files. */
async function loadContent(visit: Visit): Promise<ResultsContent> {
  const { settings, exchange, form, open } = visit;
  const results = await loadResults(await open(), form);
  const origin = publicOrigin(exchange.request);
  const content = { settings, origin, form, results, datasets: results.datasets };
  const [csv, parquet] = [
    await createLink(content, TOOLS.r),
    await createLink(content, TOOLS.duckdb),
  ];
  return { ...content, urls: { csv, parquet } };
}

/** Returns why a visitor waits, if that is not the number of requests. */
function outageOf({ settings, accessControl }: AppContext) {
  const { service } = accessControl.server.dataStream;
  return service.is === "answering" ? undefined : serviceProblem(service, settings);
}

function createResponder(context: AppContext, shared: Pick<Visit, "dispatch" | "mirror">) {
  const { settings, accessControl, feeds } = context;
  const { clock, access } = settings;
  const limit = new Queue({
    max: MAX_CONCURRENT,
    tasks: "requests for the page",
    clock,
    findCause: () => outageOf(context),
  });
  const cache = new TtlCache(clock);

  async function openSource(exchange: Exchange, isEmpty: boolean): Promise<Source> {
    const authorized = await accessControl.authorizePage(exchange);
    if (authorized === undefined) {
      const text = access === "caller" ? "keyRequired" : "tokenRequired";
      throw new FormError(text, {}, isEmpty ? 200 : 401);
    }
    const signal = AbortSignal.any([exchange.request.signal, exchange.upstream.silence.signal]);
    return {
      dataStream: exchange.upstream.count(authorized.dataStream),
      signal,
      cache,
      owner: access === "caller" ? await sha256Hex(authorized.credential!) : "",
      tasks: 0,
      recordVersions: (versions) => void recordVersions(feeds, versions),
      async run(task) {
        if (authorized.apiKey === undefined) throw noServerKey();
        try {
          return await limit.run(task, undefined, signal, 0);
        } catch (error) {
          throw toServiceProblem(error, "Request for the web page", settings, exchange);
        }
      },
    };
  }

  /** Responds with the page of a route, or with the form and the error. */
  return async (route: Route, exchange: Exchange, parameters: URLSearchParams) => {
    const { headers, method, url } = exchange.request;
    const locale = chooseLocale(parameters.get("lang"), headers.get("accept-language"));
    // A failed download shows the page instead.
    const path = route === "/download" ? "/" : new URL(url).pathname;
    const form = readForm(parameters, locale, path);
    const open = () => openSource(exchange, route === "/" && !isFiltered(form));
    let view: View | Response;
    try {
      view = method === "HEAD" && route !== "/download"
        ? { content: html`` }
        : await ROUTES[route]({ ...shared, feeds, settings, exchange, parameters, form, open });
    } catch (error) {
      const failure = describeFailure(error, form, exchange.log.id);
      // The names of datasets can need a key or token.
      const datasets = access === "public" ? knownDatasets({ cache, owner: "" }) : undefined;
      const mistake = error instanceof FormError ? error : undefined;
      const content = { settings, form, datasets, mistake };
      const isShort = access !== "public" && path !== "/";
      view = { ...failure, form: isShort ? renderShortForm(content) : renderForm(content) };
    }
    if (view instanceof Response) return view;
    return new Response(String(renderFrame(view, form, settings)), {
      status: view.status ?? 200,
      headers: { ...view.headers, "content-type": HTML_TYPE, "cache-control": "no-store" },
    });
  };
}
