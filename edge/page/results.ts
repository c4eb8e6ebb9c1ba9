// The cards of the results: number, chart, table, map, bars, download, code and citations.
import { createCodeSnippets } from "../../src/formats/code_snippets.ts";
import { FORMATS } from "../../src/formats/formats.ts";
import { html } from "hono/html";
import type { NoRowsReason } from "../../src/client/no_rows.ts";
import { CREDENTIALS } from "../http/access.ts";
import { shorten } from "../http/parameters.ts";
import { drawBars, type YearResults } from "./bars.ts";
import { findCharacteristic, nameInForm, unknownNames } from "./characteristics.ts";
import { drawChart } from "./chart.ts";
import { estimateSize, expiryOf, fileNameOf } from "./download_link.ts";
import { type Form, isFiltered, pageUrl } from "./form.ts";
import { countColumns } from "./fields.ts";
import { describeBox, describePlace, extentOf, type FormContent } from "./html.ts";
import { type DatasetInfo, MAX_COUNTED, type Results } from "./load.ts";
import { listLocations } from "./locations.ts";
import { drawMap } from "./map.ts";
import { groupBy } from "./series.ts";
import { measurementsTable } from "./table.ts";
import { FILTER_NAMES, formatMinute, type Html, type Locale } from "./text.ts";
import { CITATION_FILES, TOOL_IDS, type ToolId, TOOLS } from "./tools.ts";

export interface ResultsContent extends FormContent {
  origin: string;
  results: Results;
  /** Links to the rows as files, for code. */
  urls: { csv: string; parquet: string };
}

export function renderResults(content: ResultsContent): Html {
  const { form, results } = content;
  const { text, fill } = form.locale;
  if (results.count === 0) return renderNothing(content);
  const number = renderNumber(content);
  const years = renderYears(content);
  const download = renderDownload(content);
  const isEnlarged = form.map === "page";
  const notices = html`${renderStale(form)}
    ${isEnlarged && drawMap(content, "page")}`;
  if (!isFiltered(form)) {
    const rail = html`<section class="card number">${number} ${years}</section> ${download}`;
    return html`${notices} ${renderColumns(isEnlarged ? html`` : drawMap(content, "lead"), rail)}`;
  }
  const { list, missing } = results.locations;
  const noChart = results.isComplete
    ? text.noSeries
    : fill(list.length + missing === 1 ? text.noChartOfYears : text.noChart, { n: results.count });
  const places = listLocations(content);
  const leads = places !== undefined || form.characteristics.length === 0;
  const lead = html`
    ${leads && !isEnlarged && drawMap(content, "lead")}
    ${drawChart(content) ?? html`
      <section class="card chart-card">
        <p>${noChart}</p>
      </section>
    `}
    ${measurementsTable(content)} ${renderCode(content)}
  `;
  const rail = html`
    ${places} ${download} ${!leads && !isEnlarged && drawMap(content, "rail")}
    <section class="card years-card"><h3>${text.perYear}</h3>${years}</section>
    ${renderCitations(content, results.cited)}
  `;
  return html`
    ${notices}
    <div class="heading">
      <div>${number}</div>
      <a class="copy-link" href="${pageUrl(form)}">${text.copyLink}</a>
    </div>
    ${renderColumns(lead, rail)}
  `;
}

export function renderColumns(lead: Html, rail: Html): Html {
  return html`
    <div class="columns">
      <div class="lead">${lead}</div>
      <div class="rail">${rail}</div>
    </div>
  `;
}

/** Count from which the service returns an estimate. */
const MIN_ESTIMATE = 1_000_000;

export function formatCount(count: number, { text, formatPlural }: Locale): string {
  const estimate = count >= MIN_ESTIMATE ? `${text.about} ` : "";
  return estimate + formatPlural("measurements", count);
}

function renderNumber(content: ResultsContent): Html {
  const { form, datasets, results } = content;
  const { locale } = form;
  const { formatPlural, formatYears } = locale;
  const { list, missing } = results.locations;
  const below = results.rows.filter(({ censoring }) => censoring === "left").length;
  const [first, last] = isFiltered(form) ? [form.from, form.to] : extentOf(datasets);
  const facts = [
    ...describeNames(content),
    formatPlural("locations", list.length + missing),
    describePlace(content),
    !isFiltered(form) && datasets && formatPlural("datasets", datasets.length),
    formatYears(first, last),
  ].filter(Boolean);
  return html`
    <h1 id="count" tabindex="-1">${formatCount(results.count, locale)}</h1>
    <p class="facts">${facts.join(", ")}. ${below > 0 && results.isComplete &&
      formatPlural("belowLimit", below)}</p>
    ${results.unsearched > 0 &&
      html`<p class="caption">${formatPlural("unsearched", results.unsearched)}</p>`}
  `;
}

