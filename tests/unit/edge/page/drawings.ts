import { drawChart } from "../../../../edge/page/chart.ts";
import { type Form, readForm, toSelection } from "../../../../edge/page/form.ts";
import type { LocationInfo, Results } from "../../../../edge/page/load.ts";
import { drawMap } from "../../../../edge/page/map.ts";
import type { Measurement } from "../../../../edge/page/series.ts";
import { chooseLocale } from "../../../../edge/page/text.ts";

export const row = (value: string, more: Record<string, string> = {}): Measurement => ({
  LocationId: "1",
  ActivityStartDate: "2020-06-01",
  CharacteristicName: "Nitrate",
  ResultSampleFraction: "Total",
  MethodSpeciation: "as N",
  ActivityMediaName: "Surface Water",
  value,
  unit: "mg/L",
  censoring: "none",
  ...more,
});
export const repeat = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const list: LocationInfo[] = repeat(8, (i) => ({
  id: String(i),
  name: `Lake ${i}`,
  doi: "",
  type: "",
  position: { latitude: 50, longitude: -97 },
}));

const formOf = (query: string): Form => {
  const parameters = new URLSearchParams(query);
  return readForm(parameters, chooseLocale(parameters.get("lang"), null));
};

/** Returns the content of a page: its form from a query, its rows and the names of locations. */
export const contentOf = (rows: readonly Measurement[], query = ""): {
  form: Form;
  results: Pick<Results, "rows" | "count" | "isComplete" | "locations" | "located">;
} => ({
  form: formOf(query),
  results: {
    rows,
    count: rows.length,
    isComplete: true,
    locations: { list, missing: 0 },
    located: undefined,
  },
});

export const chart = async (rows: readonly Measurement[], query?: string): Promise<string> =>
  String(await drawChart(contentOf(rows, query))).replace(/\s+/g, " ");
export const ticksOf = (html: string): string[] =>
  [.../class="chart-axis".*?<\/svg>/.exec(html)![0].matchAll(/>([^<]+)<\/text>/g)]
    .map(([, text]) => text!.trim());

export const location = (id: number, longitude: number, latitude: number): LocationInfo => ({
  id: String(id),
  doi: "10.25976/x",
  name: `Lake ${id}`,
  type: "Lake/Pond",
  position: { longitude, latitude },
});

export interface MapContent {
  list?: readonly LocationInfo[];
  others?: readonly LocationInfo[];
  missing?: number;
  query?: string;
  place?: "lead" | "rail";
}

export const drawTestMap = async (
  { list = [], others, missing = 0, query = "", place = "lead" }: MapContent,
): Promise<string> => {
  const form = formOf(query);
  const results = { locations: { list, missing }, others, selection: toSelection(form) };
  return String(await drawMap({ form, results }, place)).replace(/\s+/g, " ");
};

export const wideOf = (map: string): string => /<g class="map-wide">.*?<\/g>/.exec(map)![0];

export const pathOf = (map: string, layer: string): string =>
  new RegExp(`class="map-${layer}" d="([^"]*)"`).exec(map)![1]!;
