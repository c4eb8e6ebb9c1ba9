import type { DataStream } from "../../src/client/datastream.ts";
import type { Downloads } from "../downloads/downloads.ts";
import { Gate } from "../downloads/gate.ts";
import { HttpProblem, refusing, tellFault } from "../downloads/problem.ts";
import { DatasetList } from "./dataset_list.ts";
import { renderDocument } from "./document.ts";
import { Finder } from "./finder.ts";
import { describeForm } from "./describe_form.ts";
import { type Form, readForm, toFormQuery } from "./form.ts";
import { toLines } from "./lines.ts";
import { makeLinks, originOf } from "./links.ts";
import { type Html, renderResults } from "./results.ts";

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
export class Page {
  readonly #downloads: Downloads;
  readonly #datasets: DatasetList;
  readonly #finder: Finder;
  readonly #gate: Gate;

  constructor(downloads: Downloads) {
    const { clock, access } = downloads.settings;
    this.#downloads = downloads;
    this.#datasets = new DatasetList(clock);
    this.#finder = new Finder(clock, access !== "caller");
    this.#gate = new Gate(MOST_ASKING, "pages", clock);
  }

  /**
   * Answers with the page.
   *
   * @param sent The form; empty at first
   * @param token What a form without script brought in its body
   */
  async answer(request: Request, sent: URLSearchParams, token?: string): Promise<Response> {
    const { settings, access } = this.#downloads;
    const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
    if (request.method === "HEAD") return new Response(null, { headers });
    const form = readForm(sent);
    const isSent = sent.has("endpoint");
    const alerts = new Alerts();
    const orAlert = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof HttpProblem)) throw error;
        alerts.add(error);
      }
    };
    const client = await orAlert(() => access.admitToPage(request, token));
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
    const { settings } = this.#downloads;
    const query = refusing(() => toFormQuery(form));
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
      return await this.#gate.hold(work);
    } catch (error) {
      throw tellFault(error, "A request of the page", this.#downloads.settings);
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
