import type { Row } from "../odata/resources.ts";
import { DATASETS } from "./datasets.ts";
import { noise, pick } from "./noise.ts";

interface Province {
  code: string;
  hub: string;
  latitude: number;
  longitude: number;
}

/** Provinces and territories, each with a partner hub and a position well inside its borders. */
const PROVINCES: Province[] = [
  { code: "ab", hub: "hub.mackenzie", latitude: 55, longitude: -114.5 },
  { code: "bc", hub: "hub.pacific", latitude: 54, longitude: -124.5 },
  { code: "mb", hub: "hub.lakewinnipeg", latitude: 54.5, longitude: -97.5 },
  { code: "nb", hub: "hub.atlantic", latitude: 46.5, longitude: -66.3 },
  { code: "nl", hub: "hub.atlantic", latitude: 53.5, longitude: -60.5 },
  { code: "ns", hub: "hub.atlantic", latitude: 45, longitude: -63.2 },
  { code: "nt", hub: "hub.mackenzie", latitude: 64.5, longitude: -119.5 },
  { code: "nu", hub: "hub.mackenzie", latitude: 66.5, longitude: -95.5 },
  { code: "on", hub: "hub.greatlakes", latitude: 49.5, longitude: -85.5 },
  { code: "pe", hub: "hub.atlantic", latitude: 46.4, longitude: -63.2 },
  { code: "qc", hub: "hub.greatlakes", latitude: 52.5, longitude: -72.5 },
  { code: "sk", hub: "hub.lakewinnipeg", latitude: 54.5, longitude: -106 },
  { code: "yt", hub: "hub.pacific", latitude: 63.5, longitude: -135.5 },
];

const LOCATION_NAMES = [
  (n: number) => `Synthetic Creek, station ${n}`,
  (n: number) => `Rivière-aux-Érables synthétique, à l’île nº ${n}`,
  (n: number) => `Lake "Two Names" (synthetic) ${n}`,
  (n: number) => `Captain's Bay (synthetic) ${n}`,
];
/** Values of DataStream's schema 3.0.0 (2026-07-14). */
const TYPES = ["River/Stream", "Lake/Pond", "Reservoir", "Estuary", "Well"];

/** Location of the sandbox. */
export interface Location {
  row: Row<"Locations">;
  /** Index of its dataset. */
  dataset: number;
  /** `RegionId` of each region that contains it. */
  regions: readonly string[];
}

/** Returns the `Id` of a location. Ids have gaps, as in the service. */
function locationId(index: number): number {
  return 1001 + 7 * index;
}

/** Returns the location with an index, which is always the same. */
export function locationAt(index: number): Location {
  const province = PROVINCES[index % PROVINCES.length]!;
  const dataset = index % DATASETS.length;
  const degrees = (middle: number, salt: number) =>
    Math.round((middle + (noise(index, salt) - 0.5) / 2) * 1e5) / 1e5;
  const surveyed = noise(index, 3) < 0.4;
  return {
    row: {
      Id: locationId(index),
      DOI: DATASETS[dataset]!.DOI,
      ID: `WEIR-${String(index + 1).padStart(4, "0")}`,
      Name: LOCATION_NAMES[index % LOCATION_NAMES.length]!(index + 1),
      Latitude: degrees(province.latitude, 1),
      Longitude: degrees(province.longitude, 2),
      HorizontalCoordinateReferenceSystem: index % 9 === 4 ? "NAD83" : "WGS84",
      HorizontalAccuracyMeasure: surveyed ? 5 : null,
      HorizontalAccuracyUnit: surveyed ? "m" : null,
      VerticalMeasure: surveyed ? Math.round(noise(index, 4) * 9000 - 200) / 10 : null,
      VerticalUnit: surveyed ? "m" : null,
      MonitoringLocationType: pick(TYPES, index, 5),
    },
    dataset,
    regions: ["admin.2.ca", `admin.4.ca.${province.code}`, province.hub],
  };
}
