import type { Row } from "../odata/resources.ts";
import { HOSTILE_DATASETS } from "./hostile_names.ts";
import type { World } from "./world.ts";

/** Dataset of the sandbox. `TemporalExtent` depends on the number of records. */
export type Dataset = Omit<Row<"Metadata">, "TemporalExtent">;

interface DatasetOutline {
  doi: string;
  created: string;
  name: string;
  organization: string;
  keywords: string[];
  abstract: string;
}

/** Each dataset has one kind of waters of all provinces and territories. */
const OUTLINES: DatasetOutline[] = [
  {
    doi: "10.25976/weir-aa00",
    created: "2019-03-04T12:30:00.000Z",
    name: "Synthetic Lakes, Long-Term Monitoring",
    organization: "Weir Sandbox Lake Alliance",
    keywords: ["synthetic", "lakes", "long-term monitoring"],
    abstract:
      "Synthetic data: nothing here was measured. Water quality of lakes in all provinces " +
      "and territories, for demos and tests.",
  },
  {
    doi: "10.25976/weir-bb00",
    created: "2020-06-15T00:00:00.000Z",
    name: "Qualité de l’eau des rivières (données synthétiques)",
    organization: "Réseau synthétique des rivières",
    keywords: ["synthétique", "rivières", "qualité de l’eau"],
    abstract:
      "Données synthétiques : rien n’a été mesuré. Qualité de l’eau des grandes rivières, " +
      "pour démonstrations et essais.",
  },
  {
    doi: "10.25976/weir-cc00",
    created: "2021-01-31T23:59:59.999Z",
    name: "Synthetic Community Stream Watch",
    organization: "Weir Sandbox Stream Watch Volunteers",
    keywords: ["synthetic", "streams", "community-based monitoring"],
    abstract: "Synthetic data: nothing here was measured. Samples of creeks and small rivers, as " +
      "volunteers take them.",
  },
  {
    doi: "10.25976/weir-dd00",
    created: "2022-11-05T06:07:08.009Z",
    name: "Synthetic Source Water Survey",
    organization: "Weir Sandbox Source Water Partnership",
    keywords: ["synthetic", "reservoirs", "drinking water sources"],
    abstract:
      "Synthetic data: nothing here was measured. Reservoirs, lakes and rivers that supply " +
      "drinking water.",
  },
  {
    doi: "10.81029/weir-ee00",
    created: "2024-02-29T17:00:00.000Z",
    name: "Synthetic River Mouths and Estuaries",
    organization: "Weir Sandbox Coast and Delta Programme",
    keywords: ["synthetic", "estuaries", "nutrients"],
    abstract: "Synthetic data: nothing here was measured. Nutrients and solids that rivers carry " +
      "into lakes and the sea.",
  },
];

const LIFELIKE = OUTLINES.map(createDataset);
const HOSTILE = OUTLINES.map((outline, index) =>
  createDataset({ ...outline, ...HOSTILE_DATASETS[index] }, index)
);

/** Returns the datasets, in the order of their Ids. */
export function datasetsOf({ hostileNames }: World): readonly Dataset[] {
  return hostileNames ? HOSTILE : LIFELIKE;
}

function createDataset(outline: DatasetOutline, index: number): Dataset {
  const { doi, name, organization, created, keywords, abstract } = outline;
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
    Abstract: abstract,
    DataCollectionInformation: "Computed, not collected.",
    DataProcessing: index % 2 === 0 ? "None, the values are made up." : null,
    FundingSources: "None",
    DataSourceURL: index === 0 ? "https://sandbox.invalid/source?id=1&kind=lakes" : null,
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
}
