// A download of several pages stops when the service publishes new data while it runs.
import { assertEquals } from "@std/assert";
import { Download, WaitClock } from "./download.ts";

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

for (const page of [1, 3]) {
  Deno.test(`weir leaves the part when the service has a new version after page ${page} of the download`, async () => {
    await using download = await Download.create();
    download.onPage = (number) => {
      if (number === page) download.publish(NEW);
    };
    await download.expect("", {
      code: 1,
      files: ["a.csv.part", "a.csv.part.json"],
      says: ["10.25976/weir-aa00 was version 1.0.0", AGAIN],
    });
  });
}

/** A download at 12:00 of the service, four minutes after a publication. The clock of the computer is an hour late. */
async function justPublished(): Promise<{ download: Download; clock: WaitClock }> {
  const download = await Download.create();
  const clock = new WaitClock(Date.parse("2026-11-01T11:00:00Z"));
  download.clock = clock;
  download.onRequest = () => clock.now() + 3_600_000;
  download.publish({ Version: "2.0.0", PublishedTimestamp: "2026-11-01T11:56:00.000Z" });
  return { download, clock };
}

Deno.test("weir waits until ten minutes after a publication, and begins again, when a file has several pages", async () => {
  const { download, clock } = await justPublished();
  await using _ = download;
  const owners: number[] = [];
  download.onPage = () => {
    const { owner } = JSON.parse(Deno.readTextFileSync(download.path("a.csv.part.json")));
    owners.push(clock.now() - owner.renewedAt);
  };
  await download.expect("!quiet", {
    pages: 4,
    files: ["a.csv"],
    says: [
      "Waiting until 2026-11-01T12:06:00.000Z: 10.25976/weir-aa00 was published at " +
      "2026-11-01T11:56:00.000Z, and until 2026-11-01T12:06:00.000Z some rows can be of the version before",
    ],
  });
  assertEquals(clock.waits, [360_000]);
  // The run renews its time while it waits.
  assertEquals(owners.map((age) => age <= 10_000), [true, true, true, true]);
  assertEquals((await download.package()).weir.datasets![0]![1], "2.0.0");
  assertEquals((await download.text()).split("\r\n").length, 14);
});

Deno.test("weir --update keeps the file, with exit code 3, when a dataset was just published and several pages follow", async () => {
  await using first = await Download.create();
  await first.run();
  const { download, clock } = await justPublished();
  await using _ = download;
  for (const name of ["a.csv", "a.csv.datapackage.json"]) {
    await download.write(name, await first.text(name));
  }
  const before = await download.contents();
  await download.expect("--update", {
    code: 3,
    pages: 1,
    says: ["a.csv stays as it is", "until 2026-11-01T12:06:00.000Z", "Repeat the command then"],
  });
  assertEquals([await download.contents(), clock.waits], [before, []]);
  // One page has rows of one version, which is not known.
  await download.expect("--limit=5 --force", { pages: 1 });
  assertEquals((await download.package()).weir.datasets, undefined);
});

Deno.test("weir --update waits when it starts again because of a recent publication", async () => {
  const { download, clock } = await justPublished();
  await using _ = download;
  const { edit } = download;
  download.edit = (datasets) => datasets;
  await download.break();
  download.edit = edit;
  await download.expect("--update", { pages: 4, files: ["a.csv"], says: ["published new data"] });
  assertEquals(clock.waits, [360_000]);
});

Deno.test("weir fails when a dataset is published while it waits, and waits at most ten minutes when the time is in the future", async () => {
  const { download, clock } = await justPublished();
  await using _ = download;
  download.publish({ PublishedTimestamp: "2026-11-02T12:00:00.000Z" });
  download.onPage = (number) => {
    if (number === 1) download.publish(NEW);
  };
  const says = ["is now version 9.0.0", AGAIN];
  await download.expect("", { code: 1, pages: 1, files: [], says });
  assertEquals(clock.waits, [600_000]);
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
      "DataStream responded with status 404",
      "this request checks that no dataset was republished",
    ],
  });
  download.refusesMetadata = false;
  await download.expect("", { files: ["a.csv"] });
});
