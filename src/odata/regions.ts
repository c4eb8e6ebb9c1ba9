/**
 * Names of the documented regions by `RegionId`. The service can have more regions, so use the list for
 * suggestions and not for validation.
 *
 * Source: DataStream Public API, "URL Parameters", `$filter`.
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
  return REGIONS.map(([, regions]) => regions).find((regions) => Object.hasOwn(regions, id))?.[id];
}
