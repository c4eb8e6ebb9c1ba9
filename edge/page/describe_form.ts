import type { Form } from "./form.ts";
import { regionName } from "./regions.ts";

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
