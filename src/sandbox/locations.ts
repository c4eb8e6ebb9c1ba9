import type { Row } from "../odata/resources.ts";
import data from "./data.json" with { type: "json" };
import { datasetsOf } from "./datasets.ts";
import { noise } from "./noise.ts";
import type { World } from "./world.ts";

/** Position and elevation (m) of a point on it. */
type Water = [name: string, latitude: number, longitude: number, elevation: number, type: string];

/** Each with one water of each dataset, and the offset of its standard time. */
const PROVINCES = data.provinces;

export interface Location {
  index: number;
  row: Row<"Locations">;
  /** Its columns in records. */
  columns:
    & Omit<Row<"Records">, keyof Row<"Observations">>
    & Pick<Row<"Observations">, "LocationId" | "DOI">;
  dataset: number;
  /** Each `RegionId` that contains it. */
  regions: readonly string[];
  zone: string;
  /** Metres. */
  depth: number;
  /** Difference from other locations, -0.5 to 0.5. */
  level: number;
  comments: readonly string[];
}

type Columns<T> = { [Name in keyof T & string as `MonitoringLocation${Name}`]: T[Name] };

/** The same index always has the same location. */
export function locationAt(world: World, index: number): Location {
  const { code, hub, zone, waters } = PROVINCES[index % PROVINCES.length]!;
  const datasets = datasetsOf(world);
  const dataset = index % datasets.length;
  const { DOI, DatasetName } = datasets[dataset]!;
  const [water, latitude, longitude, elevation, type] = waters[dataset] as Water;
  const site = Math.floor(index / (PROVINCES.length * datasets.length)) + 1;
  const name = site === 1 ? water : `${water}, site ${site}`;
  const hostileName = data.hostileLocations[index % data.hostileLocations.length]!;
  /** Sites of one water are up to 0.01° from its point. */
  const degrees = (point: number, salt: number) =>
    Math.round((point + (noise(index, salt) - 0.5) / 50) * 1e5) / 1e5;
  const isFrench = code === "qc";
  const isSurveyed = noise(index, 3) < 0.4;
  const located = {
    ID: `WEIR-${String(index + 1).padStart(4, "0")}`,
    Name: world.hostileNames
      ? hostileName.replace("{n}", String(index + 1))
      : `${name} (${isFrench ? "synthétique" : "synthetic"})`,
    Latitude: degrees(latitude, 1),
    Longitude: degrees(longitude, 2),
    HorizontalCoordinateReferenceSystem: index % 9 === 4 ? "NAD83" : "WGS84",
    HorizontalAccuracyMeasure: isSurveyed ? 5 : null,
    HorizontalAccuracyUnit: isSurveyed ? "m" : null,
    VerticalMeasure: isSurveyed ? elevation : null,
    VerticalUnit: isSurveyed ? "m" : null,
  };
  const columns: Columns<typeof located> = Object.assign(
    {},
    ...Object.entries(located).map(([name, value]) => ({ [`MonitoringLocation${name}`]: value })),
  );
  const Id = 1001 + 7 * index; // Ids have gaps, as in the service
  return {
    index,
    row: { Id, DOI, ...located, MonitoringLocationType: type },
    columns: { LocationId: Id, DOI, DatasetName, ...columns, MonitoringLocationType: type },
    dataset,
    regions: ["admin.2.ca", `admin.4.ca.${code}`, hub],
    zone,
    depth: type === "River/Stream" ? 1 : 8,
    level: noise(index, 29) - 0.5,
    comments: world.hostileNames
      ? data.hostileComments
      : isFrench
      ? data.frenchComments
      : data.comments,
  };
}
