// The table of the newest measurements.
import { html } from "hono/html";
import { characteristicName } from "./characteristics.ts";
import { fieldLabel, FURTHER_FIELDS } from "./fields.ts";
import { type Form, pageUrl } from "./form.ts";
import { namesOf, type Results } from "./load.ts";
import { compareDates, type Measurement, unitOf } from "./series.ts";
import { fill, formatDigits, type Html, type Language, TEXTS, valueName } from "./text.ts";

const MAX_ROWS = 20;

/** Column of the table. A text that all rows share moves into the heading. */
interface Column {
  className: string;
  label: string;
  textOf: (row: Measurement) => string;
  /** Whether the column remains if all rows have the same text. */
  isFixed?: boolean;
  /** Text before the shared text in the heading. */
  prefix?: string;
}

/** Returns the card of the table: the newest of the rows that were read. */
export function measurementsTable(
  { form, results }: {
    form: Form;
    results: Pick<Results, "rows" | "count" | "isComplete" | "locations">;
  },
): Html {
  const { language } = form;
  const hasMore = form.more !== "";
  const text = TEXTS[language];
  const nameOf = namesOf(results);
  const dateOf = ({ ActivityStartDate = "" }: Measurement) => ActivityStartDate;
  const rows = results.rows.toSorted((a, b) => compareDates(b, a)).slice(0, MAX_ROWS);
  const [first = {}] = rows;
  const isSame = (textOf: Column["textOf"]) => rows.every((row) => textOf(row) === textOf(first));
  const formOf = (row: Measurement) => valueName(row.MethodSpeciation ?? "", language);
  const mediumOf = (row: Measurement) => valueName(row.ActivityMediaName ?? "", language);
  const nameOfCharacteristic = ({ CharacteristicName = "" }: Measurement) =>
    characteristicName(CharacteristicName, language);
  const fractionOf = (row: Measurement) => valueName(row.ResultSampleFraction ?? "", language);
  const sampleOf = (row: Measurement) =>
    [isSame(mediumOf) ? "" : mediumOf(row), describeDepth(row, language)].filter(Boolean)
      .join(", ");
  const methodOf = (row: Measurement) =>
    row.ResultAnalyticalMethodID || row.ResultAnalyticalMethodName || "";
  const place = ({ LocationId = "" }: Measurement) => nameOf(LocationId);
  const method = { label: text.method, prefix: `${text.method.toLowerCase()} ` };
  const columns: Column[] = [
    { className: "date", label: text.date, textOf: dateOf, isFixed: true },
    { className: "location", label: text.location, textOf: place, isFixed: true },
    { className: "characteristic", label: text.characteristic, textOf: nameOfCharacteristic },
    // These two have no column: the form stands after the unit, and the medium before the depth.
    { className: "", label: "", textOf: formOf },
    { className: "", label: "", textOf: mediumOf },
    { className: "detail", label: text.sampleFraction, textOf: fractionOf },
    { className: "detail", label: text.sample, textOf: sampleOf },
    { className: "detail", textOf: methodOf, ...method },
    ...(hasMore ? FURTHER_FIELDS : []).map((field) => ({
      className: "detail",
      label: fieldLabel(field, language),
      textOf: (row: Measurement) => row[field] ?? "",
      isFixed: true,
    })),
  ];
  const isMoved = ({ textOf, isFixed }: Column) => !isFixed && isSame(textOf);
  const heading = columns.filter((column) => isMoved(column) && column.textOf(first) !== "")
    .map(({ textOf, prefix = "" }) => prefix + textOf(first));
  const shown = columns.filter((column) => column.label && !isMoved(column));
  const details = shown.filter(({ className }) => /characteristic|detail/.test(className));
  const [left, right] = [
    shown.filter(({ className }) => className !== "detail"),
    shown.filter(({ className }) => className === "detail"),
  ];
  const hasLimit = rows.some(({ censoring }) => censoring === "left" || censoring === "right");
  const digits = Math.max(0, ...rows.map(({ value = "" }) => decimalsOf(value).length));
  const numbers = { shown: rows.length, all: results.count, read: results.rows.length };
  const newest = fill(results.isComplete ? text.newest : text.newestOfRead, numbers, language);
  return html`<section class="card table-card" aria-labelledby="measurements">
    <div class="title">
      <h2 id="measurements">${text.measurements} <span>${heading.join(", ")}</span></h2>
      <p>${newest}, <a
        href="${pageUrl(form, { more: hasMore ? "" : "1" })}">${text.chooseColumns}</a></p>
    </div>
    <div class="${hasMore ? "table-wide" : "table"}" ${
    hasMore && html`role="region" aria-labelledby="measurements" tabindex="0"`
  }>
    <table role="table" class="measurements">
      <thead role="rowgroup"><tr role="row">
        ${left.map(renderHead)}
        <th role="columnheader" scope="col" class="value">${text.value}</th>
        <th role="columnheader" scope="col" class="unit"><span class="hidden">${text.unit}</span></th>
        ${right.map(renderHead)}
      </tr></thead>
      <tbody role="rowgroup">${
    rows.map((row) =>
      html`<tr role="row">${left.map((column) => renderCell(column, row, details))}${
        renderValue(row, digits, isSame(formOf) ? "" : formOf(row), language)
      }${right.map((column) => renderCell(column, row))}</tr>`
    )
  }</tbody>
    </table>
    </div>
    ${hasLimit && html`<p class="note">${text.limitNote}</p>`}
  </section>`;
}

