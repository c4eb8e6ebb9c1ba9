// The table of the newest measurements, and other tables.
import { html } from "hono/html";
import { shorten } from "../http/parameters.ts";
import { fieldLabel, FURTHER_FIELDS } from "./fields.ts";
import { type Form, pageUrl } from "./form.ts";
import { namesOf, type Results } from "./load.ts";
import { compareDates, describeResult, formatResult, type Measurement, unitOf } from "./series.ts";
import type { Html, Locale } from "./text.ts";

interface TableContent {
  form: Form;
  results: Pick<Results, "rows" | "count" | "isComplete" | "locations">;
}

interface Column {
  /** A text of `detail` that all rows share moves into the heading. A phone shows the others below the location. */
  name: "date" | "location" | "value" | "unit" | "detail" | "further";
  /** Empty if the text is part of another column. */
  label: string;
  textOf: (row: Measurement) => string;
  /** Text before the shared text in the heading. */
  prefix?: string;
}

const MAX_ROWS = 20;

/** Returns the card of the table: the newest of the rows that were read. */
export function measurementsTable({ form, results }: TableContent): Html {
  const { text, fill } = form.locale;
  const hasMore = form.more !== "";
  const rows = results.rows.toSorted((a, b) => compareDates(b, a)).slice(0, MAX_ROWS);
  const [first = {}] = rows;
  const isMoved = ({ name, textOf }: Column) => name === "detail" && isSame(rows, textOf);
  const columns = columnsOf({ form, results }, rows);
  const heading = columns.filter((column) => isMoved(column) && column.textOf(first) !== "")
    .map(({ textOf, prefix = "" }) => `${prefix} ${textOf(first)}`.trim());
  const shown = columns.filter((column) => column.label !== "" && !isMoved(column));
  const hasLimit = rows.some(({ censoring }) => censoring === "left" || censoring === "right");
  const numbers = { shown: rows.length, all: results.count, read: results.rows.length };
  const newest = fill(results.isComplete ? text.newest : text.newestOfRead, numbers);
  return html`<section class="card table-card" aria-labelledby="measurements">
    <div class="title">
      <h2 id="measurements">${text.measurements} <span>${heading.join(", ")}</span></h2>
      <p>${newest}, <a
        href="${pageUrl(form, { more: hasMore ? "" : "1" })}">${text.chooseColumns}</a></p>
    </div>
    <div class="${hasMore ? "table-wide" : "table"}" ${
    hasMore && html`role="region" aria-labelledby="measurements" tabindex="0"`
  }><table role="table" class="measurements">
      <thead role="rowgroup"><tr role="row">${
    shown.map(({ name, label }) =>
      html`<th role="columnheader" scope="col" class="${name}"><span>${label}</span></th>`
    )
  }</tr></thead>
      <tbody role="rowgroup">${rows.map((row) => renderRow(row, shown))}</tbody>
    </table></div>
    ${hasLimit && html`<p class="note">${text.limitNote}</p>`}
  </section>`;
}

function isSame(rows: readonly Measurement[], textOf: Column["textOf"]): boolean {
  return new Set(rows.map(textOf)).size <= 1;
}

