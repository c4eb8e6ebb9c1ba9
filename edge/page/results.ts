// The cards of the results: number, chart, table, map, bars, download, code and citations.
import { html } from "hono/html";
import { shorten } from "../downloads/parameters.ts";
import type { AccessMode } from "../options.ts";
import type { NoRowsReason } from "../../src/client/no_rows.ts";
import { drawBars } from "./bars.ts";
import { characteristicName, findCharacteristic, nearCharacteristics } from "./characteristics.ts";
import { fieldLabel } from "./field_texts.ts";
import { drawChart } from "./chart.ts";
import { createCodeSnippets, CREDENTIALS } from "./code_snippets.ts";
import { type Form, isFiltered, pageUrl, readForm } from "./form.ts";
import { extentOf, type Html, nameInForm } from "./html.ts";
import { type DatasetInfo, FURTHER_FIELDS, MAX_COUNTED_BY_YEAR, type Results } from "./load.ts";
import { drawMap } from "./map.ts";
import { formatView, LEAD_SIZE, parseView, RAIL_SIZE, viewOf, viewOfBox } from "./map_view.ts";
import { CANADA } from "./projection.ts";
import { formatSeries, parseSeries, selectSeries } from "./series.ts";
import { measurementsTable } from "./table.ts";
import {
  fill,
  FILTER_NAMES,
  formatBytes,
  formatNumber,
  formatTime,
  type Language,
  regionsIn,
  type Text,
  TEXTS,
  valueName,
} from "./text.ts";
import { type DownloadLink, estimateSize } from "./download_link.ts";
import { type ToolId, TOOLS } from "./tools.ts";

/** Links of the results. Links of citations can require a header. */
export interface Links {
  downloads: Readonly<Record<ToolId, DownloadLink>>;
  citations: readonly { label: string; url: string }[];
}

export interface ResultsContent {
  access: AccessMode;
  form: Form;
  results: Results;
  links: Links;
}

export function renderResults(content: ResultsContent): Html {
  const { form, results } = content;
  const text = TEXTS[form.language];
  if (results.count === 0) return renderNothing(content, text);
  const notices = html`${renderUnknown(form, text)} ${renderStale(text)}`;
  if (!isFiltered(form)) {
    return html`
      ${notices}
            <div class="columns">
        <div class="lead">${renderMap(content, true)}</div>
        <div class="rail">
                <section class="card number">${renderNumber(content)} ${renderYears(
                  content,
                  text,
                )}</section>
                ${renderDownload(content, text)}
              </div>
      </div>
    `;
  }
  const hasName = form.characteristics.length > 0;
  return html`
    ${notices}
        <div class="heading">
      <div>${renderNumber(content)}</div>
      <a class="copy-link" href="${pageUrl(form)}">${text.copyLink}</a>
    </div>
        <div class="columns">
      <div class="lead">
            ${!hasName && renderMap(content, true)} ${renderChart(content, text)}
            ${measurementsTable({
              rows: results.rows,
              count: results.count,
              nameOf: namesOf(results),
              more: form.hasMoreColumns
                ? FURTHER_FIELDS.map((field) => ({
                  field,
                  label: fieldLabel(field, form.language),
                }))
                : undefined,
              language: form.language,
              hrefOfColumns: pageUrl(form, { hasMoreColumns: !form.hasMoreColumns }),
            })}
            ${renderCode(content, text)}
          </div>
      <div class="rail">
            ${renderDownload(content, text)} ${hasName && renderMap(content, false)}
            <section class="card years-card">
              <h3>${text.perYear}</h3>${renderYears(content, text)}
            </section>
            ${renderCitations(content, text)}
          </div>
    </div>
  `;
}

