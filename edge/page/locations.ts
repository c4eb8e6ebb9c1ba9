// The list of locations beside the map.
import { html } from "hono/html";
import { findCharacteristic } from "./characteristics.ts";
import { type Form, pageUrl } from "./form.ts";
import { countResults, type LocatedResults, MAX_COUNTED, namesOf, type Results } from "./load.ts";
import { onlyLocation } from "./map.ts";
import { compareDates, describeResult, type Measurement } from "./series.ts";
import { renderTable } from "./table.ts";
import type { Html, Locale } from "./text.ts";

interface ListContent {
  form: Form;
  results: Pick<Results, "rows" | "count" | "isComplete" | "locations" | "located">;
}

/** Returns the card of the list; `undefined` if one characteristic or location is chosen, which has a chart instead. */
export function listLocations({ form, results }: ListContent): Html | undefined {
  const { locations: { list, missing }, count, isComplete, rows } = results;
  const { text, fill, formatPlural, valueName } = form.locale;
  const names = form.characteristics.flatMap((chosen) => findCharacteristic(chosen).names);
  const isOne = new Set(names).size === 1 || form.locations.length > 0 || list.length < 2;
  if (isOne) return undefined;
  const nameOfId = namesOf(results);
  const counted = isComplete
    ? countResults(rows, "LocationId").map(({ key, rows, ...counts }): ListedLocation => ({
      ...counts,
      location_id: Number(key),
      location_name: nameOfId(key),
      detail: describeLast(rows, form.locale),
    }))
    : results.located;
  const listed = counted ?? list.map(({ id, name, type }): ListedLocation => {
    return { location_id: Number(id), location_name: name, detail: valueName(type) };
  });
  const note = count > MAX_COUNTED
    ? fill(text.tooManyToCount, { n: count })
    : html`<a href="${pageUrl(form, { path: "/located" })}">${text.countLocations}</a>`;
  return html`
    <section class="card places" aria-labelledby="places">
      <h2 id="places">${formatPlural("locations", counted?.length ?? list.length + missing)}</h2>
      ${counted === undefined && html`<p class="note">${note}</p>`} ${renderLocations(form, listed)}
    </section>
  `;
}

/** Names the newest measurement of water. */
function describeLast(rows: readonly Measurement[], locale: Locale): string {
  const last = rows.filter(({ is_quality_control }) => is_quality_control !== "true")
    .sort(compareDates).at(-1);
  if (last === undefined) return "";
  const { CharacteristicName = "", ActivityStartDate } = last;
  const name = locale.characteristicName(CharacteristicName);
  return [`${name} ${describeResult(last, locale)}`, ActivityStartDate].filter(Boolean).join(", ");
}

/** The results of a location are unknown if neither its rows nor their number were read. */
interface ListedLocation extends Partial<LocatedResults> {
  /** The last measurement, or the type of the location. */
  detail?: string;
}

function nameOf({ location_id, location_name }: ListedLocation): string {
  return location_name || `Id ${location_id}`;
}

type Column = [
  sort: "location" | "results" | "years",
  direction: "ascending" | "descending",
  compare: (a: ListedLocation, b: ListedLocation) => number,
];

/** Columns by their text and value of the parameter `sort`, with their order. */
const COLUMNS: readonly Column[] = [
  ["location", "ascending", (a, b) => nameOf(a).localeCompare(nameOf(b), "en")],
  ["results", "descending", (a, b) => b.results! - a.results!],
  ["years", "descending", (a, b) => Number(b.last_year) - Number(a.last_year)],
];

const MAX_LISTED = 100;

/** Returns a table whose headings are links that sort it. Locations without counts are sorted by name. */
export function renderLocations(form: Form, locations: readonly ListedLocation[]): Html {
  const { text, fill, formatNumber, formatYears } = form.locale;
  const isCounted = locations[0]?.results !== undefined;
  const columns = isCounted ? COLUMNS : COLUMNS.slice(0, 1);
  const column = Math.max(0, columns.findIndex(([sort]) => sort === form.sort));
  const [, direction, compare] = columns[column]!;
  const heads = columns.map(([sort]) =>
    isCounted ? html`<a href="${pageUrl(form, { sort })}">${text[sort]}</a>` : text[sort]
  );
  const rows = locations.toSorted(compare).slice(0, MAX_LISTED)
    .map((location) => {
      const { location_id, detail, results = 0, first_year, last_year } = location;
      const href = onlyLocation(form, location_id);
      return [
        html`<a href="${href}">${nameOf(location)}</a> <small>${detail}</small>`,
        formatNumber(results),
        formatYears(first_year ?? "", last_year ?? ""),
      ].slice(0, columns.length);
    });
  const numbers = { shown: rows.length, all: locations.length };
  return html`
    <div class="table-wide" role="region" aria-label="${text.locations}" tabindex="0">
      ${renderTable("measured", text.locations, heads, rows, { column, direction })}
    </div>
    ${rows.length < locations.length && html`<p class="note">${fill(text.listed, numbers)}</p>`}
  `;
}
