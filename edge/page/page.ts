import { bodyLimit } from "hono/body-limit";
import type { DataStream } from "../../src/client/datastream.ts";
import { messageFor, ValidationError } from "../../src/errors.ts";
import { Queue } from "../downloads/queue.ts";
import type { AppContext } from "../downloads/download.ts";
import type { Exchange, Router } from "../operation/request_log.ts";
import { HttpProblem, toServiceProblem } from "../downloads/problem.ts";
import { type DatasetChoice, fetchDatasets } from "./datasets.ts";
import { type Form, FORM_LABELS, type FormQuery, readForm, toFormQuery } from "./form.ts";
import { createLinks, publicOrigin } from "./links.ts";
import { renderPage, type Results } from "./page_html.ts";
import { preparePreview, type Preview } from "./preview.ts";
import { SCRIPT } from "./script.ts";
import { ICON, STYLE } from "./style.ts";

const FILES: Record<string, { type: string; body: string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: SCRIPT },
  "/weir.svg": { type: "image/svg+xml", body: ICON },
};
/** Bytes. */
const MAX_FORM_SIZE = 100_000;

/** If access requires a token and the server has none, there is no page. */
export function addPage(app: Router, context: AppContext): void {
  const { access, tokens } = context.settings;
  const requiresToken = access === "signed" || access === "token";
  if (requiresToken && tokens.length === 0) return;
  for (const [path, { type, body }] of Object.entries(FILES)) {
    // A browser must revalidate the files, so that a new page does not run an old script.
    const headers = { "content-type": type, "cache-control": "no-cache" };
    app.get(path, () => new Response(body, { headers }));
  }
  const respond = createPageHandler(context);
  app.get("/", ({ req, env }) => respond(env.exchange, new URL(req.url).searchParams));
  if (!requiresToken) return;
  // Without JavaScript, the form sends the token in the request body, because URLs are logged.
  const onError = () => {
    throw FORM_TOO_LARGE;
  };
  app.post(
    "/",
    bodyLimit({ maxSize: MAX_FORM_SIZE, onError }),
    async ({ req, env: { exchange } }) => {
      const text = await req.text().catch((error) => {
        // Deno stops reading bodies when the server stops.
        throw exchange.request.signal.aborted ? error : FORM_INCOMPLETE;
      });
      const parameters = new URLSearchParams(text);
      const token = parameters.get("token")?.trim() || undefined;
      exchange.addSecret(token);
      return respond(exchange, parameters, token);
    },
  );
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

const TOKEN_REQUIRED = new HttpProblem({
  status: 401,
  title: "No token",
  detail: "A token is required to show results and links",
  hint: "enter yours above",
}, { "www-authenticate": "Bearer" });

/** Requests that wait for the service. Low, because downloads have priority. */
const MAX_CONCURRENT = 3;
/** Milliseconds. */
const DATASETS_TTL = 3_600_000;
/** Milliseconds. */
const PREVIEW_TTL = 300_000;
const MAX_PREVIEWS = 50;

type PageHandler = (
  exchange: Exchange,
  parameters: URLSearchParams,
  token?: string,
) => Promise<Response>;

function createPageHandler(
  { settings, accessControl }: AppContext,
): PageHandler {
  const { clock } = settings;
  const limit = new Queue({ max: MAX_CONCURRENT, tasks: "requests for the page", clock });
  let known: { datasets: readonly DatasetChoice[]; at: number } | undefined;
  /** The oldest first. */
  const previews = new Map<string, { preview: Preview; at: number }>();

  async function requestWithPermit<T>(exchange: Exchange, task: () => Promise<T>): Promise<T> {
    try {
      return await limit.run(task, undefined, exchange.signal, 0);
    } catch (error) {
      throw toServiceProblem(error, "Request for the web page", settings, exchange);
    }
  }

  /** If the request fails, returns stale datasets, if any. */
  async function loadDatasets(
    dataStream: DataStream,
    exchange: Exchange,
    alerts: Alerts,
  ): Promise<readonly DatasetChoice[] | undefined> {
    if (known && clock.now() - known.at < DATASETS_TTL) return known.datasets;
    // Without a shared promise: workerd cancels a request that waits for the I/O of another one.
    const datasets = await alerts.capture(() =>
      requestWithPermit(exchange, () => fetchDatasets(dataStream, exchange.signal))
    );
    if (datasets) known = { datasets, at: clock.now() };
    return known?.datasets;
  }

  async function loadPreview(
    dataStream: DataStream,
    query: FormQuery,
    exchange: Exchange,
  ): Promise<Preview> {
    const key = JSON.stringify(query);
    const found = previews.get(key);
    if (found && clock.now() - found.at < PREVIEW_TTL) return found.preview;
    previews.delete(key);
    const { signal } = exchange;
    const preview = await requestWithPermit(exchange, preparePreview(dataStream, query, signal));
    // A result that was requested with one user's key must not be shown to others.
    if (settings.access !== "caller") previews.set(key, { preview, at: clock.now() });
    const [oldest] = previews.keys();
    if (previews.size > MAX_PREVIEWS) previews.delete(oldest!);
    return preview;
  }

  /** Without a `dataStream`, there is no preview: the user has not entered a key. */
  async function loadResults(
    exchange: Exchange,
    form: Form,
    dataStream: DataStream | undefined,
  ): Promise<Results> {
    const query = toFormQuery(form);
    const preview = dataStream && await loadPreview(dataStream, query, exchange);
    const origin = publicOrigin(exchange.request);
    const links = await createLinks(settings, origin, Number(form.days), query);
    return { form, links, preview };
  }

  return async (exchange, parameters, token) => {
    const { request } = exchange;
    const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    if (request.method === "HEAD") return new Response(null, { headers });
    const form = readForm(parameters);
    const isSubmitted = parameters.has("endpoint");
    const alerts = new Alerts();
    const authorized = await alerts.capture(() => accessControl.authorizePage(request, token));
    const dataStream = authorized &&
      exchange.countRequests(authorized.dataStream);
    const datasets = dataStream && await loadDatasets(dataStream, exchange, alerts);
    const mayShowLinks = dataStream !== undefined || settings.access === "caller";
    const results = isSubmitted && alerts.isEmpty
      ? await alerts.capture(() => {
        if (!mayShowLinks) throw TOKEN_REQUIRED;
        return loadResults(exchange, form, dataStream);
      })
      : undefined;
    const page = renderPage({
      access: settings.access,
      isSynthetic: settings.synthetic,
      form,
      datasets,
      submission: isSubmitted ? nextSubmission(parameters.get("submission")) : undefined,
      isSubmitted,
      alert: alerts.text,
      results,
    });
    return new Response(String(await page), {
      status: alerts.status,
      headers: { ...alerts.headers, ...headers },
    });
  };
}

class Alerts {
  status = 200;
  headers: Record<string, string> = {};
  readonly #texts: string[] = [];

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  get text(): string | undefined {
    return this.#texts.join(" ") || undefined;
  }

  /** Adds a thrown `HttpProblem` or `ValidationError` to the alerts. */
  async capture<T>(task: () => Promise<T>): Promise<T | undefined> {
    try {
      return await task();
    } catch (error) {
      if (error instanceof HttpProblem) {
        const { status, detail, hint } = error.details;
        this.#add(status, hint === undefined ? detail : `${detail}: ${hint}`, error.headers);
      } else if (error instanceof ValidationError) {
        this.#add(400, messageFor(error, FORM_LABELS), {});
      } else {
        throw error;
      }
    }
  }

  #add(status: number, text: string, headers: Record<string, string>): void {
    if (this.isEmpty) {
      this.status = status;
      this.headers = headers;
    }
    this.#texts.push(text);
  }
}

function nextSubmission(previous: string | null): number {
  return /^\d{1,9}$/.test(previous ?? "") ? Number(previous) + 1 : 2;
}
