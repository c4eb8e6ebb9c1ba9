import { html } from "hono/html";
import type { DataStream } from "../../src/client/datastream.ts";
import { explainNoRows } from "../../src/client/no_rows.ts";
import type { Citation } from "../../src/formats/citations.ts";
import { isMeasured, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { FormQuery } from "./form.ts";

type Html = ReturnType<typeof html>;

export interface Preview {
  count: number;
  rows: readonly CsvRow[];
  /** Not selected, so they have no columns. */
  added: readonly string[];
  citations: readonly Citation[];
  /** Sentences without a period; empty if there are rows. */
  reasons: readonly string[];
}

/** By field. Numbers have the service's digits; `null` is an empty string. */
type CsvRow = Readonly<Record<string, string>>;

/** Fields that the text of a result needs in addition to `ResultValue`. */
const RESULT_FIELDS = [
  "ResultUnit",
  "ResultDetectionCondition",
  "ResultDetectionQuantitationLimitMeasure",
  "ResultDetectionQuantitationLimitUnit",
];

const PREVIEW_ROWS = 20;

export function preparePreview(
  dataStream: DataStream,
  { resource, ...options }: FormQuery,
  signal: AbortSignal,
): () => Promise<Preview> {
  const { filter, within, select } = options;
  const added = select?.includes("ResultValue")
    ? RESULT_FIELDS.filter((field) => !select.includes(field))
    : [];
  const all = dataStream.query(resource, { ...options, signal });
  const first = dataStream.query(resource, {
    ...options,
    select: select && [...select, ...added],
    signal,
    limit: PREVIEW_ROWS,
  });
  return async () => {
    const count = await all.count();
    if (count === 0) {
      const reasons = await explainNoRows(dataStream, resource, { filter, within, signal });
      return { count, rows: [], added, citations: [], reasons: reasons.map(({ text }) => text) };
    }
    let csv = "";
    const decoder = new TextDecoder();
    for await (const bytes of first.csv()) csv += decoder.decode(bytes, { stream: true });
    const citations = await dataStream.citations(filter, { within, signal });
    return { count, rows: parseCsv(csv), added, citations, reasons: [] };
  };
}

/** A cell with or without quotes, and the separator after it. */
const CSV_CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r\n)/g;

/** As Weir writes it (RFC 4180). */
function parseCsv(csv: string): CsvRow[] {
  const lines: string[][] = [[]];
  for (const [, quoted, plain = "", end] of csv.matchAll(CSV_CELL)) {
    lines.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== ",") lines.push([]);
  }
  const [fields = [], ...rows] = lines.slice(0, -1);
  return rows.map((cells) => Object.fromEntries(fields.map((field, i) => [field, cells[i]!])));
}

const ROW_NOUNS: Record<ResourceName, [one: string, many: string]> = {
  Metadata: ["dataset", "datasets"],
  Locations: ["location", "locations"],
  Observations: ["measurement", "measurements"],
  Records: ["measurement", "measurements"],
};
/** The service estimates counts from this one on. */
const MIN_ESTIMATE = 1_000_000;

/** Such as "1,234 measurements". */
export function formatCount(count: number, resource: ResourceName): string {
  const [one, many] = ROW_NOUNS[resource];
  const about = count >= MIN_ESTIMATE ? "About " : "";
  return `${about}${count.toLocaleString("en-CA")} ${count === 1 ? one : many}`;
}

interface Column {
  heading: string;
  className: string;
  /** Fields that the column shows, so that they need no column of their own. */
  fields: readonly string[];
  /** Default: the value of the first field. */
  format?: ((row: CsvRow) => string) | undefined;
}

/** A phone shows only these. */
function measurementColumns(field: string, format?: Column["format"]): readonly Column[] {
  return [
    { heading: "Date", className: "date", fields: ["ActivityStartDate"] },
    { heading: "Location", className: "location", fields: [field], format },
    { heading: "Characteristic", className: "characteristic", fields: ["CharacteristicName"] },
    {
      heading: "Value",
      className: "value",
      fields: ["ResultValue", "ResultUnit"],
      format: formatResult,
    },
  ];
}

const FIRST_COLUMNS: Record<ResourceName, readonly Column[]> = {
  Records: measurementColumns("MonitoringLocationName"),
  Observations: measurementColumns("LocationId", ({ LocationId }) => `Id ${LocationId}`),
  Locations: ["Name", "MonitoringLocationType", "Latitude", "Longitude"]
    .map((field) => fieldColumn("Locations", field)),
  Metadata: ["DatasetName", "DataCollectionOrganization", "TemporalExtent", "DOI"]
    .map((field) => fieldColumn("Metadata", field)),
};

