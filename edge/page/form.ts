// The state of the page: what the form selects and how the page shows it. A URL of the page holds all of it.
import { type BoundingBox, parseDegrees } from "../../src/odata/bounding_box.ts";
import { and, eq, gte, isIn, lte } from "../../src/odata/filter.ts";
import { DEFAULT_LIFETIME_DAYS } from "../../src/signing/signed_url.ts";
import { shorten } from "../downloads/parameters.ts";
import { findCharacteristic } from "./characteristics.ts";
import type { Language, Text } from "./text.ts";
import { isTool, type ToolId } from "./tools.ts";

export const FORM_SIDES = ["west", "south", "east", "north"] as const;
const NO_SIDES = { west: "", south: "", east: "", north: "" };
/** Parameters of the selection that have one value, with their default. `where` is a region, or a part of a name. */
const SELECTION = { where: "", from: "", to: "", medium: "", type: "", ...NO_SIDES };
/** Parameters of map, chart, table and download. With `others`, the map shows other locations, too. */
const DISPLAY = {
  ...{ view: "", selected: "", series: "", others: "", scale: "", more: "" },
  ...{ days: String(DEFAULT_LIFETIME_DAYS), tool: "excel", columns: "main", tidy: "1" },
};
const DEFAULTS = { ...SELECTION, ...DISPLAY };
type Parameter = keyof typeof DEFAULTS;

/** Trimmed texts; an empty one means no value. */
export interface Form extends Readonly<Record<Parameter, string>> {
  characteristics: readonly string[];
  datasets: readonly string[];
  locations: readonly number[];
  tool: ToolId;
  language: Language;
}

/** A mistake in the form, as a text of the page with its values. */
export class FormError extends Error {
  constructor(
    readonly text: keyof Text,
    readonly values: Readonly<Record<string, string | number>> = {},
    readonly status = 400,
  ) {
    super(text);
  }
}

const MAX_DAYS = 366;

export function readForm(parameters: URLSearchParams, language: Language): Form {
  // The last one, because a checked box follows the hidden value of an unchecked one.
  const text = (name: string) => parameters.getAll(name).at(-1)?.trim() ?? "";
  const texts = (name: string, separator?: RegExp) => {
    const values = parameters.getAll(name);
    const parts = separator ? values.flatMap((value) => value.split(separator)) : values;
    return [...new Set(parts.map((part) => part.trim()))].filter((part) => part !== "");
  };
  const single = Object.entries(DEFAULTS).map(([name, value]) => [name, text(name) || value]);
  const days = Math.floor(Number(text("days") || DEFAULT_LIFETIME_DAYS)) || 1;
  const tool = text("tool");
  return {
    ...Object.fromEntries(single) as Record<Parameter, string>,
    where: text("where") || text("region"),
    characteristics: texts("characteristic"),
    datasets: texts("dataset", /[\s,;]+/),
    locations: texts("location").filter((id) => /^\d{1,15}$/.test(id)).map(Number),
    days: String(Math.min(Math.max(1, days), MAX_DAYS)),
    tool: isTool(tool) ? tool : "excel",
    language,
  };
}

/** Returns the URL of the page in this state. Parameters with their default are omitted. */
export function pageUrl(form: Form, changes: Partial<Form> = {}, path = "/"): string {
  const next = { ...form, ...changes };
  const parameters = new URLSearchParams();
  for (const name of next.characteristics) parameters.append("characteristic", name);
  if (next.datasets.length > 0) parameters.set("dataset", next.datasets.join(","));
  for (const id of next.locations) parameters.append("location", String(id));
  for (const [name, value] of Object.entries(DEFAULTS) as [Parameter, string][]) {
    if (next[name] !== value) parameters.set(name, next[name]);
  }
  // Always, because a link can be opened in a browser with another language.
  parameters.set("lang", next.language);
  return `${path}?${parameters}`;
}

/** Whether the form selects anything. Otherwise the page shows all of Canada. */
export function isFiltered(form: Form): boolean {
  return [form.characteristics, form.datasets, form.locations].some(({ length }) => length > 0) ||
    Object.keys(SELECTION).some((name) => form[name as Parameter] !== "");
}

/** What the service filters by. */
export interface RowSelection {
  filter: string | undefined;
  within: BoundingBox | undefined;
}

/** A form whose `where` was found: a region, or all datasets or locations of the filter. */
export interface FoundForm extends Form {
  region?: string | undefined;
}

/** @throws {FormError} If a year or the box is invalid */
export function toSelection(form: FoundForm): RowSelection {
  const { region, datasets, locations } = form;
  const names = [
    ...new Set(form.characteristics.flatMap((text) => findCharacteristic(text).names)),
  ];
  const from = toYear(form.from);
  const to = toYear(form.to);
  if (from !== undefined && to !== undefined && from > to) {
    throw new FormError("badYears", { from: form.from, to: form.to });
  }
  const oneOf = (field: "CharacteristicName" | "DOI", values: readonly string[]) =>
    values.length === 1 ? eq(field, values[0]!) : values.length > 1 && isIn(field, values);
  const filter = String(and(
    oneOf("DOI", datasets),
    region !== undefined && eq("RegionId", region),
    oneOf("CharacteristicName", names),
    form.medium !== "" && eq("ActivityMediaName", form.medium),
    form.type !== "" && eq("MonitoringLocationType", form.type),
    locations.length === 1 ? eq("LocationId", locations[0]!) : locations.length > 1 &&
      isIn("LocationId", locations),
    from !== undefined && gte("ActivityStartYear", from),
    to !== undefined && lte("ActivityStartYear", to),
  ));
  return { filter: filter || undefined, within: toBox(form) };
}

function toYear(text: string): number | undefined {
  if (text === "") return undefined;
  if (/^\d{4}$/.test(text)) return Number(text);
  throw new FormError("badYear", { value: shorten(text) });
}

function toBox(form: Form): BoundingBox | undefined {
  const sides = FORM_SIDES.map((side) => form[side] === "" ? undefined : parseDegrees(form[side]));
  if (FORM_SIDES.every((side) => form[side] === "")) return undefined;
  const [west, south, east, north] = sides;
  if (west === undefined || south === undefined || east === undefined || north === undefined) {
    throw new FormError("badBox");
  }
  const isOnEarth = west >= -180 && east <= 180 && south >= -90 && north <= 90;
  if (!isOnEarth || west >= east || south >= north) throw new FormError("badBox");
  return { west, south, east, north };
}
