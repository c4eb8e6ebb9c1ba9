import type { Row } from "../odata/resources.ts";

/** Dataset of the sandbox. `TemporalExtent` depends on the number of records. */
export type Dataset = Omit<Row<"Metadata">, "TemporalExtent">;

interface DatasetOutline {
  doi: string;
  name: string;
  organization: string;
  created: string;
  keywords: string[];
}

/** Names with characters that HTML, file names or spreadsheets treat specially. */
const OUTLINES: DatasetOutline[] = [
  {
    doi: "10.25976/weir-aa00",
    name: "Synthetic Rivers, Lakes and Wells",
    organization: "Weir Sandbox Watershed Alliance",
    created: "2019-03-04T12:30:00.000Z",
    keywords: ["synthetic", "rivers", "lakes"],
  },
  {
    doi: "10.25976/weir-bb00",
    name: "Qualité de l’eau synthétique – Forêt boréale",
    organization: "Réseau synthétique de l’Érable",
    created: "2020-06-15T00:00:00.000Z",
    keywords: ["synthétique", "qualité de l’eau"],
  },
  {
    doi: "10.25976/weir-cc00",
    name: 'Synthetic "Citizen Science" Samples <script>alert("weir")</script>',
    organization: "Weir Sandbox Volunteers & Friends",
    created: "2021-01-31T23:59:59.999Z",
    keywords: ["synthetic", "citizen science; volunteers"],
  },
  {
    doi: "10.25976/weir-dd00",
    name: "=Synthetic coastal stations 🌊",
    organization: "Weir Sandbox Coast Watch",
    created: "2022-11-05T06:07:08.009Z",
    keywords: ["synthetic", "coast"],
  },
  {
    doi: "10.81029/weir-ee00",
    name: "Synthetic northern lakes, under ice",
    organization: "Weir Sandbox Northern Programme",
    created: "2024-02-29T17:00:00.000Z",
    keywords: ["synthetic", "ice"],
  },
];

/** The datasets, in the order of their Ids. */
export const DATASETS: readonly Dataset[] = OUTLINES.map((outline, index) => {
  const { doi, name, organization, created, keywords } = outline;
  const year = created.slice(0, 4);
  return {
    Id: `0000000${index + 1}-5eed-4000-8000-0000000000${index + 1}0`,
    DOI: doi,
    Version: `${index + 1}.${index}.0`,
    DatasetName: name,
    DataStewardEmail: `steward-${index + 1}@sandbox.invalid`,
    DataCollectionOrganization: organization,
    DataUploadOrganization: "Weir Sandbox",
    ProgressCode: index === 3 ? "completed" : "onGoing",
    MaintenanceFrequencyCode: index === 3 ? "notPlanned" : "asNeeded",
    Abstract: `Synthetic data for demos and tests: nothing here was measured.\nDataset ${
      index + 1
    }.`,
    DataCollectionInformation: "Computed, not collected.",
    DataProcessing: index % 2 === 0 ? "None, the values are made up." : null,
    FundingSources: "None",
    DataSourceURL: index === 0 ? "https://sandbox.invalid/source?id=1&kind=rivers" : null,
    OtherDataSources: "",
    Citation: `${organization}. ${year}. "${name}" (dataset, synthetic). ${
      index + 1
    }.${index}.0. https://doi.org/${doi}`,
    Licence: "https://opendatacommons.org/licenses/by/1-0/",
    Disclaimer: index === 2 ? "Synthetic data, of no use for any decision." : "",
    TopicCategoryCode: ["inlandWaters", "environment"],
    Keywords: keywords,
    CreateTimestamp: created,
    PublishedTimestamp: `${Number(year) + 1}${
      created.slice(4, 10).replace("02-29", "03-01")
    }T08:00:00.000Z`,
  };
});
