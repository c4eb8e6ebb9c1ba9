// The pages of datasets and of fields.
import { html } from "hono/html";
import { groupedFields } from "./fields.ts";
import { characteristicName } from "./characteristics.ts";
import { drawChart } from "./chart.ts";
import { type Form, pageUrl } from "./form.ts";
import { renderHiddenForm, type View } from "./html.ts";
import {
  countBy,
  type DatasetInfo,
  MAX_COUNTED_BY_YEAR,
  type MeasuredResults,
  yearsOf,
} from "./load.ts";
import { drawMap } from "./map.ts";
import {
  datasetPath,
  formatCount,
  renderCitation,
  renderCiteHeading,
  renderDownload,
  renderLicence,
  type ResultsContent,
} from "./results.ts";
import { formatMedian, type Measurement, selectSeries, unitOf } from "./series.ts";
import { fill, formatNumber, type Html, type Language, type Text, TEXTS } from "./text.ts";

export function renderDatasetList(language: Language, datasets: readonly DatasetInfo[]): View {
  const title = TEXTS[language].datasets;
  const content = html`
    <h1>${title}</h1>
    <ul class="datasets">${datasets.map(({ doi, name, organization, years }) =>
      html`<li><a href="${datasetPath(doi, language)}">${name}</a>
        <p class="note">${[organization, rangeOf(years), doi].filter(Boolean).join(", ")}</p></li>`
    )}</ul>
  `;
  return { title, content, isText: true };
}

const rangeOf = (years: readonly string[]) => [...new Set(years)].join("–");

export function renderDataset(content: ResultsContent, dataset: DatasetInfo): View {
  const { form, results } = content;
  const { language } = form;
  const text = TEXTS[language];
  const progress = { onGoing: text.onGoing, completed: text.completed }[dataset.progress] ??
    dataset.progress;
  const facts: [string, string | Html][] = [
    [text.measurements, formatNumber(results.count, language)],
    [text.locations, formatNumber(results.locations.list.length, language)],
    [text.years, rangeOf(dataset.years)],
    [text.version, [dataset.version, dataset.published.slice(0, 10)].filter(Boolean).join(", ")],
    [text.licence, renderLicence(dataset.licence)],
    [text.status, progress],
    ["DOI", html`<a href="${dataset.link}">${dataset.doi}</a>`],
  ];
  const page = html`
    <p class="path"><a href="/datasets?lang=${language}">${text.datasets}</a> › ${dataset.doi}</p>
    <h1 id="count" tabindex="-1">${dataset.name}</h1>
    <p class="facts">${dataset.organization}</p>
    <dl class="facts-list">${facts.map(([term, value]) =>
      html`
        <div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>
      `
    )}</dl>
    <div class="columns">
      <div class="lead">
        <section><h2>${text.aboutDataset}</h2><p class="abstract">${dataset.abstract}</p>
          <p><a href="${pageUrl(form)}">${text.openSelection}</a></p></section>
        ${renderMeasured(content, text)} ${drawChart(content)}
      </div>
      <div class="rail">
        ${drawMap(content, false)} ${renderDownload(content, text)}
        <section class="card cite" aria-labelledby="cite">
          ${renderCiteHeading(1, language)}
          <p>${renderCitation(dataset)}</p>
        </section>
      </div>
    </div>
  `;
  return { title: dataset.name, content: page, form: renderHiddenForm(content) };
}

function renderMeasured({ form, results }: ResultsContent, text: Text): Html {
  const href = pageUrl(form, {}, "/measured");
  return html`
    <section class="card">
      <h2 id="measured">${text.whatMeasured}</h2>
      ${results.isComplete
        ? renderCharacteristics(form, measuredOf(results.rows), results.rows)
        : results.count > MAX_COUNTED_BY_YEAR
        ? html`<p>${fill(text.tooManyToList, { n: results.count }, form.language)}</p>`
        : html`<p><a data-fragment href="${href}">${text.showMeasured}</a></p>`}
      <p class="note">${formatCount(results.count, form.language)}</p>
    </section>
  `;
}

function measuredOf(rows: readonly Measurement[]): MeasuredResults[] {
  return countBy(rows, ({ CharacteristicName = "" }) => CharacteristicName).map(
    ([name, results]) => {
      const years = yearsOf(rows.filter((row) => row.CharacteristicName === name));
      return {
        name,
        results,
        years: [years[0], years.at(-1)].map((year) => `${year?.year ?? ""}`),
      };
    },
  );
}

const MAX_CHARACTERISTICS = 100;

/** With rows, the table has the median of the values of each characteristic's most frequent series. */
export function renderCharacteristics(
  form: Form,
  measured: readonly MeasuredResults[],
  rows?: readonly Measurement[],
): Html {
  const { language } = form;
  const text = TEXTS[language];
  const lines = measured.slice(0, MAX_CHARACTERISTICS).map(({ name, results, years }) => {
    const href = pageUrl(form, { characteristics: [name], series: "", view: "" });
    const series = rows && selectSeries(rows.filter((row) => row.CharacteristicName === name));
    return html`
      <tr>
        <td><a href="${href}">${characteristicName(name, language)}</a></td>
        <td class="number">${formatNumber(results, language)}</td>
        <td>${rangeOf(years)}</td>
        ${rows && html`<td class="number">${
          series &&
          html`<b>${formatMedian(series.rows, language)}</b> ${unitOf(series, language)}`
        }</td>`}
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
          ${rows && html`<th scope="col" class="number">${text.median}</th>`}
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
    ${groupedFields(language).map(({ group, fields }) =>
      html`
        <h2>${group}</h2>
        <dl class="fields">${fields.map(({ field, label, meaning }) =>
          html`
            <div>
              <dt>${label} <code>${field}</code></dt>
              <dd>${meaning}</dd>
            </div>
          `
        )}</dl>
      `
    )}
  `;
  return { title, content, isText: true };
}
