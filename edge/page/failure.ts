// The message of the page when a selection cannot be shown or downloaded.
import { html } from "hono/html";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import { LimitReached, toProblem } from "../http/problem.ts";
import { type Form, FormError, pageUrl } from "./form.ts";
import type { View } from "./html.ts";
import type { Text } from "./text.ts";

/** Problem and remedy by status; other statuses have those of 502. */
const TEXTS_BY_STATUS: Readonly<Record<number, readonly [keyof Text, keyof Text]>> = {
  400: ["badFilter", "badFilterNote"],
  401: ["noAccess", "checkCredential"],
  403: ["noAccess", "checkCredential"],
  413: ["tooLarge", "failedNote"],
  502: ["failed", "failedNote"],
};

/** Problem when the same request can succeed later, by the state of the service. */
const TEXTS_BY_STATE: Readonly<Record<ServiceState["is"], keyof Text>> = {
  answering: "busy",
  blocked: "busy",
  silent: "failed",
  "key rejected": "keyRejected",
};

/** Describes an error in the language of the form, and quotes English messages. The form names a mistake. Rethrows a bug. */
export function describeFailure(
  error: unknown,
  form: Form,
  requestId: string,
): View {
  const { language, text, fill } = form.locale;
  const problem = toProblem(error);
  if (problem === undefined) throw error;
  const { details: { status, detail, hint }, headers } = problem;
  const isMistake = problem instanceof FormError;
  const heading = html`<h1 class="hidden">${text.results}</h1>`;
  if (isMistake && problem.field !== undefined) {
    return { status, headers, content: html`${heading}<p>${text.badFilterNote}</p>` };
  }
  const [title, remedy] = TEXTS_BY_STATUS[status] ?? TEXTS_BY_STATUS[502]!;
  // The same key would be refused again.
  const wait = title === "noAccess" ? 0 : Number(headers["retry-after"]) || 0;
  const state = problem instanceof LimitReached ? problem.service : "answering";
  const sentence = isMistake
    ? fill(text[problem.text], problem.values)
    : text[wait > 0 ? TEXTS_BY_STATE[state] : title];
  const next = wait > 0
    ? html`<span class="wait">${fill(text.busyNote, { n: wait })}</span>`
    : !isMistake && text[remedy];
  const link = status === 404
    ? html`<a href="/datasets?lang=${language}">${text.allDatasets}</a>`
    : status >= 500 && html`<a href="${pageUrl(form)}">${text.tryAgain}</a>`;
  const notes = !isMistake && html`
    <p class="note">${text.message} <q lang="en">${hint ? `${detail}: ${hint}` : detail}</q></p>
    <p class="note">${text.request} ${requestId}</p>
  `;
  // The script requests the page again after `data-retry` seconds.
  const content = html`
    ${heading}
    <div class="${wait > 0 || status < 400 ? "info" : "alert"}" role="alert" tabindex="-1"
      ${wait > 0 && html`data-retry="${wait}"`}>
      <p><strong>${sentence}</strong> ${next} ${link}</p>
      ${wait > 0 && html`<progress max="${wait}" value="0"></progress>`} ${notes}
    </div>
  `;
  return { status, headers, content };
}
