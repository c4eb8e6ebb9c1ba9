// The message of the page when a selection cannot be shown or downloaded.
import { html } from "hono/html";
import { toProblem } from "../downloads/problem.ts";
import { type Form, FormError, pageUrl } from "./form.ts";
import type { View } from "./html.ts";
import { fill, type Html, type Text, TEXTS } from "./text.ts";

/** Problem and remedy by status; other statuses have those of 502. */
const TEXTS_BY_STATUS: Readonly<Record<number, readonly [keyof Text, keyof Text]>> = {
  400: ["badFilter", "badFilterNote"],
  401: ["noAccess", "checkCredential"],
  403: ["noAccess", "checkCredential"],
  413: ["tooLarge", "failedNote"],
  502: ["failed", "failedNote"],
};

/** Describes an error in the language of the form, and quotes English messages. Rethrows a bug. */
export function describeFailure(
  error: unknown,
  form: Form,
  path: string,
  requestId: string,
): View {
  const { language } = form;
  const text = TEXTS[language];
  if (error instanceof FormError) {
    const { status, values } = error;
    const remedy = error.text === "noDataset" &&
      html`<a href="/datasets?lang=${language}">${text.allDatasets}</a>`;
    return {
      status,
      headers: status === 401 ? { "www-authenticate": "Bearer" } : {},
      content: renderAlert(
        text,
        status < 400,
        html`<p><strong>${fill(text[error.text], values, language)}</strong> ${remedy}</p>`,
      ),
    };
  }
  const problem = toProblem(error);
  if (problem === undefined) throw error;
  const { details: { status, detail, hint }, headers } = problem;
  const wait = Number(headers["retry-after"]) || 0;
  const [title, remedy] = TEXTS_BY_STATUS[status] ?? TEXTS_BY_STATUS[502]!;
  const tryAgain = html`<a href="${pageUrl(form, {}, path)}">${text.tryAgain}</a>`;
  const content = html`
    <p><strong>${text[wait > 0 ? "busy" : title]}</strong> ${wait > 0
      ? html`<span class="wait">${fill(text.busyNote, { n: wait }, language)}</span>`
      : text[remedy]} ${status >= 500 && tryAgain}</p>
    ${wait > 0 && html`<progress max="${wait}" value="0"></progress>`}
    <p class="note">${text.message} <q lang="en">${hint ? `${detail}: ${hint}` : detail}</q></p>
    <p class="note">${text.request} ${requestId}</p>
  `;
  return { status, headers, content: renderAlert(text, wait > 0, content, wait) };
}

/** The script requests the page again after `wait` seconds. */
function renderAlert(text: Text, isInfo: boolean, content: Html, wait = 0): Html {
  return html`
    <h1 class="hidden">${text.results}</h1>
    <div class="${isInfo ? "info" : "alert"}" role="alert" tabindex="-1" ${wait > 0 &&
      html`data-retry="${wait}"`}>${content}</div>
  `;
}