function namesOf({ locations }: Results): (id: string) => string {
  const names = new Map(locations.list.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? `Id ${id}`;
}

/** Count from which the service returns an estimate. */
const MIN_ESTIMATE = 1_000_000;

export function formatCount(count: number, language: Language): string {
  const { about, measurement, measurements } = TEXTS[language];
  const estimate = count >= MIN_ESTIMATE ? `${about} ` : "";
  return `${estimate}${formatNumber(count, language)} ${count === 1 ? measurement : measurements}`;
}

function countOf(count: number, one: string, many: string, language: Language): string {
  return `${formatNumber(count, language)} ${count === 1 ? one : many}`;
}

function renderNumber({ form, results }: ResultsContent): Html {
  const { language } = form;
  const text = TEXTS[language];
  const { list, missing } = results.locations;
  const names = form.characteristics.map((name) => nameInForm(name, language)).join(", ");
  const below = results.rows.filter(({ censoring }) => censoring === "left").length;
  const years = isFiltered(form) ? [form.from, form.to] : extentOf(results.datasets);
  const facts = [
    names,
    countOf(list.length + missing, text.location, text.locations, language),
    results.placeName,
    !isFiltered(form) && results.datasets &&
    `${formatNumber(results.datasets.length, language)} ${text.datasets.toLowerCase()}`,
    years[0] === years[1] ? years[0] : years.join("–"),
  ].filter((fact) => fact);
  return html`
    <h1 id="count" tabindex="-1">${formatCount(results.count, language)}</h1>
    <p class="facts">${facts.join(", ")}. ${below > 0 && results.isComplete &&
      fill(text.belowLimit, { n: below }, language)}</p>
  `;
}

function renderYears({ form, results }: ResultsContent, text: Text): Html | undefined {
  if (results.years !== undefined) {
    return html`${drawBars(results.years, form.language)}
      <p class="caption"><span>${
      !isFiltered(form) && text.perYear
    }</span> <span>${text.source}</span></p>`;
  }
  if (results.count > MAX_COUNTED_BY_YEAR) return undefined;
  return html`<p><a data-fragment href="${
    pageUrl(form, {}, "/years")
  }">${text.showPerYear}</a></p>`;
}

function renderChart({ form, results }: ResultsContent, text: Text): Html {
  if (!results.isComplete) {
    const sentence = fill(text.noChart, { n: results.count }, form.language);
    return html`
      <section class="card chart-card">
        <p>${sentence}</p>
      </section>
    `;
  }
  const series = selectSeries(results.rows, form.series ? parseSeries(form.series) : undefined);
  if (series === undefined) {
    return html`
      <section class="card chart-card">
        <p>${text.noSeries}</p>
      </section>
    `;
  }
  return drawChart({
    series,
    nameOf: namesOf(results),
    isLogarithmic: form.scale === "" ? undefined : form.scale === "log",
    language: form.language,
    hrefOfScale: (isLogarithmic) => pageUrl(form, { scale: isLogarithmic ? "log" : "linear" }),
    hrefOfSeries: (key) => pageUrl(form, { series: formatSeries(key), scale: "" }),
  });
}

export function renderMap({ form, results }: ResultsContent, isLead: boolean, path = "/"): Html {
  const size = isLead ? LEAD_SIZE : RAIL_SIZE;
  const { locations: { list, missing }, others, selection: { within: box } } = results;
  const view = parseView(form.view) ??
    (box !== undefined ? viewOfBox(box, size) : isFiltered(form) ? viewOf(list, size) : CANADA);
  const unfiltered = readForm(new URLSearchParams(), form.language);
  const toOthers = { others: others ? "" : "1", view: formatView(view) };
  return drawMap({
    locations: [
      ...list.map((location) => ({ ...location, matches: true })),
      ...(others ?? []).map((location) => ({ ...location, matches: false })),
    ],
    view,
    size,
    language: form.language,
    box,
    selected: form.selected || undefined,
    missing: missing || undefined,
    hasOthers: others !== undefined,
    hrefOfView: (view) => pageUrl(form, { view: formatView(view) }, path),
    hrefOfLocation: ({ id }) => pageUrl(form, { selected: id }, path),
    hrefOfOnly: ({ id, matches }) =>
      pageUrl(matches ? form : unfiltered, {
        locations: [Number(id)],
        where: "",
        selected: "",
        view: "",
        others: "",
      }),
    hrefOfBox: path === "/" ? "#box" : undefined,
    hrefOfOthers: isFiltered(form) && missing === 0 ? pageUrl(form, toOthers, path) : undefined,
  });
}

const MAX_EXCEL_ROWS = 1_048_575;

export function renderDownload({ access, form, results, links }: ResultsContent, text: Text): Html {
  const { language, tool } = form;
  const { count } = results;
  const { bytes, seconds } = estimateSize(count, form);
  const size = fill(text.size, {
    rows: count,
    bytes: formatBytes(bytes, language),
    time: formatTime(seconds, language),
  }, language);
  const needsHeader = access in CREDENTIALS;
  const ids = Object.keys(TOOLS) as ToolId[];
  const { expires } = links.downloads[tool];
  const button = html`${
    ids.map((id) =>
      html`<span class="for-${id}">${
        id === "other"
          ? text.downloadOther
          : fill(text.downloadFor, { tool: TOOLS[id].label }, language)
      }</span>`
    )
  }`;
  return html`
    <section class="card take" aria-labelledby="take">
      <div class="title"><h2 id="take">${text.download}</h2><p>${size}</p></div>
      <fieldset class="tools">
        <legend>${text.tool}</legend>
        ${ids.map((id) =>
          html`
            <label><input form="query" type="radio" name="tool" value="${id}" ${id === tool &&
              "checked"}><span>${TOOLS[id].label || text.other}</span></label>
          `
        )}
      </fieldset>
      <p class="choices">
        <label><input form="query" type="radio" name="columns" value="main"
          ${!form.hasAllColumns && "checked"}> ${text.mainColumns}</label>
        <label><input form="query" type="radio" name="columns" value="all" ${form.hasAllColumns &&
          "checked"}> ${text.allColumns}</label>
      </p>
      <p class="choices"><label><input form="query" type="checkbox" name="tidy" value="1"
        ${form.isTidy && "checked"}> <span>${text.tidy}<small>${text
          .tidyNote}</small></span></label></p>
      ${count > MAX_EXCEL_ROWS && html`<p class="notice for-excel">${text.excelLimit}</p>`}
      <p class="note for-qgis">${text.qgisNote}</p>
      <button type="submit" form="query" formaction="/download" class="download"
        ${needsHeader && html`data-needs-header hidden`}>${button}</button>
      <p id="stale-reason" class="note" hidden>${text.staleDownload}</p>
      ${needsHeader && html`<noscript><p class="note">${text.needsHeader}</p></noscript>`}
      <p class="file">${ids.map((id) =>
        html`<code class="for-${id}">${links.downloads[id].file}</code>`
      )}</p>
      ${expires && html`<p class="note">${
        fill(text.expires, {
          time: `${expires.toISOString().slice(0, 16).replace("T", " ")} UTC`,
        }, language)
      }</p>`}
      <div id="progress" role="status"></div>
    </section>
    <div class="download-bar" hidden><p>${size}</p><button type="submit" form="query"
      formaction="/download" class="download" ${needsHeader && html`data-needs-header`}>${text
        .download}</button></div>
  `;
}

export function renderCode(
  { access, form, links }: Pick<ResultsContent, "access" | "form" | "links">,
  text: Text,
): Html {
  const variable = "data";
  const snippets = createCodeSnippets(access, links.downloads.r.url, variable);
  const credential = CREDENTIALS[access];
  return html`
    <section class="card code" aria-labelledby="code">
      <div class="title"><h2 id="code">${text.code}</h2>
        <button type="button" class="copy" data-script hidden>${text.copy}</button></div>
      ${credential &&
        html`<p class="note">${
          fill(text.codeToken, { variable: credential.variable }, form.language)
        }</p>`}
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
  { access, form, results, links }: ResultsContent,
  text: Text,
): Html {
  const { language } = form;
  const { cited } = results;
  const title = cited.length === 1 ? text.citeOne : fill(text.cite, { n: cited.length }, language);
  const known = new Map(results.datasets?.map((dataset) => [dataset.doi, dataset]));
  const state = access in CREDENTIALS && html`data-needs-header hidden`;
  return html`
    <section class="card cite" aria-labelledby="cite">
      <div class="title">
        <h2 id="cite">${title}</h2>
        <p>${links.citations.map(({ label, url }) =>
          html`
            <a rel="nofollow" download href="${toPath(url)}" ${state}>${label}</a>
          `
        )}</p>
      </div>
      <p class="note">${text.citeNote}</p>
      <ul>${cited.slice(0, MAX_CITED).map(({ doi, results: count }) => {
        const dataset = known.get(doi);
        const facts = [
          count !== undefined && formatCount(count, language),
          dataset && renderLicence(dataset.licence),
          html`<a href="${datasetPath(doi, language)}">${text.datasetPage}</a>`,
        ].filter((fact) => fact);
        return html`<li>${dataset ? renderCitation(dataset) : doi}
          <p class="note">${
          facts.map((fact, index) => html`${index > 0 ? ", " : ""}${fact}`)
        }</p></li>`;
      })}</ul>
    </section>
  `;
}

export function datasetPath(doi: string, language: Language): string {
  return `/datasets/${doi.split("/").map(encodeURIComponent).join("/")}?lang=${language}`;
}

/** Removes the origin, so that a link works at any origin of the page. */
export function toPath(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

export function renderCitation({ citation, link, doi }: DatasetInfo): Html {
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

function renderStale(text: Text): Html {
  return html`
    <div id="stale" class="notice" hidden>
      <p><strong>${text.stale}</strong> ${text.staleNote}
      <button type="submit" form="query" class="link">${text.show}</button></p>
    </div>
  `;
}

/** Renders names that are not in the list, with near matches. The search includes them: the service can have more names. */
function renderUnknown(form: Form, text: Text): Html {
  const unknown = form.characteristics.filter((name) => !findCharacteristic(name).isKnown);
  return html`${
    unknown.map((name) => {
      const near = nearCharacteristics(name);
      const others = form.characteristics.filter((other) => other !== name);
      return html`
        <div class="notice near">
          <p><strong>${fill(text.notInList, { name: shorten(name) }, form.language)}</strong>
          ${near.length > 0 && text.near} ${near.map((other, index) =>
            html`${index > 0 ? ", " : ""}<a href="${
              pageUrl(form, {
                characteristics: [...others, other],
              })
            }">${nameInForm(other, form.language)}</a>`
          )}</p>
        </div>
      `;
    })
  }`;
}

const MAX_TERMS = 3;

function describe({ field = "", terms = [] }: NoRowsReason, form: Form): string {
  const { language } = form;
  const { noneWith, noneTogether } = TEXTS[language];
  const label = FILTER_NAMES[language][field];
  if (label === undefined) return noneTogether;
  const nameOf = (term: string) =>
    field === "RegionId"
      ? regionsIn(language).find(([id]) => id === term)?.[1] ?? term
      : field === "CharacteristicName"
      ? characteristicName(term, language)
      : valueName(term, language);
  const names = terms.slice(0, MAX_TERMS).map((term) => shorten(nameOf(term)));
  const value = field === "ActivityStartYear"
    ? `${form.from}–${form.to}`
    : field === "Longitude"
    ? [form.west, form.south, form.east, form.north].join(" ")
    : `${names.join(", ")}${terms.length > MAX_TERMS ? " …" : ""}`;
  return fill(noneWith, { label, value }, language);
}

function renderNothing({ form, results }: ResultsContent, text: Text): Html {
  const hasYears = form.from !== "" || form.to !== "";
  const hasUnknown = form.characteristics.some((name) => !findCharacteristic(name).isKnown);
  return html`
    <h1 id="count" tabindex="-1">${text.nothing}</h1>
    ${renderUnknown(form, text)} ${renderStale(text)}
    <div class="info reasons">
      ${!hasUnknown && results.reasons.map((reason) => html`<p>${describe(reason, form)}</p>`)}
      <p>${text.removeFilter} ${hasYears &&
        html`<a href="${pageUrl(form, { from: "", to: "" })}">${text.yearsInstead}</a>`}</p>
      <p>${text.nothingDownload}</p>
    </div>
  `;
}
