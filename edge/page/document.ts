import { html } from "hono/html";
import { type FormControls, renderForm } from "./form_controls.ts";
import { type Html, renderHeading } from "./results.ts";

/** Content of the page. */
export interface Document extends FormControls {
  synthetic: boolean;
  /** Whether the form was sent. */
  isSent: boolean;
  /** Message that says what failed and what to do. */
  alert: string | undefined;
  results: Html | undefined;
}

/** Renders the whole page. */
export function renderDocument(document: Document): Html {
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