function columnsOf({ form, results }: TableContent, rows: readonly Measurement[]): Column[] {
  const { locale } = form;
  const { text, valueName } = locale;
  const nameOf = namesOf(results);
  const fieldOf = (field: string, show = valueName) => (row: Measurement) => show(row[field] ?? "");
  const characteristicOf = fieldOf("CharacteristicName", locale.characteristicName);
  const [formOf, mediumOf] = [fieldOf("MethodSpeciation"), fieldOf("ActivityMediaName")];
  const unitOfRow = (row: Measurement) =>
    unitOf(isSame(rows, formOf) ? { ...row, MethodSpeciation: "" } : row, locale);
  const sampleOf = (row: Measurement) =>
    [!isSame(rows, mediumOf) && mediumOf(row), describeDepth(row, locale)]
      .filter(Boolean).join(", ");
  const methodOf = (row: Measurement) =>
    row.ResultAnalyticalMethodID || row.ResultAnalyticalMethodName || "";
  const digits = Math.max(0, ...rows.map(({ value = "" }) => decimalsOf(value).length));
  const resultOf = (row: Measurement) => alignResult(row, digits, locale);
  const further = form.more === "" ? [] : FURTHER_FIELDS;
  return [
    { name: "date", label: text.date, textOf: fieldOf("ActivityStartDate", String) },
    { name: "location", label: text.location, textOf: fieldOf("LocationId", nameOf) },
    { name: "detail", label: text.characteristic, textOf: characteristicOf },
    { name: "value", label: text.value, textOf: resultOf },
    { name: "unit", label: text.unit, textOf: unitOfRow },
    // These two have no column: the form is after the unit, and the medium before the depth.
    { name: "detail", label: "", textOf: formOf },
    { name: "detail", label: "", textOf: mediumOf },
    { name: "detail", label: text.sampleFraction, textOf: fieldOf("ResultSampleFraction") },
    { name: "detail", label: text.sample, textOf: sampleOf },
    { name: "detail", label: text.method, textOf: methodOf, prefix: text.method.toLowerCase() },
    ...further.map((field): Column => {
      return { name: "further", label: fieldLabel(field, locale), textOf: fieldOf(field, String) };
    }),
  ];
}

/** Characters. */
const MAX_CELL_LENGTH = 120;

function renderRow(row: Measurement, columns: readonly Column[]): Html {
  const details = columns.filter(({ name }) => name === "detail").map(({ textOf }) => textOf(row))
    .filter(Boolean).join(", ");
  const below = details && html`<span class="details">${details}</span>`;
  // A result without a value has no unit.
  const cells = columns.filter(({ name }) => row.value || name !== "unit");
  return html`<tr role="row">${
    cells.map(({ name, textOf }) =>
      html`<td role="cell" class="${name}" ${!row.value && name === "value" && html`colspan="2"`}>${
        shorten(textOf(row), MAX_CELL_LENGTH)
      }${name === "location" && below}</td>`
    )
  }</tr>`;
}

/** The service uses negative numbers for depths below the surface. */
function describeDepth(row: Measurement, { formatDigits }: Locale): string {
  const { ActivityDepthHeightMeasure = "", ActivityDepthHeightUnit = "" } = row;
  const depth = formatDigits(ActivityDepthHeightMeasure.replace(/^-/, ""));
  return depth && `${depth} ${ActivityDepthHeightUnit}`.trim();
}

/** Returns the digits after the decimal point, with an exponent. */
function decimalsOf(digits: string): string {
  return /\.(.*)$/.exec(digits)?.[1] ?? "";
}

/** Spaces that are as wide as a digit and as a decimal point in most fonts. */
const [FIGURE_SPACE, PUNCTUATION_SPACE] = ["\u2007", "\u2008"];

/** Returns a result with spaces after its digits, which align numbers at the decimal point, or why it has no value. */
function alignResult(row: Measurement, digits: number, locale: Locale): string {
  const { value = "" } = row;
  if (value === "") return describeResult(row, locale);
  const missing = digits - decimalsOf(value).length;
  const point = digits > 0 && !value.includes(".") ? PUNCTUATION_SPACE : "";
  return formatResult(row, locale) + point + FIGURE_SPACE.repeat(missing);
}

/** Returns a table in which the first cell of each row is its name. */
export function renderTable(
  className: string,
  caption: string,
  heads: readonly (string | Html)[],
  rows: readonly (readonly (string | Html | undefined)[])[],
  /** The column that the rows are sorted by, if links can sort them. */
  sorted?: { column: number; direction: "ascending" | "descending" },
): Html {
  const sortOf = (column: number) =>
    column === sorted?.column && html`aria-sort="${sorted.direction}"`;
  return html`
    <table class="${className}">
      <caption>${caption}</caption>
      <thead>
        <tr>${heads.map((head, i) =>
          html`
            <th scope="col" ${sortOf(i)}>${head}</th>
          `
        )}</tr>
      </thead>
      <tbody>${rows.map(([name, ...cells]) =>
        html`<tr><th scope="row">${name}</th>${
          cells.map((cell) =>
            html`
              <td>${cell}</td>
            `
          )
        }</tr>`
      )}</tbody>
    </table>
  `;
}
