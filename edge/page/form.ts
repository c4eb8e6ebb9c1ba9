import type { AnyResourceQuery } from "../../src/client/query.ts";
import { ValidationError } from "../../src/errors.ts";
import { type BoundingBox, parseDegrees } from "../../src/odata/bounding_box.ts";
import { commonFilter } from "../../src/odata/filter.ts";
import { regionName } from "../../src/odata/regions.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import { shorten } from "../downloads/parameters.ts";
import { DEFAULT_LIFETIME_DAYS } from "../../src/signing/signed_url.ts";

/** Trimmed text; `toFormQuery()` checks it. An empty string means no value. */
export interface Form {
  resource: ResourceName;
  /** DOIs. Empty for all datasets. */
  datasets: readonly string[];
  region: string;
  characteristic: string;
  from: string;
  to: string;
  west: string;
  south: string;
  east: string;
  north: string;
  /** Empty for all fields. */
  fields: readonly string[];
  /** Whole number from 1 to `MAX_DAYS`. */
  days: string;
}

export const RESOURCE_LABELS: Record<ResourceName, string> = {
  Records: "Measurements (all columns)",
  Observations: "Measurements (short)",
  Locations: "Locations",
  Metadata: "Datasets",
};

/** By the name of the option in a `ValidationError`. */
export const FORM_LABELS = {
  apiKey: "Your API key",
  filter: "Filter",
  select: "Fields",
  from: "From year",
  to: "To year",
  within: "Bounding box",
  "within.west": "West",
  "within.south": "South",
  "within.east": "East",
  "within.north": "North",
} as const;

const MAX_DAYS = 366;
const DEFAULT_DAYS = String(DEFAULT_LIFETIME_DAYS);

export function readForm(parameters: URLSearchParams): Form {
  const text = (name: string) => (parameters.get(name) ?? "").trim();
  const resources = Object.keys(RESOURCES) as ResourceName[];
  const resource = resources.find((name) => name === parameters.get("endpoint")) ?? "Records";
  // A checkbox sends one DOI. The text field, shown if the datasets are not known, can send several.
  const datasets = parameters.getAll("dataset").flatMap((dois) => dois.split(/[\s,;]+/));
  return {
    resource,
    datasets: [...new Set(datasets)].filter((doi) => doi !== ""),
    region: text("region"),
    characteristic: text("characteristic"),
    from: text("from"),
    to: text("to"),
    west: text("west"),
    south: text("south"),
    east: text("east"),
    north: text("north"),
    // Ignores fields of other resources, which the form still sends after the resource is changed.
    fields: fieldNames(resource).filter((name) => parameters.getAll("field").includes(name)),
    days: toDays(text("days") || DEFAULT_DAYS),
  };
}

function toDays(text: string): string {
  return String(Math.min(Math.max(1, Math.floor(Number(text)) || 1), MAX_DAYS));
}

export interface FormQuery extends AnyResourceQuery {
  resource: ResourceName;
  filter: string | undefined;
  select: readonly string[] | undefined;
}

export function toFormQuery(form: Form): FormQuery {
  const { datasets, region, characteristic, fields } = form;
  const from = toYear("from", form.from);
  const to = toYear("to", form.to);
  if (from !== undefined && to !== undefined && from > to) {
    throw new ValidationError("from", `must not be after ${to}, got ${from}`, {
      received: from,
      hint: "change {from} or {to}",
    });
  }
  return {
    resource: form.resource,
    filter: commonFilter({
      dois: datasets,
      regions: region ? [region] : [],
      characteristics: characteristic ? [characteristic] : [],
      from,
      to,
    }),
    select: fields.length === 0 ? undefined : fields,
    within: toBoundingBox(form),
  };
}

function toYear(option: "from" | "to", text: string): number | undefined {
  if (text === "") return undefined;
  if (/^\d{4}$/.test(text)) return Number(text);
  const problem = `must be a year with four digits, got "${shorten(text)}"`;
  throw new ValidationError(option, problem, { received: text });
}

const SIDES = ["west", "south", "east", "north"] as const;

function toBoundingBox(form: Form): BoundingBox | undefined {
  const missing = SIDES.filter((side) => form[side] === "");
  if (missing.length === SIDES.length) return undefined;
  if (missing.length > 0) {
    const problem = `must have four sides, got none for ${missing.join(", ")}`;
    throw new ValidationError("within", problem, { hint: "fill in all four, or none" });
  }
  const [west, south, east, north] = SIDES.map((side) => {
    const degrees = parseDegrees(form[side]);
    if (degrees !== undefined) return degrees;
    const problem = `must be a number of degrees, got "${shorten(form[side])}"`;
    throw new ValidationError(`within.${side}`, problem, { received: form[side] });
  });
  return { west: west!, south: south!, east: east!, north: north! };
}

const MAX_NAMES = 10;

/** Shown with the results, because a later change to the form does not change them. */
export function describeForm(form: Form): string {
  const { resource, datasets, region, characteristic, west, east, south, north, fields } = form;
  const filters = [
    datasets.length > 0 && `${plural("dataset", datasets)} ${list(datasets)}`,
    region && `region ${regionName(region) ?? region}`,
    characteristic && `characteristic “${characteristic}”`,
    describeYears(form),
    west && `bounding box west ${west}, east ${east}, south ${south}, north ${north}`,
  ].filter((filter) => filter);
  if (filters.length === 0) filters.push("no filters");
  const selection = fields.length > 0 ? `${plural("field", fields)} ${list(fields)}` : "all fields";
  return `${[RESOURCE_LABELS[resource], ...filters, selection].join("; ")}.`;
}

function describeYears({ from, to }: Form): string {
  if (from && to) return from === to ? `year ${from}` : `years ${from} to ${to}`;
  return from ? `years from ${from}` : to && `years up to ${to}`;
}

function list(names: readonly string[]): string {
  const others = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(", ") + (others > 0 ? ` and ${others} more` : "");
}

function plural(noun: string, names: readonly string[]): string {
  return names.length === 1 ? noun : `${noun}s`;
}
