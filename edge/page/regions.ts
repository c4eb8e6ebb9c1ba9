import { REGIONS } from "../../src/odata/regions.ts";

/** Returns a region's name, or `undefined` if the id is not in the list. */
export function regionName(id: string): string | undefined {
  return REGIONS.map(([, regions]) => regions).find((regions) => Object.hasOwn(regions, id))?.[id];
}

/** Names that many datasets use, to choose from; any other can be typed. */
export const CHARACTERISTICS: readonly string[] = [
  "Alkalinity, total",
  "Ammonia",
  "Arsenic",
  "Calcium",
  "Chloride",
  "Chlorophyll a",
  "Conductivity",
  "Dissolved oxygen (DO)",
  "Dissolved oxygen saturation",
  "Escherichia coli",
  "Hardness, Ca, Mg",
  "Iron",
  "Lead",
  "Magnesium",
  "Nitrate",
  "Nitrite",
  "Orthophosphate",
  "pH",
  "Phosphorus",
  "Salinity",
  "Specific conductance",
  "Sulfate",
  "Temperature, water",
  "Total dissolved solids",
  "Total Nitrogen, mixed forms",
  "Total Phosphorus, mixed forms",
  "Total suspended solids",
  "Turbidity",
];
