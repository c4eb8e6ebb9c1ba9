// The pages of datasets and of fields.
import { html } from "hono/html";
import { fieldLabel, fieldMeaning, groupedFields } from "./fields.ts";
import { characteristicName } from "./characteristics.ts";
import { drawChart } from "./chart.ts";
import { type Form, pageUrl } from "./form.ts";
import { renderShortForm, type View } from "./html.ts";
import { type DatasetInfo, MAX_COUNTED, type MeasuredResults, yearsOf } from "./load.ts";
import { drawMap } from "./map.ts";
import {
  datasetPath,
  formatCount,
  renderCitations,
  renderColumns,
  renderDownload,
  renderLicence,
  type ResultsContent,
} from "./results.ts";
import {
  formatMedian,
  groupBy,
  type Measurement,
  selectSeries,
  type Series,
  unitOf,
} from "./series.ts";
import {
  fill,
  formatNumber,
  formatYears,
  type Html,
  type Language,
  type Text,
  TEXTS,
} from "./text.ts";

export function renderDatasetList(language: Language, datasets: readonly DatasetInfo[]): View {
  const title = TEXTS[language].datasets;
  const items = datasets.map(({ doi, name, organization, years: [first = "", last = ""] }) => {
    const facts = [organization, formatYears(first, last, language), doi].filter(Boolean);
    return html`
      <li><a href="${datasetPath(doi, language)}">${name}</a>
        <p class="note">${facts.join(", ")}</p></li>
    `;
  });
  const content = html`
    <h1>${title}</h1>
    <ul class="datasets">${items}</ul>
  `;
  return { title, content, isText: true };
}

export function renderDataset(content: ResultsContent, dataset: DatasetInfo): View {
  const { form, results } = content;
  const { language } = form;
  const text = TEXTS[language];
  const { doi, name, link, version, published, years: [first = "", last = ""] } = dataset;
  const progress = { onGoing: text.onGoing, completed: text.completed }[dataset.progress] ??
    dataset.progress;
  const facts: [string, string | Html][] = [
    [text.measurements, formatNumber(results.count, language)],
    [text.locations, formatNumber(results.locations.list.length, language)],
    [text.years, formatYears(first, last, language)],
    [text.version, [version, published.slice(0, 10)].filter(Boolean).join(", ")],
    [text.licence, renderLicence(dataset.licence)],
    [text.status, progress],
    ["DOI", html`<a href="${link}">${doi}</a>`],
  ];
  const lead = html`
    <section>
      <h2>${text.aboutDataset}</h2>
      <p class="abstract">${dataset.abstract}</p>
      <p><a href="${pageUrl(form, { path: "/" })}">${text.openSelection}</a></p>
    </section>
    ${renderMeasured(content, text)} ${drawChart(content)}
  `;
  const rail = html`
    ${drawMap(content, false)} ${renderDownload(content, text)}
    ${renderCitations(content, [{ doi }])}
  `;
  const page = html`
    <p class="path"><a href="/datasets?lang=${language}">${text.datasets}</a> › ${doi}</p>
    <h1 id="count" tabindex="-1">${name}</h1>
    <p class="facts">${dataset.organization}</p>
    <dl class="facts-list">${facts.map(([term, value]) =>
      html`
        <div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>
      `
    )}</dl>
    ${renderColumns(lead, rail)}
  `;
  return { title: name, content: page, form: renderShortForm(content) };
}

function renderMeasured({ form, results }: ResultsContent, text: Text): Html {
  const href = pageUrl(form, { path: "/measured" });
  return html`
    <section class="card">
      <h2 id="measured">${text.whatMeasured}</h2>
      ${results.isComplete
        ? renderCharacteristics(form, measuredOf(results.rows))
        : results.count > MAX_COUNTED
        ? html`<p>${fill(text.tooManyToList, { n: results.count }, form.language)}</p>`
        : html`<p><a data-fragment href="${href}">${text.showMeasured}</a></p>`}
      <p class="note">${formatCount(results.count, form.language)}</p>
    </section>
  `;
}

/** Results of a characteristic, with its most frequent series if the rows were read. */
interface MeasuredValues extends MeasuredResults {
  series?: Series | undefined;
}

function measuredOf(rows: readonly Measurement[]): MeasuredValues[] {
  const groups = groupBy(rows, ({ CharacteristicName = "" }) => CharacteristicName);
  return [...groups].map(([characteristic, rows]) => {
    const years = yearsOf(rows).map(({ year }) => String(year));
    const [first_year = null, last_year = null] = [years[0], years.at(-1)];
    const series = selectSeries(rows);
    return { characteristic, results: rows.length, first_year, last_year, series };
  }).sort((a, b) => b.results - a.results);
}

const MAX_CHARACTERISTICS = 100;

/** With series, the table has the medians of their values. */
export function renderCharacteristics(form: Form, measured: readonly MeasuredValues[]): Html {
  const { language } = form;
  const text = TEXTS[language];
  const hasMedians = measured.some(({ series }) => series !== undefined);
  const lines = measured.slice(0, MAX_CHARACTERISTICS).map((row) => {
    const { characteristic: name = "", results, first_year, last_year, series } = row;
    const href = pageUrl(form, { path: "/", characteristics: [name], series: "", view: "" });
    const median = series &&
      html`<b>${formatMedian(series.rows, language)}</b> ${unitOf(series.example, language)}`;
    return html`
      <tr>
        <td><a href="${href}">${characteristicName(name, language)}</a></td>
        <td class="number">${formatNumber(results, language)}</td>
        <td>${formatYears(first_year ?? "", last_year ?? "", language)}</td>
        ${hasMedians && html`<td class="number">${median}</td>`}
      </tr>
    `;
  });
  return html`
    <table class="measured" aria-label="${text.whatMeasured}">
      <thead>
        <tr>
          <th scope="col">${text.characteristic}</th>
          <th scope="col" class="number">${text.results}</th>
          <th scope="col">${text.years}</th>
          ${hasMedians && html`<th scope="col" class="number">${text.median}</th>`}
        </tr>
      </thead>
      <tbody>${lines}</tbody>
    </table>
  `;
}

/** Returns a table of the fields of a download: label, name in the service, group and meaning. */
export function renderFields(language: Language): View {
  const title = TEXTS[language].fields;
  const content = html`
    <h1>${title}</h1>
    ${groupedFields(language).map(([group, fields]) =>
      html`
        <h2>${group}</h2>
        <dl class="fields">${fields.map((field) =>
          html`
            <div>
              <dt>${fieldLabel(field, language)} <code>${field}</code></dt>
              <dd>${fieldMeaning(field, language)}</dd>
            </div>
          `
        )}</dl>
      `
    )}
  `;
  return { title, content, isText: true };
}
