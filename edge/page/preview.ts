import { html } from "hono/html";
import type { Citation } from "../../src/formats/citations.ts";
import type { DataStream } from "../../src/client/datastream.ts";
import type { ResourceName } from "../../src/odata/resources.ts";
import type { FormQuery } from "./form.ts";

/** Preview of the result of a query. */
export interface Preview {
  /** Number of rows of the whole result. */
  count: number;
  /** First rows. */
  rows: readonly Record<string, unknown>[];
  citations: readonly Citation[];
}

/** Number of rows to preview. */
const PREVIEW_ROWS = 20;

/**
 * Prepares the requests for a preview. Nothing is sent yet.
 *
 * @returns A function that sends the requests. It throws a `DataStreamError` if one fails
 * @throws {ValidationError} If the query is invalid
 */
export function preparePreview(
  dataStream: DataStream,
  { resource, ...options }: FormQuery,
  signal: AbortSignal,
): () => Promise<Preview> {
  const { filter, within } = options;
  const all = dataStream.query(resource, { ...options, signal });
  const first = dataStream.query(resource, { ...options, signal, limit: PREVIEW_ROWS });
  return async () => {
    const count = await all.count();
    if (count === 0) return { count, rows: [], citations: [] };
    const rows = await first.toArray();
    const citations = await dataStream.citations(filter, { within, signal });
    return { count, rows, citations };
  };
}

/** Nouns for the rows, in the singular and plural. */
const ROW_NOUNS: Record<ResourceName, [one: string, many: string]> = {
  Metadata: ["dataset", "datasets"],
  Locations: ["location", "locations"],
  Observations: ["observation", "observations"],
  Records: ["record", "records"],
};
/** Smallest count that the service estimates. */
const MIN_ESTIMATE = 1_000_000;

/** Formats a number of rows, such as "1,234 records". */
export function formatCount(count: number, resource: ResourceName): string {
  const [one, many] = ROW_NOUNS[resource];
  const about = count >= MIN_ESTIMATE ? "About " : "";
  return `${about}${count.toLocaleString("en-CA")} ${count === 1 ? one : many}`;
}

/** Renders the first rows as a table. */
export function renderRows({ rows, count }: Preview): ReturnType<typeof html> {
  const [first] = rows;
  if (first === undefined) return html`<p>No rows match the filters. Try fewer filters.</p>`;
  const fields = Object.keys(first);
  return html`
    <h3 id="preview">${rows.length < count ? `First ${rows.length} rows` : "All rows"}</h3>
    <div class="table" role="region" aria-labelledby="preview" tabindex="0">
      <table>
        <thead>
          <tr>${fields.map((field) => html`<th scope="col">${field}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`<tr>${fields.map((field) => renderCell(row[field]))}</tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

/** Maximum length of a cell's text in characters. */
const MAX_CELL_LENGTH = 120;

function renderCell(value: unknown): ReturnType<typeof html> {
  const text = typeof value === "object" && value !== null
    ? JSON.stringify(value)
    : String(value ?? "");
  // Cuts between code points, so that no half of a surrogate pair remains.
  const shown = text.length > MAX_CELL_LENGTH
    ? `${Array.from(text).slice(0, MAX_CELL_LENGTH - 3).join("")}…`
    : text;
  return html`<td class="${typeof value === "number" ? "number" : "text"}">${shown}</td>`;
}

/** Renders the citations, or nothing if there are none. */
export function renderCitations(citations: readonly Citation[]): ReturnType<typeof html> {
  if (citations.length === 0) return html``;
  const datasets = citations.length === 1 ? "this dataset" : `these ${citations.length} datasets`;
  return html`
    <h3>Citations</h3>
    <p>If you use this data, you must cite ${datasets}, with the link.</p>
    <ul class="citations">
      ${citations.map(({ citation, licence, link, name }) =>
        html`
          <li>${citation} <span>Licence: ${renderLicence(
            licence,
          )}. <a href="${link}">${name}</a></span></li>
        `
      )}
    </ul>
  `;
}

/** Renders a licence, as a link only if it is an HTTP URL: data could contain a `javascript:` URL. */
function renderLicence(licence: string): string | ReturnType<typeof html> {
  return /^https?:\/\//.test(licence) ? html`<a href="${licence}">${licence}</a>` : licence;
}
