import type { Row } from "../odata/resources.ts";
// Invented datasets and stations at real lakes and rivers. Coded values are those of DataStream's schema
// 3.0.0 (2026-07-14).
import data from "./data.json" with { type: "json" };
import type { World } from "./world.ts";

/** `TemporalExtent` depends on the number of records. */
export type Dataset = Omit<Row<"Metadata">, "TemporalExtent">;

const LIFELIKE = data.datasets.map(createDataset);
const HOSTILE = data.datasets.map((outline, index) =>
  createDataset({ ...outline, ...data.hostileDatasets[index] }, index)
);

export function datasetsOf({ hostileNames }: World): readonly Dataset[] {
  return hostileNames ? HOSTILE : LIFELIKE;
}

function createDataset(outline: typeof data.datasets[number], index: number): Dataset {
  const { doi, name, organization, created, keywords, abstract } = outline;
  const year = Number(created.slice(0, 4));
  const version = `${index + 1}.${index}.0`;
  return {
    Id: `0000000${index + 1}-5eed-4000-8000-0000000000${index + 1}0`,
    DOI: doi,
    Version: version,
    DatasetName: name,
    DataStewardEmail: `steward-${index + 1}@sandbox.invalid`,
    DataCollectionOrganization: organization,
    DataUploadOrganization: "Weir Sandbox",
    ProgressCode: index === 3 ? "completed" : "onGoing",
    MaintenanceFrequencyCode: index === 3 ? "notPlanned" : "asNeeded",
    Abstract: abstract,
    DataCollectionInformation: "Computed, not collected.",
    DataProcessing: index % 2 === 0 ? "None, the values are made up." : null,
    FundingSources: "None",
    DataSourceURL: index === 0 ? "https://sandbox.invalid/source?id=1&kind=lakes" : null,
    OtherDataSources: "",
    Citation:
      `${organization}. ${year}. "${name}" (dataset, synthetic). ${version}. https://doi.org/${doi}`,
    Licence: "https://opendatacommons.org/licenses/by/1-0/",
    Disclaimer: index === 2 ? "Synthetic data, of no use for any decision." : "",
    TopicCategoryCode: ["inlandWaters", "environment"],
    Keywords: keywords,
    CreateTimestamp: created,
    PublishedTimestamp: `${year + 1}${
      created.slice(4, 10).replace("02-29", "03-01")
    }T08:00:00.000Z`,
  };
}