function renderHead({ className, label }: Column): Html {
  return html`<th role="columnheader" scope="col" class="${className}">${label}</th>`;
}

const MAX_CELL_LENGTH = 120;

/** A phone shows the details below the location, in place of their columns. */
function renderCell(
  { className, textOf }: Column,
  row: Measurement,
  details: readonly Column[] = [],
): Html {
  const text = textOf(row);
  // Cuts between code points, so that no half of a surrogate pair remains.
  const shown = text.length > MAX_CELL_LENGTH
    ? `${Array.from(text).slice(0, MAX_CELL_LENGTH - 3).join("")}…`
    : text;
  const below = className === "location" &&
    details.map(({ textOf }) => textOf(row)).filter(Boolean).join(", ");
  return html`<td role="cell" class="${className}">${shown}${
    below && html`<span class="details">${below}</span>`
  }</td>`;
}

/** The service uses negative numbers for depths below the surface. */
function describeDepth(row: Measurement, language: Language): string {
  const { ActivityDepthHeightMeasure = "", ActivityDepthHeightUnit = "" } = row;
  const depth = formatDigits(ActivityDepthHeightMeasure.replace(/^-/, ""), language);
  return depth && `${depth} ${ActivityDepthHeightUnit}`.trim();
}

/** Returns the digits after the decimal point, with an exponent. */
function decimalsOf(digits: string): string {
  return /\.(.*)$/.exec(digits)?.[1] ?? "";
}

/** Spaces that are as wide as a digit and as a decimal point in most fonts. */
const [FIGURE_SPACE, PUNCTUATION_SPACE] = ["\u2007", "\u2008"];

function renderValue(
  row: Measurement,
  digits: number,
  form: string,
  language: Language,
): Html {
  const { value = "", unit = "", censoring, ResultDetectionCondition: condition = "" } = row;
  if (value === "") {
    const shown = valueName(condition, language).toLowerCase();
    return html`<td role="cell" class="value no-value" colspan="2">${shown}</td>`;
  }
  const sign = censoring === "left" ? "< " : censoring === "right" ? "> " : "";
  // Spaces after the digits align numbers at the decimal point.
  const missing = digits - decimalsOf(value).length;
  const point = digits > 0 && !value.includes(".") ? PUNCTUATION_SPACE : "";
  const padding = point + FIGURE_SPACE.repeat(missing);
  return html`
    <td role="cell" class="value">${sign}${formatDigits(value, language)}${padding}</td>
    <td role="cell" class="unit">${unitOf({ unit, form }, language)}</td>
  `;
}
