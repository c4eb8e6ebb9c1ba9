// A download of several pages stops when the service publishes new data while it runs.
import { assertEquals } from "@std/assert";
import { Download } from "./download.ts";

const NEW = { Version: "9.0.0", PublishedTimestamp: "2026-10-01T00:00:00.000Z" };
const { PublishedTimestamp } = NEW;
const AGAIN = "pass --update to start again";

/** Changes of the datasets, and what the message says. */
const CHANGES: Record<string, [change: Download["edit"], message: string]> = {
  "a new version": [
    ([first, ...others]) => [{ ...first!, ...NEW }, ...others],
    "10.25976/weir-aa00 was version 1.0.0, published 2020-03-04T08:00:00.000Z, and is now " +
    "version 9.0.0, published 2026-10-01T00:00:00.000Z",
  ],
  "the same version, published again": [
    ([first, ...others]) => [{ ...first!, PublishedTimestamp }, ...others],
    "and is now version 1.0.0, published 2026-10-01T00:00:00.000Z",
  ],
  "a new dataset": [
    (datasets) => [...datasets, { ...datasets[0]!, DOI: "10.25976/weir-zz00", Id: "new" }],
    "10.25976/weir-zz00 was added",
  ],
  "a dataset removed": [([, ...others]) => others, "10.25976/weir-aa00 was removed"],
};
for (const [name, [edit, message]] of Object.entries(CHANGES)) {
  Deno.test(`weir stops before it continues, and leaves the part, when the service has ${name}`, async () => {
    await using download = await Download.create();
    await download.break();
    const part = await download.text("a.csv.part");
    download.edit = edit;
    const says = [message, AGAIN];
    await download.expect("", { code: 1, pages: 0, messages: 1, says });
    assertEquals([await download.text("a.csv.part"), download.metadata.length], [part, 2]);
    await download.expect("--update", { files: ["a.csv"] });
  });
}

Deno.test("weir leaves the part when the service has a new version at the end of the download", async () => {
  await using download = await Download.create();
  download.onPage = (number) => {
    if (number === 3) download.publish(NEW);
  };
  await download.expect("", {
    code: 1,
    files: ["a.csv.part", "a.csv.part.json"],
    says: ["10.25976/weir-aa00 was version 1.0.0", AGAIN],
  });
});

Deno.test("weir requests the dataset versions twice for a file of several pages, once for one page, and never for standard output", async () => {
  await using download = await Download.create();
  // Without the filter of ne, which Metadata reads otherwise.
  const line = "--filter=CharacteristicName ne 'pH' --doi=10.25976/weir-aa00 --bbox=-68,44,-59,48";
  const request = "/Metadata?$select=DOI,DatasetName,DataCollectionOrganization,Version," +
    "PublishedTimestamp,Citation,Licence,Id&$filter=DOI eq '10.25976/weir-aa00' and " +
    "Longitude gt '-68' and Longitude lt '-59' and Latitude gt '44' and Latitude lt '48'&$top=10000";
  const requests = { "--output=-": 0, "--limit=5": 1, "--force": 2 };
  for (const [flags, count] of Object.entries(requests)) {
    download.metadata = [];
    await download.expect(`${line} ${flags}`);
    assertEquals(download.metadata, Array(count).fill(request));
  }
});

Deno.test("weir fails, and can be repeated, when the dataset versions cannot be requested", async () => {
  await using download = await Download.create();
  download.refusesMetadata = true;
  // Nothing is recorded yet that a later run could continue.
  await download.expect("", {
    code: 1,
    files: [],
    says: [
      "Metadata responded with status 404",
      "this request checks that no dataset was republished",
    ],
  });
  download.refusesMetadata = false;
  await download.expect("", { files: ["a.csv"] });
});
