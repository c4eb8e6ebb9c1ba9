/**
 * The regions that the service can be asked for, by the name a person knows them by.
 *
 * Source: water-quality-api, Filter forms, RegionId values.
 */
export const REGIONS: readonly (readonly [label: string, regions: Record<string, string>])[] = [
  ["Hubs", {
    "hub.atlantic": "Atlantic",
    "hub.greatlakes": "Great Lakes",
    "hub.lakewinnipeg": "Lake Winnipeg",
    "hub.mackenzie": "Mackenzie",
    "hub.pacific": "Pacific",
  }],
  ["Provinces and territories", {
    "admin.4.ca.ab": "Alberta",
    "admin.4.ca.bc": "British Columbia",
    "admin.4.ca.mb": "Manitoba",
    "admin.4.ca.nb": "New Brunswick",
    "admin.4.ca.nl": "Newfoundland and Labrador",
    "admin.4.ca.ns": "Nova Scotia",
    "admin.4.ca.nt": "Northwest Territories",
    "admin.4.ca.nu": "Nunavut",
    "admin.4.ca.on": "Ontario",
    "admin.4.ca.pe": "Prince Edward Island",
    "admin.4.ca.qc": "Quebec",
    "admin.4.ca.sk": "Saskatchewan",
    "admin.4.ca.yt": "Yukon",
  }],
];

/** Returns a region's name, or `undefined` if the id is not in the list. */
export function regionName(id: string): string | undefined {
  for (const [, regions] of REGIONS) {
    if (Object.hasOwn(regions, id)) return regions[id];
  }
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
