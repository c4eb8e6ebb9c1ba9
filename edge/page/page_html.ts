import { html } from "hono/html";
import type { AccessMode } from "../options.ts";
import { createCodeSnippets, renderCodeSnippets } from "./code_snippets.ts";
import { describeForm, type Form } from "./form.ts";
import { type FormContent, renderForm } from "./form_html.ts";
import { type Links, renderButtons, renderDisabledButtons } from "./links.ts";
import {
  formatCount,
  type Preview,
  renderCitations,
  renderReasons,
  renderRows,
} from "./preview.ts";

export interface PageContent extends FormContent {
  isSynthetic: boolean;
  isSubmitted: boolean;
  alert: string | undefined;
  results: Results | undefined;
}

export function renderPage(content: PageContent): ReturnType<typeof html> {
  const { isSynthetic, isSubmitted, alert, results, access } = content;
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex, nofollow">
        <title>Weir: download open water-quality data</title>
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
              <p>Downloads of Canada’s open water-quality data, and links to them</p>
            </div>
          </div>
        </header>
        <main>
          ${isSynthetic && html`
            <p class="notice"><strong>Synthetic data.</strong> This is a demonstration server. Its
              data is generated, not measured.</p>
          `} ${renderForm(content)}
          <section id="results" tabindex="-1" aria-label="Results">
            ${alert && isSubmitted && renderHeading("No results")}
            ${alert && html`<p class="alert" role="alert">${alert}</p>`}
            ${results && renderResults(results, access)}
          </section>
        </main>
        <footer>
          <p>Data from <a href="https://datastream.org">DataStream</a>. Each dataset has its own
            licence. Weir is not part of DataStream.</p>
        </footer>
      </body>
    </html>
  `;
}

export interface Results {
  form: Form;
  links: Links;
  /** `undefined` with `caller` access until the user enters an API key. */
  preview: Preview | undefined;
}

function renderResults(
  { form, links, preview }: Results,
  access: AccessMode,
): ReturnType<typeof html> {
  const { buttons, csv, excel, expires } = links;
  const { resource } = form;
  // In these modes, a download needs an API key or a token in a header.
  const needsHeader = access === "caller" || access === "token";
  const snippets = createCodeSnippets(access, csv, excel, resource.toLowerCase());
  const settings = `Settings of these results and links: ${describeForm(form)} ` +
    "If you change the form, press Show to update them.";
  const start = html`
    ${renderHeading(preview ? formatCount(preview.count, resource) : "Your download")}
    <p class="notice" hidden>The form no longer matches these results. Press Show to update them,
      or undo the change.</p>
    <p id="settings">${settings}</p>
  `;
  if (preview?.count === 0) {
    return html`${start} ${renderReasons(preview.reasons)} ${renderDisabledButtons(buttons)}`;
  }
  return html`
    ${start} ${expires && renderExpiry(expires)}
    ${needsHeader && !preview
      ? html`<p>To download here, enter your key above and press Show. Or use the curl command below.</p>`
      : renderButtons(buttons, needsHeader)}
    ${preview && renderRows(preview, resource)}
    ${renderCodeSnippets(csv, snippets)}
    ${preview && renderCitations(preview.citations)}
  `;
}

/** Gets the focus after the form is submitted. */
function renderHeading(text: string): ReturnType<typeof html> {
  return html`<h2 id="results-heading" tabindex="-1">${text}</h2>`;
}

function renderExpiry(expires: Date): ReturnType<typeof html> {
  const timestamp = expires.toISOString();
  const text = `${timestamp.slice(0, 16).replace("T", " ")} UTC`;
  return html`
    <p>These links are valid until <time datetime="${timestamp}">${text}</time>. Anyone who has a
      link can use it.</p>
  `;
}