/** Returns the chosen names, with the number of measurements of each if there are several. */
function describeNames({ form, results }: ResultsContent): string[] {
  const { characteristics, locale } = form;
  const { text, fill } = locale;
  const { rows, isComplete } = results;
  const ofName = groupBy(rows, ({ CharacteristicName = "" }) => CharacteristicName);
  return characteristics.map((chosen) => {
    const n = findCharacteristic(chosen).names.flatMap((name) => ofName.get(name) ?? []).length;
    const number = !isComplete ? text.ofRead : n > 0 ? "{n}" : text.noMeasurements;
    const note = ` (${fill(number, { n, read: rows.length })})`;
    return nameInForm(chosen, locale) + (characteristics.length > 1 ? note : "");
  });
}

/** Results per year with their source. The card of a filtered result has a heading. */
export function renderBars(years: readonly YearResults[], form: Form): Html {
  const { perYear, source } = form.locale.text;
  return html`${drawBars(years, form.locale)}
    <p class="caption"><span>${!isFiltered(form) && perYear}</span> <span>${source}</span></p>`;
}

function renderYears({ form, results }: ResultsContent): Html | undefined {
  if (results.years !== undefined) return renderBars(results.years, form);
  if (results.count > MAX_COUNTED) return undefined;
  const href = pageUrl(form, { path: "/years" });
  return html`<p><a data-fragment href="${href}">${form.locale.text.showPerYear}</a></p>`;
}

export function renderDownload(content: ResultsContent): Html {
  const { settings, form, results } = content;
  const { text, fill, formatPlural, formatBytes, formatTime } = form.locale;
  /** The style sheet shows the text of the chosen state. */
  const ofStates = (texts: Readonly<Record<string, string>>) =>
    Object.entries(texts).map(([state, text]) => html`<span class="for-${state}">${text}</span>`);
  const ofEach = (textOf: (tool: ToolId) => string) =>
    ofStates(Object.fromEntries(TOOL_IDS.map((tool) => [tool, textOf(tool)])));
  const size = ofEach((tool) => {
    const { rows, bytes, seconds } = estimateSize(tool, form, results);
    const [size, time] = [formatBytes(bytes), formatTime(seconds)];
    return fill(text.size, { rows: formatPlural("rows", rows), bytes: size, time });
  });
  const labelOf = (tool: ToolId) =>
    tool === "other" ? text.downloadOther : fill(text.downloadFor, { tool: TOOLS[tool].label });
  const labelOfColumns = (label: string, columns: string) => {
    const labelIf = (tidy: string) => fill(label, { n: countColumns({ columns, tidy }) });
    return ofStates({ tidy: labelIf("1"), untidy: labelIf("0") });
  };
  const tidy = ofStates({ main: text.tidy, all: text.tidyAll });
  const choose = (type: string, name: "tool" | "columns" | "tidy", value: string, label: unknown) =>
    html`<label><input form="query" type="${type}" name="${name}" value="${value}" ${
      form[name] === value && "checked"
    }> <span>${label}</span></label>`;
  const button = (label: unknown) =>
    html`<button type="submit" form="query" formaction="/download" class="download">${label}</button>`;
  const expires = expiryOf(settings)?.toISOString();
  return html`
    <section class="card take" aria-labelledby="take">
      <div class="title"><h2 id="take">${text.download}</h2><p>${size}</p></div>
      <fieldset class="tools">
        <legend>${text.tool}</legend>
        ${TOOL_IDS.map((id) => choose("radio", "tool", id, TOOLS[id].label || text.other))}
      </fieldset>
      <p class="choices">
        ${choose("radio", "columns", "main", labelOfColumns(text.mainColumns, "main"))}
        ${choose("radio", "columns", "all", labelOfColumns(text.allColumns, "all"))}
      </p>
      <p class="choices">
        <input form="query" type="hidden" name="tidy" value="0">
        ${choose("checkbox", "tidy", "1", html`${tidy}<small>${text.tidyNote}</small>`)}
      </p>
      ${results.count > FORMATS.xlsx.maxRows! &&
        ["excel", "xlsx"].map((tool) => html`<p class="notice for-${tool}">${text.excelLimit}</p>`)}
      <p class="note for-qgis">${text.qgisNote}</p>
      ${button(ofEach(labelOf))}
      <p id="stale-reason" class="note">${text.staleDownload}</p>
      <p class="file"><code>${ofEach((tool) => fileNameOf(content, TOOLS[tool]))}</code></p>
      ${expires &&
        html`<p class="note">${fill(text.expires, { time: formatMinute(expires) })}</p>`}
    </section>
    <div class="download-bar" hidden><p>${size}</p>${button(text.download)}</div>
  `;
}

