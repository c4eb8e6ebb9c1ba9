import { html } from "hono/html";
import type { Language } from "./drawing_text.ts";

type Html = ReturnType<typeof html>;

/**
 * Measurement as text: fields of `/Observations` and the tidy columns, read from CSV, so that numbers have the
 * digits of the service. `null` is an empty string.
 */
export type Measurement = Readonly<Record<string, string>>;

/** Fields to select for the chart, beside the tidy columns. */
export const CHART_FIELDS: readonly string[] = [
  "LocationId",
  "ActivityStartDate",
  "CharacteristicName",
  "ResultSampleFraction",
  "MethodSpeciation",
];

/** What a chart shows; values of other series are not comparable. An empty string is a value too. */
export interface SeriesKey {
  characteristic: string;
  unit: string;
  fraction: string;
  /** Chemical form, such as `as N`. */
  form: string;
}

export interface Series extends SeriesKey {
  /** Rows with a date and a value or limit. */
  rows: readonly Measurement[];
  /** Rows without a value and without a limit: only counted. */
  withoutLimit: number;
  /** The other series, those with most values first. */
  alternatives: readonly (SeriesKey & { results: number })[];
}

/** Returns the wanted series, or the one with most values. `undefined` if no row has a value and a date. */
export function selectSeries(
  _rows: readonly Measurement[],
  _wanted?: Partial<SeriesKey>,
): Series | undefined {
  return undefined;
}

/** Formats and parses the key of a series for a URL, such as `Nitrate|mg/L|Dissolved|as N`. */
export function formatSeries({ characteristic, unit, fraction, form }: SeriesKey): string {
  return [characteristic, unit, fraction, form].join("|");
}
export function parseSeries(text: string): Partial<SeriesKey> {
  const [characteristic, unit, fraction, form] = text.split("|");
  return { characteristic, unit, fraction, form } as Partial<SeriesKey>;
}

export interface ChartContent {
  series: Series;
  /** Name of a location by Id. */
  nameOf: (locationId: string) => string;
  /** Default: logarithmic if all values are positive and maximum : minimum is over 50. */
  isLogarithmic?: boolean | undefined;
  language: Language;
  /** URL of the page with the other scale. */
  hrefOfScale: (isLogarithmic: boolean) => string;
  /** URL of the page with another series. */
  hrefOfSeries: (key: SeriesKey) => string;
}

/** Returns the card of the chart: heading, links, legend, SVG and its table. */
export function drawChart(_content: ChartContent): Html {
  return html``;
}