function fieldColumn(resource: ResourceName, field: string): Column {
  const types: Record<string, string> = RESOURCES[resource].fields;
  const isNumber = /^(integer|number)/.test(types[field] ?? "");
  return { heading: field, className: isNumber ? "number" : "text", fields: [field] };
}

function columnsOf(
  resource: ResourceName,
  { rows: [row = {}], added }: Preview,
): readonly Column[] {
  const first = FIRST_COLUMNS[resource].filter(({ fields }) => fields[0]! in row);
  const shown = [...first.flatMap(({ fields }) => fields), ...added];
  const others = Object.keys(row).filter((field) => !shown.includes(field));
  return [...first, ...others.map((field) => fieldColumn(resource, field))];
}

/** Such as `7.1 mg/L`, `< 0.05 mg/L`, `> 2419.6 MPN/100mL` or `not detected`. */
function formatResult(row: CsvRow): string {
  const { ResultValue, ResultUnit, ResultDetectionCondition: condition = "" } = row;
  const limit = row.ResultDetectionQuantitationLimitMeasure;
  if (ResultValue) return withUnit(ResultValue, ResultUnit);
  const sign = /^(Below |Present Below |Not Detected)/.test(condition)
    ? "<"
    : /^(Present )?Above /.test(condition)
    ? ">"
    : undefined;
  if (!sign || !limit) return condition.toLowerCase();
  return `${sign} ${withUnit(limit, row.ResultDetectionQuantitationLimitUnit)}`;
}

/** `None` is the unit of a number without one, such as a pH. */
function withUnit(number: string, unit: string | undefined): string {
  return unit && unit !== "None" ? `${number} ${unit}` : number;
}

export function renderRows(preview: Preview, resource: ResourceName): Html {
  const { rows, count } = preview;
  // A count of the service can be wrong.
  if (rows.length === 0) return html`<p>DataStream returned no rows.</p>`;
  const columns = columnsOf(resource, preview);
  // On a phone, each measurement has three lines, for which all of these columns are necessary.
  const isCompact = isMeasured(resource) && columns[3]?.heading === "Value";
  return html`
    <h3 id="preview">${rows.length < count ? `First ${rows.length} rows` : "All rows"}</h3>
    ${isCompact && html`<p class="phone">The download has more columns.</p>`}
    <div class="table" role="region" aria-labelledby="preview" tabindex="0">
      <table class="${isCompact ? "compact" : "wide"}">
        <thead>
          <tr>${columns.map(({ heading, className }) =>
            html`<th scope="col" class="${className}">${heading}</th>`
          )}</tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`<tr>${columns.map((column) => renderCell(column, row))}</tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

const MAX_CELL_LENGTH = 120;

function renderCell({ className, fields, format }: Column, row: CsvRow): Html {
  const text = format?.(row) ?? row[fields[0]!]!;
  // Cuts between code points, so that no half of a surrogate pair remains.
  const shown = text.length > MAX_CELL_LENGTH
    ? `${Array.from(text).slice(0, MAX_CELL_LENGTH - 3).join("")}…`
    : text;
  return html`<td class="${className}">${shown}</td>`;
}

export function renderReasons(reasons: readonly string[]): Html {
  return html`<div class="reasons">${reasons.map((text) => html`<p>${text}</p>`)}</div>`;
}

export function renderCitations(citations: readonly Citation[]): Html {
  if (citations.length === 0) return html``;
  const datasets = citations.length === 1 ? "this dataset" : `these ${citations.length} datasets`;
  return html`
    <h3>Citations</h3>
    <p>If you use this data, you must cite ${datasets}.</p>
    <ul class="citations">
      ${citations.map((citation) =>
        html`
          <li>${renderCitation(citation)} <span>Licence: ${renderLicence(
            citation.licence,
          )}</span></li>
        `
      )}
    </ul>
  `;
}

function renderCitation({ citation, link, doi }: Citation): Html {
  const text = citation.includes(link) ? link : doi;
  const [before, ...after] = citation.split(text);
  return html`${before}<a href="${link}">${text}</a>${after.join(text)}`;
}

/** A link only if it is an HTTP URL: data could contain a `javascript:` URL. */
function renderLicence(licence: string): string | Html {
  return /^https?:\/\//.test(licence) ? html`<a href="${licence}">${licence}</a>` : licence;
}
