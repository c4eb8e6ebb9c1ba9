import type { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { html } from "hono/html";
import type { DataStream } from "../../src/client/datastream.ts";
import { ConcurrencyLimit } from "../concurrency_limit.ts";
import type { AppContext } from "../download.ts";
import { HttpProblem, toProblem, toServiceProblem } from "../problem.ts";
import { toLines } from "./code_snippets.ts";
import { describeForm, type Form, readForm, toFormQuery } from "./form.ts";
import { type FormControls, renderForm } from "./form_controls.ts";
import { makeLinks, originOf } from "./links.ts";
import { DatasetList, Finder } from "./preview.ts";
import { type Html, renderHeading, renderResults } from "./results.ts";
import { SCRIPT } from "./script.ts";
import { ICON, STYLE } from "./style.ts";

/** So many pages may ask the service at once: downloads come first. */
const MOST_ASKING = 3;

/** What is told on the page, and not as a problem: the first of them gives the status. */
class Alerts {
  status = 200;
  headers: Record<string, string> = {};
  readonly texts: string[] = [];

  add({ problem: { status, detail, hint }, headers }: HttpProblem): void {
    if (this.texts.length === 0) {
      this.status = status;
      this.headers = headers;
    }
    this.texts.push(hint === undefined ? detail : `${detail}: ${hint}`);
  }
}

/** The page that makes download links. */
class Page {
  readonly #context: AppContext;
  readonly #datasets: DatasetList;
  readonly #finder: Finder;
  readonly #limit: ConcurrencyLimit;

  constructor(context: AppContext) {
    const { clock, access } = context.settings;
    this.#context = context;
    this.#datasets = new DatasetList(clock);
    this.#finder = new Finder(clock, access !== "caller");
    this.#limit = new ConcurrencyLimit(MOST_ASKING, "pages", clock);
  }

  /**
   * Answers with the page.
   *
   * @param sent The form; empty at first
   * @param token What a form without script brought in its body
   */
  async answer(request: Request, sent: URLSearchParams, token?: string): Promise<Response> {
    const { settings, access } = this.#context;
    const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    if (request.method === "HEAD") return new Response(null, { headers });
    const form = readForm(sent);
    const isSent = sent.has("endpoint");
    const alerts = new Alerts();
    const orAlert = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        const problem = toProblem(error);
        if (problem === undefined) throw error;
        alerts.add(problem);
      }
    };
    const client = await orAlert(() => access.authorizePage(request, token));
    if (client && !this.#datasets.isFresh) {
      await orAlert(() => this.#ask(() => this.#datasets.refresh(client, request.signal)));
    }
    const isKnown = client !== undefined || settings.access === "caller";
    if (isSent && !isKnown && alerts.texts.length === 0) alerts.add(TOKEN_NEEDED);
    const results = isSent && alerts.texts.length === 0
      ? await orAlert(() => this.#results(request, form, client))
      : undefined;
    const html = renderDocument({
      access: settings.access,
      synthetic: settings.synthetic,
      form,
      isSent,
      attempt: isSent ? nextAttempt(sent.get("attempt")) : undefined,
      datasets: client && this.#datasets.last,
      alert: alerts.texts.join(" ") || undefined,
      results,
    });
    return new Response(String(await html), {
      status: alerts.status,
      headers: { ...alerts.headers, ...headers },
    });
  }

  /** What the form came to; before the caller has said who it is, its URLs alone. */
  async #results(request: Request, form: Form, client: DataStream | undefined): Promise<Html> {
    const { settings } = this.#context;
    const query = toFormQuery(form);
    const find = client && this.#finder.prepare(client, query, request.signal);
    const found = find && (this.#finder.kept(query) ?? await this.#ask(find));
    const { buttons, excel, expires } = await makeLinks(settings, originOf(request), form, query);
    const name = query.resource.toLowerCase();
    return renderResults({
      settings: describeForm(form),
      access: settings.access,
      resource: query.resource,
      buttons,
      lines: toLines(settings.access, buttons[0]!.url, excel, name),
      found,
      expires,
    });
  }

  /** Asks the service, in a place among the pages that do. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#limit.run(work);
    } catch (error) {
      throw toServiceProblem(error, "Request of the page", this.#context.settings);
    }
  }
}

/** Returns the number that follows the one that was sent with the form. */
function nextAttempt(sent: string | null): number {
  return /^\d{1,9}$/.test(sent ?? "") ? Number(sent) + 1 : 2;
}

const TOKEN_NEEDED = new HttpProblem({
  status: 401,
  title: "No token",
  detail: "A token is needed to count, preview and make links",
  hint: "give yours above",
}, { "www-authenticate": "Bearer" });

/** Nobody has more to say, in bytes. */
const LONGEST_FORM = 100_000;

const FILES: Record<string, { type: string; body: string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: SCRIPT },
  "/weir.svg": { type: "image/svg+xml", body: ICON },
};

/**
 * Adds the page and its files to the app, where there is a page: who may not show a token could
 * count and preview nothing.
 *
 * @param paths Told of each path, with its methods
 */
export function addPage(app: Hono, paths: Map<string, string>, context: AppContext): void {
  const { access, tokens } = context.settings;
  const takesToken = access === "signed" || access === "token";
  if (takesToken && tokens.length === 0) return;
  for (const [path, { type, body }] of Object.entries(FILES)) {
    paths.set(path, "GET, HEAD");
    // Asked for each time: a page of today must not meet a script of yesterday.
    const headers = { "content-type": type, "cache-control": "no-cache" };
    app.get(path, () => new Response(body, { headers }));
  }
  const page = new Page(context);
  paths.set("/", takesToken ? "GET, HEAD, POST" : "GET, HEAD");
  app.get("/", ({ req }) => page.answer(req.raw, new URL(req.url).searchParams));
  if (!takesToken) return;
  // The token of a form without script; in a URL it would be kept in many places.
  app.post("/", bodyLimit({ maxSize: LONGEST_FORM, onError: tooLong }), async ({ req }) => {
    const sent = new URLSearchParams(await req.text());
    return page.answer(req.raw, sent, sent.get("token")?.trim() || undefined);
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

/** Content of the page. */
interface Document extends FormControls {
  synthetic: boolean;
  /** Whether the form was sent. */
  isSent: boolean;
  /** Message that says what failed and what to do. */
  alert: string | undefined;
  results: Html | undefined;
}

/** Renders the whole page. */
function renderDocument(document: Document): Html {
  const { synthetic, isSent, alert, results } = document;
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex, nofollow">
        <title>Weir: open water-quality data to download</title>
        <link rel="icon" href="/weir.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/weir.css">
        <script src="/weir.js" type="module"></script>
      </head>
      <body>
        <a class="skip" href="#results">Skip to the results</a>
        <header>
          <div>
            <img src="/weir.svg" alt="" width="44" height="44">
            <div>
              <h1>Weir</h1>
              <p>Canada’s open water-quality data, as a file or a link to one</p>
            </div>
          </div>
        </header>
        <main>
      ${synthetic &&
        html`
          <p
            class="notice"><strong>Synthetic data.</strong> This server is for trying out: nothing here was ever measured.</p>
        `}
      ${renderForm(document)}
      <section id="results" tabindex="-1" aria-label="Results">
        ${alert && isSent && renderHeading("No results")}
        ${alert && html`<p class="alert" role="alert">${alert}</p>`}
        ${results}
      </section>
        </main>
        <footer>
          <p>Data of <a href="https://datastream.org">DataStream</a>, each dataset under a licence of its own. Weir is not part of that service.</p>
        </footer>
      </body>
    </html>
  `;
}