function renderCode({ settings: { access }, form, urls }: ResultsContent): Html {
  const { text, fill } = form.locale;
  const credential = CREDENTIALS[access];
  const snippets = createCodeSnippets(urls, "data", credential);
  return html`
    <section class="card code" aria-labelledby="code">
      <div class="title"><h2 id="code">${text.code}</h2>
        <button type="button" class="copy">${text.copy}</button></div>
      ${credential &&
        html`<p class="note">${fill(text.codeToken, { variable: credential.variable })}</p>`}
      <div class="tabs">
        ${snippets.map(({ id, label, code }, index) =>
          html`
            <input type="radio" name="code" id="code-${id}" ${index === 0 && "checked"}><label
              for="code-${id}">${label}</label>
            <pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>
          `
        )}
      </div>
    </section>
  `;
}

const MAX_CITED = 10;

export function renderCitations(
  { form: { locale, path }, datasets }: ResultsContent,
  cited: Results["cited"],
): Html {
  const { text, formatPlural } = locale;
  const items = cited.slice(0, MAX_CITED).map(({ doi, results: count }) => {
    const dataset = datasets?.find((dataset) => dataset.doi === doi);
    const facts = [
      count !== undefined && formatCount(count, locale),
      dataset && renderLicence(dataset.licence),
      path === "/" && html`<a href="${datasetPath(doi, locale)}">${text.datasetPage}</a>`,
    ].filter(Boolean);
    return html`<li>${dataset ? renderCitation(dataset) : doi}
      <p class="note">${facts.map((fact, i) => html`${i > 0 && ", "}${fact}`)}</p></li>`;
  });
  return html`
    <section class="card cite" aria-labelledby="cite">
      <div class="title">
        <h2 id="cite">${formatPlural("cite", cited.length)}</h2>
        <p>${Object.entries(CITATION_FILES).map(([id, { label }]) =>
          html`
            <button type="submit" form="query" formaction="/download" class="link" name="file"
              value="${id}">${label || text.plainText}</button>
          `
        )}</p>
      </div>
      <p class="note">${text.citeNote}</p>
      <ul>${items}</ul>
    </section>
  `;
}

export function datasetPath(doi: string, { language }: Locale): string {
  return `/datasets/${doi.split("/").map(encodeURIComponent).join("/")}?lang=${language}`;
}

function renderCitation({ citation, link, doi }: DatasetInfo): Html {
  const text = citation.includes(link) ? link : doi;
  const [before, ...after] = citation.split(text);
  return html`${before}<a href="${link}">doi:${doi}</a>${after.join(text)}`;
}

/** Renders a link only for an HTTP URL, because data could contain a `javascript:` URL. */
export function renderLicence(licence: string): string | Html {
  if (!/^https?:\/\//.test(licence)) return licence;
  const name = /opendatacommons\.org\/licenses\/(\w+)\/([\d-]+)/.exec(licence);
  const label = name ? `ODC-${name[1]!.toUpperCase()} ${name[2]!.replace(/-/g, ".")}` : licence;
  return html`<a href="${licence}">${label}</a>`;
}

function renderStale({ locale: { text } }: Form): Html {
  return html`
    <div id="stale" class="notice">
      <p><strong>${text.stale}</strong> ${text.staleNote}
      <button type="submit" form="query" class="link">${text.show}</button></p>
    </div>
  `;
}

function describe({ field = "", terms = [] }: NoRowsReason, form: Form): string {
  const { locale } = form;
  const { text, fill } = locale;
  const label = FILTER_NAMES[field]?.[locale.language];
  if (label === undefined) return text.noneTogether;
  const nameOf =
    { RegionId: locale.regionName, CharacteristicName: locale.characteristicName }[field] ??
      locale.valueName;
  const value = field === "ActivityStartYear"
    ? locale.formatYears(form.from, form.to)
    : field === "Longitude"
    ? describeBox(form)
    : terms.map((term) => shorten(nameOf(term))).join(", ");
  return fill(text.noneWith, { label, value });
}

function renderNothing({ form, results }: ResultsContent): Html {
  const { text } = form.locale;
  const hasYears = form.from !== "" || form.to !== "";
  const hasUnknown = unknownNames(form.characteristics).length > 0;
  return html`
    <h1 id="count" tabindex="-1">${formatCount(0, form.locale)}</h1>
    ${renderStale(form)}
    <div class="info reasons">
      ${!hasUnknown && results.reasons.map((reason) => html`<p>${describe(reason, form)}</p>`)}
      <p>${text.removeFilter} ${hasYears &&
        html`<a href="${pageUrl(form, { from: "", to: "" })}">${text.yearsInstead}</a>`}</p>
      <p>${text.nothingDownload}</p>
    </div>
  `;
}
