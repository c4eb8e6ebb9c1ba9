import type { Row } from "../odata/resources.ts";
// Invented datasets and stations at real lakes and rivers. Coded values are those of DataStream's schema
// 3.0.0 (2026-07-14).
import data from "./data.json" with { type: "json" };
import type { World } from "./world.ts";

/** `TemporalExtent` depends on the number of records. */
export type Dataset = Omit<Row<"Metadata">, "TemporalExtent">;

const LIFELIKE = data.datasets.map((row) => withCitation({ ...data.dataset, ...row }));
const HOSTILE = LIFELIKE.map((row, index) =>
  withCitation({ ...row, ...data.hostileDatasets[index] })
);

export function datasetsOf({ hostileNames }: World): readonly Dataset[] {
  return hostileNames ? HOSTILE : LIFELIKE;
}

function withCitation(row: Omit<Dataset, "Citation">): Dataset {
  const { DataCollectionOrganization, CreateTimestamp, DatasetName, Version, DOI } = row;
  const source = `${DataCollectionOrganization}. ${CreateTimestamp.slice(0, 4)}. "${DatasetName}"`;
  return { ...row, Citation: `${source} (dataset, synthetic). ${Version}. https://doi.org/${DOI}` };
}
