// The pages of datasets and of fields.
import { html } from "hono/html";
import { FIELD_GROUPS, fieldLabel, fieldMeaning } from "./field_texts.ts";
import { fieldNames } from "../../src/odata/resources.ts";
import { drawChart } from "./chart.ts";
import { characteristicName } from "./characteristics.ts";
import { pageUrl } from "./form.ts";
import type { Html } from "./html.ts";
import { countBy, type DatasetInfo, yearsOf } from "./load.ts";
import {
  datasetPath,
  formatCount,
  renderCitation,
  renderDownload,
  renderLicence,
  renderMap,
  type ResultsContent,
  toPath,
} from "./results.ts";
import { CREDENTIALS } from "./code_snippets.ts";
import { formatMedian, formatSeries, parseSeries, selectSeries, unitOf } from "./series.ts";
import { fill, formatNumber, type Language, TEXTS } from "./text.ts";

interface Rendered {
  title: string;
  content: Html;
}

export function renderDatasetList(language: Language, datasets: readonly DatasetInfo[]): Rendered {
  const text = TEXTS[language];
  return {
    title: text.datasets,
    content: html`
      <div id="results" class="reading">
        <h1>${text.datasets}</h1>
        <ul class="datasets">${datasets.map(({ doi, name, organization, years }) =>
          html`<li><a href="${datasetPath(doi, language)}">${name}</a>
            <p class="note">${
            [organization, years.join("–"), doi].filter(Boolean).join(", ")
          }</p></li>`
        )}</ul>
      </div>
    `,
  };
}

const MAX_CHARACTERISTICS = 100;

export function renderDataset(content: ResultsContent, dataset: DatasetInfo, path: string): Html {
  const { access, form, results, links } = content;
  const { language } = form;
  const text = TEXTS[language];
  const names = new Map(results.locations.list.map(({ id, name }) => [id, name]));
  const series = results.isComplete
    ? selectSeries(results.rows, form.series ? parseSeries(form.series) : undefined)
    : undefined;
  const progress = { onGoing: text.onGoing, completed: text.completed }[dataset.progress] ??
    dataset.progress;
  const facts: [string, string | Html][] = [
    [text.measurements, formatNumber(results.count, language)],
    [text.locations, formatNumber(results.locations.list.length, language)],
    [text.years, [...new Set(dataset.years)].join("–")],
    [text.version, [dataset.version, dataset.published.slice(0, 10)].filter(Boolean).join(", ")],
    [text.licence, renderLicence(dataset.licence)],
    [text.status, progress],
    ["DOI", html`<a href="${dataset.link}">${dataset.doi}</a>`],
  ];
  const state = access in CREDENTIALS && html`data-needs-header hidden`;
  return html`
    ${renderHiddenForm(content)}
    <div id="results" tabindex="-1">
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
          ${renderMeasured(content)}
          ${series && drawChart({
            series,
            nameOf: (id) => names.get(id) ?? `Id ${id}`,
            isLogarithmic: form.scale === "" ? undefined : form.scale === "log",
            language,
            hrefOfScale: (isLogarithmic) =>
              pageUrl(form, { scale: isLogarithmic ? "log" : "linear" }, path),
            hrefOfSeries: (key) => pageUrl(form, { series: formatSeries(key), scale: "" }, path),
          })}
        </div>
        <div class="rail">
          ${renderMap(content, false, path)} ${renderDownload(content, text)}
          <section class="card cite" aria-labelledby="cite">
            <div class="title"><h2 id="cite">${text.citeOne}</h2>
              <p>${links.citations.map(({ label, url }) =>
                html`
                  <a rel="nofollow" download href="${toPath(url)}" ${state}>${label}</a>
                `
              )}</p></div>
            <p>${renderCitation(dataset)}</p>
          </section>
        </div>
      </div>
    </div>
  `;
}

/** The form of the download button, with the selection. */
function renderHiddenForm({ access, form }: ResultsContent): Html {
  const method = access === "signed" || access === "token" ? "post" : "get";
  return html`
    <form id="query" method="${method}" action="/" data-access="${access}" hidden>
      <input type="hidden" name="lang" value="${form.language}">
      <input type="hidden" name="dataset" value="${form.datasets.join(",")}">
    </form>
  `;
}

/** What was measured, with the median of the values of the most frequent series. */
function renderMeasured({ form, results }: ResultsContent): Html {
  const { language } = form;
  const text = TEXTS[language];
  if (!results.isComplete) {
    const sentence = fill(text.tooManyToList, { n: results.count }, language);
    return html`
      <section class="card">
        <h2>${text.whatMeasured}</h2>
        <p>${sentence}</p>
      </section>
    `;
  }
  const names = countBy(results.rows, ({ CharacteristicName = "" }) => CharacteristicName);
  return html`
    <section class="card">
      <h2 id="measured">${text.whatMeasured}</h2>
      <table class="measured" aria-labelledby="measured">
        <thead>
          <tr>
            <th scope="col">${text.characteristic}</th>
            <th scope="col" class="number">${text
              .results}</th>
            <th scope="col">${text.years}</th>
            <th scope="col" class="number">${text
              .median}</th>
          </tr>
        </thead>
        <tbody>${names.slice(0, MAX_CHARACTERISTICS).map(([name, count]) => {
          const rows = results.rows.filter((row) => row.CharacteristicName === name);
          const years = yearsOf(rows).map(({ year }) => year);
          const series = selectSeries(rows);
          return html`
            <tr>
              <td><a href="${pageUrl(form, {
                characteristics: [name],
                series: "",
                view: "",
              })}">${characteristicName(
                name,
                language,
              )}</a></td>
              <td class="number">${formatNumber(count, language)}</td>
              <td>${[...new Set([years[0] ?? "", years.at(-1) ?? ""])].join("–")}</td>
              <td class="number">${series &&
                html`<b>${formatMedian(series.rows, language)}</b> ${
                  unitOf(series, language)
                }`}</td>
            </tr>
          `;
        })}</tbody>
      </table>
      <p class="note">${formatCount(results.count, language)}</p>
    </section>
  `;
}

/** The fields of a download: label, group and meaning; the name of the service is small beside them. */
export function renderFields(language: Language): Rendered {
  const text = TEXTS[language];
  const fields = fieldNames("Records");
  return {
    title: text.fields,
    content: html`
      <div id="results" class="reading"><h1>${text.fields}</h1>
        ${FIELD_GROUPS.map((group) =>
          html`
            <h2>${group[language]}</h2>
            <dl class="fields">${fields.filter((field) => group.fields.includes(field)).map(
              (field) => {
                const meaning = fieldMeaning(field, language);
                return html`
                  <div>
                    <dt>${fieldLabel(field, language)} <code>${field}</code></dt>
                    <dd>${meaning}</dd>
                  </div>
                `;
              },
            )}</dl>
          `
        )}</div>
    `,
  };
}
