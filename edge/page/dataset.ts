// The pages of datasets and of fields.
import { tidyMeaningOf } from "../../src/formats/data_package.ts";
import { TIDY_COLUMNS } from "../../src/formats/tidy.ts";
import { html } from "hono/html";
import type { ListedFile } from "../downloads/mirror.ts";
import { fieldLabel, fieldMeaning, groupedFields } from "./fields.ts";
import { drawChart } from "./chart.ts";
import { type Form, pageUrl } from "./form.ts";
import { renderItems, renderShortForm, type View } from "./html.ts";
import { countResults, type DatasetInfo, MAX_COUNTED, type MeasuredResults } from "./load.ts";
import { drawMap } from "./map.ts";
import { renderFiles } from "./mirror.ts";
import {
  datasetPath,
  formatCount,
  renderCitations,
  renderColumns,
  renderDownload,
  renderLicence,
  type ResultsContent,
} from "./results.ts";
import { formatQuantile, quantileOf, selectSeries, type Series, unitOf } from "./series.ts";
import { renderTable } from "./table.ts";
import { formatMinute, type Html, type Locale } from "./text.ts";

export function renderDatasetList(locale: Locale, datasets: readonly DatasetInfo[]): View {
  const { text: { datasets: title }, formatYears } = locale;
  const items = datasets.map(({ doi, name, organization, years: [first = "", last = ""] }) => {
    const link = html`<a href="${datasetPath(doi, locale)}">${name}</a>`;
    return [link, organization, formatYears(first, last), doi] as const;
  });
  return { title, content: html`<h1>${title}</h1>${renderItems(items)}`, isText: true };
}

/** What the server knows of a dataset, apart from the service. */
interface ServerFacts {
  /** Versions that the server has seen since it started, the newest first; `since` is in ms since 1970. */
  versions: readonly { version: string; published: string; since: number }[];
  /** Files of the mirror. */
  files: readonly ListedFile[];
}

export function renderDataset(
  content: ResultsContent,
  dataset: DatasetInfo,
  known: ServerFacts,
): View {
  const { form, results } = content;
  const { locale } = form;
  const { text, formatNumber, formatYears } = locale;
  const { doi, name, link, version, published, years: [first = "", last = ""] } = dataset;
  const progress = { onGoing: text.onGoing, completed: text.completed }[dataset.progress] ??
    dataset.progress;
  const facts: [string, string | Html][] = [
    [text.measurements, formatNumber(results.count)],
    [text.locations, formatNumber(results.locations.list.length)],
    [text.years, formatYears(first, last)],
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
    ${renderMeasured(content)} ${drawChart(content)} ${renderChanges(content, known)}
  `;
  const rail = html`
    ${drawMap(content, "rail")} ${renderDownload(content)}
    ${renderCitations(content, [{ doi }])}
  `;
  const page = html`
    <p class="path"><a href="/datasets?lang=${locale.language}">${text.datasets}</a> › ${doi}</p>
    <h1 id="count" tabindex="-1">${name}</h1>
    <p class="facts">${dataset.organization}</p>
    <dl class="facts-list">${renderTerms(facts)}</dl>
    ${renderColumns(lead, rail)}
  `;
  return { title: name, content: page, form: renderShortForm(content) };
}

function renderTerms(terms: readonly (readonly [string | Html, string | Html])[]): Html[] {
  return terms.map(([term, meaning]) =>
    html`
      <div>
        <dt>${term}</dt>
        <dd>${meaning}</dd>
      </div>
    `
  );
}

function renderChanges(
  { settings, form: { locale } }: ResultsContent,
  { versions, files }: ServerFacts,
): Html {
  const { text, fill } = locale;
  const items = versions.map(({ version, published, since }) => {
    const seen = fill(text.seenSince, { time: formatMinute(new Date(since).toISOString()) });
    return [`${text.version} ${version}`, published.slice(0, 10), seen] as const;
  });
  return html`
    <section>
      <h2>${text.changes}</h2>
      ${renderItems(items)}
      <p class="note">${versions.length > 1 ? text.versionsNote : text.oneVersionNote}</p>
    </section>
    ${files.length > 0 &&
      html`<section><h2>${text.files}</h2>${renderFiles(settings, locale, files)}</section>`}
  `;
}

function renderMeasured({ form, results }: ResultsContent): Html {
  const { text, fill } = form.locale;
  const href = pageUrl(form, { path: "/measured" });
  return html`
    <section class="card">
      <h2 id="measured">${text.whatMeasured}</h2>
      ${results.isComplete
        ? renderCharacteristics(
          form,
          countResults(results.rows, "CharacteristicName").map(({ key, rows, ...counts }) => {
            return { ...counts, characteristic: key, series: selectSeries(rows) };
          }),
        )
        : results.count > MAX_COUNTED
        ? html`<p>${fill(text.tooManyToList, { n: results.count })}</p>`
        : html`<p><a data-fragment href="${href}">${text.showMeasured}</a></p>`}
      <p class="note">${formatCount(results.count, form.locale)}</p>
    </section>
  `;
}

/** Results of a characteristic, with its most frequent series if the rows were read. */
interface MeasuredValues extends MeasuredResults {
  series?: Series | undefined;
}

const MAX_CHARACTERISTICS = 100;

/** With series, the table has the medians of their values. */
export function renderCharacteristics(form: Form, measured: readonly MeasuredValues[]): Html {
  const { locale } = form;
  const { text, formatNumber, formatYears, characteristicName } = locale;
  const hasMedians = measured.some(({ series }) => series !== undefined);
  const rows = measured.slice(0, MAX_CHARACTERISTICS)
    .map(({ characteristic: name = "", results, first_year, last_year, series }) => {
      const href = pageUrl(form, { path: "/", characteristics: [name], series: "", view: "" });
      const median = series &&
        html`<b>${formatQuantile(quantileOf(series.rows, 0.5), locale)}</b> ${
          unitOf(series.example, locale)
        }`;
      return [
        html`<a href="${href}">${characteristicName(name)}</a>`,
        formatNumber(results),
        formatYears(first_year ?? "", last_year ?? ""),
        ...hasMedians ? [median] : [],
      ];
    });
  const heads = [text.characteristic, text.results, text.years, ...hasMedians ? [text.median] : []];
  return renderTable("measured", text.whatMeasured, heads, rows);
}

/** Returns the columns of a download by group: label, name in the file, and meaning. */
export function renderFields(locale: Locale): View {
  const { text, language } = locale;
  const groups = groupedFields(locale).map(([group, fields]) =>
    [
      group,
      fields.map((field) => [fieldLabel(field, locale), field, fieldMeaning(field, locale)]),
    ] as const
  );
  const tidy = TIDY_COLUMNS.map((name) => ["", name, tidyMeaningOf(name, language)]);
  const content = html`
    <h1>${text.fields}</h1>
    ${[...groups, [text.tidyGroup, tidy] as const].map(([group, fields]) =>
      html`
        <h2>${group}</h2>
        <dl class="fields">${renderTerms(
          fields.map((
            [label, name, meaning = ""],
          ) => [html`${label} <code>${name}</code>`, meaning]),
        )}</dl>
      `
    )}
  `;
  return { title: text.fields, content, isText: true };
}
