import type { Row } from "../odata/resources.ts";
import { datasetsOf } from "./datasets.ts";
import { HOSTILE_COMMENTS, HOSTILE_LOCATIONS } from "./hostile_names.ts";
import { noise } from "./noise.ts";
import { PROVINCES } from "./waters.ts";
import type { World } from "./world.ts";

const COMMENTS = [
  "Clear sky, light wind",
  "Light rain overnight",
  "High flow after the storm, water turbid",
  "Owner's gate was shut, sampled from the bridge",
  "Probe calibrated on site",
  "Slight odour, no sheen",
  "Replicate bottle kept cold",
];
const FRENCH_COMMENTS = [
  "Ciel dégagé, vent léger",
  "Pluie faible pendant la nuit",
  "Eau trouble après l’orage, débit élevé",
  "Échantillon prélevé du pont",
  "Sonde étalonnée sur place",
];

/** Location of the sandbox. */
export interface Location {
  row: Row<"Locations">;
  /** Index of its dataset. */
  dataset: number;
  datasetName: string;
  /** `RegionId` of each region that contains it. */
  regions: readonly string[];
  /** Offset of its time zone. */
  zone: string;
  /** Depth of the water in metres. */
  depth: number;
  /** Difference of its values from those of other locations, from -0.5 to 0.5. */
  level: number;
  /** Comments of its results. */
  comments: readonly string[];
}

/** Returns the `Id` of a location. Ids have gaps, as in the service. */
function locationId(index: number): number {
  return 1001 + 7 * index;
}

/** Returns the location with an index, which is always the same. */
export function locationAt(world: World, index: number): Location {
  const { code, hub, zone, waters } = PROVINCES[index % PROVINCES.length]!;
  const datasets = datasetsOf(world);
  const dataset = index % datasets.length;
  const [water, latitude, longitude, elevation, type] = waters[dataset]!;
  const site = Math.floor(index / (PROVINCES.length * datasets.length)) + 1;
  const name = site === 1 ? water : `${water}, site ${site}`;
  /** Sites of one water are up to 0.01° from its point. */
  const degrees = (point: number, salt: number) =>
    Math.round((point + (noise(index, salt) - 0.5) / 50) * 1e5) / 1e5;
  const isFrench = code === "qc";
  const isSurveyed = noise(index, 3) < 0.4;
  return {
    row: {
      Id: locationId(index),
      DOI: datasets[dataset]!.DOI,
      ID: `WEIR-${String(index + 1).padStart(4, "0")}`,
      Name: world.hostileNames
        ? HOSTILE_LOCATIONS[index % HOSTILE_LOCATIONS.length]!(index + 1)
        : `${name} (${isFrench ? "synthétique" : "synthetic"})`,
      Latitude: degrees(latitude, 1),
      Longitude: degrees(longitude, 2),
      HorizontalCoordinateReferenceSystem: index % 9 === 4 ? "NAD83" : "WGS84",
      HorizontalAccuracyMeasure: isSurveyed ? 5 : null,
      HorizontalAccuracyUnit: isSurveyed ? "m" : null,
      VerticalMeasure: isSurveyed ? elevation : null,
      VerticalUnit: isSurveyed ? "m" : null,
      MonitoringLocationType: type,
    },
    dataset,
    datasetName: datasets[dataset]!.DatasetName,
    regions: ["admin.2.ca", `admin.4.ca.${code}`, hub],
    zone,
    depth: type === "River/Stream" ? 1 : 8,
    level: noise(index, 29) - 0.5,
    comments: world.hostileNames ? HOSTILE_COMMENTS : isFrench ? FRENCH_COMMENTS : COMMENTS,
  };
}
