// The state of the page: what the form selects and how the page shows it. A URL of the page holds all of it.
import { type BoundingBox, parseBox } from "../../src/odata/bounding_box.ts";
import { and, eq, gte, isIn, lte } from "../../src/odata/filter.ts";
import { shorten } from "../http/parameters.ts";
import { HttpProblem } from "../http/problem.ts";
import { findCharacteristic, splitNames } from "./characteristics.ts";
import { parseView } from "./map_view.ts";
import { boundsOfPixels, createFrame } from "./projection.ts";
import type { Locale, Text } from "./text.ts";
import { DEFAULT_TOOL, type ToolId, TOOLS } from "./tools.ts";

export const FORM_SIDES = ["west", "south", "east", "north"] as const;
export const NO_SIDES = { west: "", south: "", east: "", north: "" };
/** Parameters of the selection that have one value, with their default. `where` is a region, or a part of a name. */
const SELECTION = { where: "", from: "", to: "", medium: "", type: "", ...NO_SIDES };
/** Parameters of map, list, chart, table and download. `others` is `1` or `0`, `map` is `page`, `by` is `month`. */
const DISPLAY = {
  view: "",
  map: "",
  selected: "",
  series: "",
  others: "",
  sort: "results",
  scale: "",
  by: "",
  more: "",
  tool: DEFAULT_TOOL,
  columns: "main",
  tidy: "1",
};
const DEFAULTS = { ...SELECTION, ...DISPLAY };
type Parameter = keyof typeof DEFAULTS;
/** Parameters of the selection that can have several values. */
const LISTS = { characteristics: "characteristic", datasets: "dataset", locations: "location" };

/** Trimmed texts; an empty one means no value. */
export interface Form extends Readonly<Record<Parameter, string>> {
  characteristics: readonly string[];
  datasets: readonly string[];
  locations: readonly number[];
  tool: ToolId;
  locale: Locale;
  /** Of the page that shows the form and its results. */
  path: string;
}

/** Fields beside which the page names a mistake. */
const MISTAKES: Partial<Record<keyof Text, "where" | "years" | "box">> = {
  noLocation: "where",
  noLocationAmong: "where",
  tooManyLocations: "where",
  badYear: "years",
  badYears: "years",
  badBox: "box",
};
export type MistakenField = NonNullable<typeof MISTAKES[keyof Text]>;

/** A mistake in the form, as a text of the page with its values. */
export class FormError extends HttpProblem {
  readonly field: MistakenField | undefined;

  constructor(
    readonly text: keyof Text,
    readonly values: Readonly<Record<string, string | number>> = {},
    status = 400,
    /** Names that the text of the form may mean. */
    readonly near: readonly string[] = [],
  ) {
    const headers = status === 401 ? { "www-authenticate": "Bearer" } : undefined;
    super({ status, title: text, detail: text }, headers);
    this.field = MISTAKES[text];
  }
}

export function readForm(parameters: URLSearchParams, locale: Locale, path = "/"): Form {
  // The last one, because a checked box follows the hidden value of an unchecked one.
  const text = (name: string) => parameters.getAll(name).at(-1)?.trim() ?? "";
  const texts = (
    name: string,
    split: (value: string) => readonly string[] = (value) => [value],
  ) => {
    const parts = parameters.getAll(name).flatMap(split);
    return [...new Set(parts.map((part) => part.trim()))].filter((part) => part !== "");
  };
  const single = Object.entries(DEFAULTS).map(([name, value]) => [name, text(name) || value]);
  const tool = text("tool");
  return {
    ...Object.fromEntries(single) as Record<Parameter, string>,
    characteristics: texts("characteristic", splitNames),
    datasets: texts("dataset", (value) => value.split(/[\s,;]+/)),
    locations: texts("location").filter((id) => /^\d{1,15}$/.test(id)).map(Number),
    ...boxOfPixels(text("drawn"), text("view")),
    tool: (Object.hasOwn(TOOLS, tool) ? tool : DEFAULTS.tool) as ToolId,
    locale,
    path,
  };
}

/** Kilometres of a degree of latitude. */
const DEGREE = 111;

/**
 * Converts a drawn box to the degrees that hold it. `drawn` has the pixels of two corners, and the map's width and height.
 * The number of decimals keeps the difference from the drawn box below about a pixel.
 */
function boxOfPixels(drawn: string, viewText: string): Partial<Record<Parameter, string>> {
  const [x1, y1, x2, y2, width, height] = drawn.slice(0, 100).split(",").map(Number);
  const view = parseView(viewText);
  if (view === undefined || !(width! > 0 && height! > 0)) return {};
  const size = { width: width!, height: height! };
  const bounds = boundsOfPixels(createFrame(view, size), [x1!, y1!], [x2!, y2!]);
  const decimals = Math.max(2, Math.ceil(-Math.log10(view.width / size.width / DEGREE)));
  const sides = Object.entries(bounds).map(([side, degrees]) => [side, degrees.toFixed(decimals)]);
  return { ...Object.fromEntries(sides), view: "" };
}

/** Returns the URL of the page in this state. Parameters with their default are omitted. */
export function pageUrl(form: Form, changes: Partial<Form> = {}): string {
  const next = { ...form, ...changes };
  const parameters = new URLSearchParams();
  for (const [list, name] of Object.entries(LISTS) as [keyof typeof LISTS, string][]) {
    for (const value of next[list]) parameters.append(name, String(value));
  }
  for (const [name, value] of Object.entries(DEFAULTS) as [Parameter, string][]) {
    if (next[name] !== value) parameters.set(name, next[name]);
  }
  // Always, because a link can be opened in a browser with another language.
  parameters.set("lang", next.locale.language);
  return `${next.path}?${parameters}`;
}

/** Whether the form selects anything. Otherwise the page shows all of Canada. */
export function isFiltered(form: Form): boolean {
  const selects = { ...LISTS, ...SELECTION };
  return Object.keys(selects).some((name) => form[name as keyof typeof selects].length > 0);
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
  const sides = FORM_SIDES.map((side) => form[side]);
  if (sides.every((side) => side === "")) return undefined;
  const box = parseBox(sides.join());
  const isOnEarth = box !== undefined && box.west >= -180 && box.west < box.east &&
    box.east <= 180 && box.south >= -90 && box.south < box.north && box.north <= 90;
  if (!isOnEarth) throw new FormError("badBox");
  return box;
}
