import { endpoint } from "../../src/endpoint/endpoint.ts";
import { ValidationError } from "../../src/errors.ts";
import { type BoundingBox, parseDegrees } from "../../src/odata/bounding_box.ts";
import { commonFilter } from "../../src/odata/filter.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import { regionName } from "./regions.ts";

/** What the page's form holds, as texts. */
export interface Form {
  endpoint: ResourceName;
  /** DOIs. */
  datasets: readonly string[];
  region: string;
  characteristic: string;
  from: string;
  to: string;
  west: string;
  south: string;
  east: string;
  north: string;
  fields: readonly string[];
  /** Number of days for which a signed URL is valid: a whole number from 1 to `MAX_DAYS`. */
  days: string;
}

/** What the form asks for, as a download URL has it. */
export interface FormQuery {
  resource: ResourceName;
  filter: string | undefined;
  select: string | undefined;
  box: BoundingBox | undefined;
}

/** Longest validity (days) of a signed URL that the page makes. */
const MAX_DAYS = 366;
const NAMES = Object.keys(RESOURCES) as ResourceName[];

/** The form as it was sent; as it is at first, where nothing was. */
export function readForm(sent: URLSearchParams): Form {
  const text = (name: string) => (sent.get(name) ?? "").trim();
  const wanted = NAMES.find((name) => name === sent.get("endpoint")) ?? "Records";
  // Checkboxes send one name each, the text field all of them.
  const datasets = sent.getAll("dataset").flatMap((names) => names.split(/[\s,;]+/));
  const known: readonly string[] = fieldNames(wanted);
  return {
    endpoint: wanted,
    datasets: [...new Set(datasets)].filter((doi) => doi !== ""),
    region: text("region"),
    characteristic: text("characteristic"),
    from: text("from"),
    to: text("to"),
    west: text("west"),
    south: text("south"),
    east: text("east"),
    north: text("north"),
    // Those of another endpoint alone, chosen before, are no longer meant.
    fields: known.filter((name) => sent.getAll("field").includes(name)),
    days: toDays(text("days") || "7"),
  };
}

/**
 * What a form asks for.
 *
 * @throws {ValidationError} If a year is none, or a box lacks a side
 */
export function toFormQuery(form: Form): FormQuery {
  const { datasets, region, characteristic, fields } = form;
  const [from, to] = [toYear("From year", form.from), toYear("To year", form.to)];
  if (from !== undefined && to !== undefined && from > to) {
    throw new ValidationError("From year", "is after To year", {
      hint: `there is nothing from ${from} to ${to}`,
    });
  }
  const filter = commonFilter({
    dois: datasets,
    regions: region ? [region] : [],
    characteristics: characteristic ? [characteristic] : [],
    from,
    to,
  });
  return {
    resource: form.endpoint,
    filter,
    select: fields.length === 0 ? undefined : fields.join(","),
    box: toBox(form),
  };
}

/** The URL of a download, encoded; what is undefined is left out. */
export function downloadUrl(
  origin: string,
  path: string,
  { filter, select, box }: Omit<FormQuery, "resource">,
  more: Record<string, string> = {},
): string {
  const bbox = box && [box.west, box.south, box.east, box.north].join(",");
  const options = { $filter: filter, $select: select, bbox, ...more };
  return endpoint({ method: "GET", baseUrl: origin, url: path, ...options }).url;
}

/** Returns the number of days that a link with this text is valid. */
function toDays(text: string): string {
  return String(Math.min(Math.max(1, Math.floor(Number(text)) || 1), MAX_DAYS));
}

function toYear(name: string, text: string): number | undefined {
  if (text === "") return undefined;
  if (/^\d{4}$/.test(text)) return Number(text);
  throw new ValidationError(name, `is a year of four digits, got "${text.slice(0, 60)}"`);
}

function toBox({ west, south, east, north }: Form): BoundingBox | undefined {
  const sides = { west, south, east, north };
  const given = Object.values(sides).filter((side) => side !== "");
  if (given.length === 0) return undefined;
  if (given.length < 4) {
    throw new ValidationError("A box", "has four sides", { hint: "give them all, or none" });
  }
  const entries = Object.entries(sides).map(([name, side]) => {
    const degrees = parseDegrees(side);
    if (degrees !== undefined) return [name, degrees];
    throw new ValidationError(
      `The ${name} of a box`,
      `is a number of degrees, got "${side.slice(0, 60)}"`,
    );
  });
  return Object.fromEntries(entries);
}

/** Maximum number of DOIs or fields to name. */
const MAX_NAMES = 10;

/**
 * Describes the form's settings, so that results say what they hold where the form says something
 * else: without a script, a changed form does not change the results.
 *
 * @returns A sentence such as "Records; characteristic “pH”; years 2010 to 2019; all fields."
 */
export function describeForm(form: Form): string {
  const { endpoint, datasets, region, characteristic, west, east, south, north, fields } = form;
  const filters = [
    datasets.length > 0 && `${plural("dataset", datasets)} ${list(datasets)}`,
    region && `region ${regionName(region) ?? region}`,
    characteristic && `characteristic “${characteristic}”`,
    describeYears(form),
    west && `bounding box west ${west}, east ${east}, south ${south}, north ${north}`,
  ].filter((filter) => filter);
  if (filters.length === 0) filters.push("no filters");
  const columns = fields.length > 0 ? `${plural("field", fields)} ${list(fields)}` : "all fields";
  return `${[endpoint, ...filters, columns].join("; ")}.`;
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
