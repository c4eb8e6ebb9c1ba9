import { html } from "hono/html";
import type { Citation } from "../../src/client/citations.ts";
import type { AccessMode } from "../options.ts";
import type { Line } from "./code_snippets.ts";
import type { DownloadLink } from "./links.ts";

/** A piece of HTML, escaped. */
export type Html = ReturnType<typeof html>;

/** What was found for a form. */
export interface Found {
  count: number;
  /** The first rows. */
  rows: readonly Record<string, unknown>[];
  citations: readonly Citation[];
}

/** What a form came to. */
interface Results {
  /** Sentence with the settings of the form. */
  settings: string;
  access: AccessMode;
  resource: string;
  buttons: readonly DownloadLink[];
  lines: readonly Line[];
  /** Undefined where the caller has not said who it is. */
  found: Found | undefined;
  /** Until when the URLs hold, where they are signed. */
  expires: Date | undefined;
}

/** The results below the form. */
export function renderResults(results: Results): Html {
  const { found, resource, lines, buttons, expires, settings } = results;
  return html`
    ${renderHeading(found ? toCount(found.count, resource) : "Your download")}
    <p class="notice"
      hidden>The form has other settings than these results. Press Show to update them, or undo the change to use them.</p>
    <p
      id="settings">Settings of these results and links: ${settings} If you change the form, press Show to update them.</p>
    ${expires &&
      html`<p>These links hold until <time datetime="${expires.toISOString()}">${
        expires.toISOString().slice(0, 16).replace("T", " ")
      } UTC</time>. Whoever has one can use it.</p>`}
    ${renderButtons(results)}
    ${found && renderPreview(found.rows, found.count)}
    <h3>Use it elsewhere</h3>
    <dl class="lines">
      <dt id="line-url">Address</dt>
      <dd><code tabindex="0" role="group" aria-labelledby="line-url">${buttons[0]?.url}</code></dd>
      ${lines.map(({ program, how, text }, index) =>
        html`
          <dt id="line-${index}">${program} <small>${how}</small></dt>
          <dd><code tabindex="0" role="group" aria-labelledby="line-${index}">${text}</code></dd>
        `
      )}
    </dl>
    ${found && renderCitations(found.citations)}
  `;
}

/** Renders the heading that gets the focus after the form is sent. */
export function renderHeading(text: string): Html {
  return html`<h2 id="results-heading" tabindex="-1">${text}</h2>`;
}

function renderButtons({ access, found, buttons }: Results): Html {
  const needsHeader = access === "caller" || access === "token";
  if (needsHeader && !found) {
    return html`<p>A browser cannot send your key by itself: give it above, or use the line for curl.</p>`;
  }
  return html`<p class="buttons" role="group" aria-label="Downloads" aria-describedby="settings">${
    buttons.map(({ label, url, format }) =>
      html`
        <a class="button" rel="nofollow" download href="${toPath(url)}" data-format="${format}"
          ${needsHeader && html`data-needs-header hidden`}>${label}</a>
      `
    )
  }</p>
  ${needsHeader && html`<noscript><p>Without scripts, use the line for curl below.</p></noscript>`}
  <p id="download-status" role="status"></p>`;
}

function renderPreview(rows: readonly Record<string, unknown>[], count: number): Html {
  const [first] = rows;
  if (first === undefined) return html`<p>Nothing meets these conditions. Try fewer of them.</p>`;
  const fields = Object.keys(first);
  return html`
    <h3 id="preview">${rows.length < count
      ? `The first ${rows.length} rows`
      : rows.length === 1
      ? "The row"
      : "The rows"}</h3>
    <div class="table" role="region" aria-labelledby="preview" tabindex="0">
      <table>
        <thead>
          <tr>${fields.map((field) => html`<th scope="col">${field}</th>`)}</tr>
        </thead>
        <tbody>${rows.map((row) =>
          html`
            <tr>${fields.map((field) =>
              html`<td class="${typeof row[field] === "number" ? "number" : "text"}">${
                toCell(row[field])
              }</td>`
            )}</tr>
          `
        )}</tbody>
      </table>
    </div>
  `;
}

function renderCitations(citations: readonly Citation[]): Html {
  if (citations.length === 0) return html``;
  return html`
    <h3>Cite</h3>
    <p>Use of the data requires citing ${citations.length === 1
      ? "this dataset"
      : `these ${citations.length} datasets`}, with the link.</p>
    <ul class="citations">${citations.map(({ citation, link, licence, name }) =>
      html`<li>${citation} <span>Licence: ${
        /^https?:\/\//.test(licence) ? html`<a href="${licence}">${licence}</a>` : licence
      }. <a href="${link}">${name}</a></span></li>`
    )}</ul>
  `;
}

const RESOURCE_NOUNS: Record<string, [one: string, many: string]> = {
  Metadata: ["dataset", "datasets"],
  Locations: ["location", "locations"],
  Observations: ["observation", "observations"],
  Records: ["record", "records"],
};
/** From here on, a count is an estimate of the service's. */
const ESTIMATED = 1_000_000;

function toCount(count: number, resource: string): string {
  const [one, many] = RESOURCE_NOUNS[resource] ?? ["row", "rows"];
  const about = count >= ESTIMATED ? "About " : "";
  return `${about}${count.toLocaleString("en-CA")} ${count === 1 ? one : many}`;
}

/** A value as the table shows it; a long one is cut, the download has all of it. */
function toCell(value: unknown): string {
  const text = typeof value === "object" && value !== null
    ? JSON.stringify(value)
    : String(value ?? "");
  return text.length > 120 ? `${Array.from(text).slice(0, 117).join("")}…` : text;
}

/** A URL of this server, from wherever its page is reached. */
function toPath(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}
