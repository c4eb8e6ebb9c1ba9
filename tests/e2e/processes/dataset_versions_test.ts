// A download of several pages stops when the service publishes new data while it runs.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Dataset, Download } from "./download.ts";

const NEW = { Version: "9.0.0", PublishedTimestamp: "2026-10-01T00:00:00.000Z" };
const change = (changes: object) => ([first, ...others]: Dataset[]) => [
  { ...first!, ...changes },
  ...others,
];

const changes: [name: string, edit: Download["edit"], expected: string][] = [
  [
    "a new version",
    change(NEW),
    "10.25976/weir-aa00 was version 1.0.0, published 2020-03-04T08:00:00.000Z, and is now " +
    "version 9.0.0, published 2026-10-01T00:00:00.000Z",
  ],
  [
    "a new publication of the same version",
    change({ PublishedTimestamp: NEW.PublishedTimestamp }),
    "10.25976/weir-aa00 was version 1.0.0",
  ],
  [
    "a new dataset",
    (datasets) => [...datasets, { ...datasets[0]!, DOI: "10.25976/weir-zz00", Id: "new" }],
    "10.25976/weir-zz00 was added",
  ],
  ["a dataset less", (datasets) => datasets.slice(1), "10.25976/weir-aa00 was removed"],
];
for (const [name, edit, expected] of changes) {
  Deno.test(`weir --resume stops and leaves the part when the service has ${name}`, async () => {
    await using download = await Download.create();
    await download.break();
    const { "a.csv.part": part } = await download.files();
    download.edit = edit;
    const { code, errors } = await download.run("", ["--resume"]);
    assertEquals([code, errors.length, (await download.files())["a.csv.part"]], [1, 1, part]);
    assertStringIncludes(errors[0]!, expected);
    assertStringIncludes(errors[0]!, "start again with --force");
    // The resumed run requested no rows.
    assertEquals([download.pages, download.metadata.length], [0, 2]);
    assertEquals((await download.run("", ["--force"])).code, 0);
    assertEquals(await download.names(), ["a.csv"]);
  });
}

Deno.test("weir leaves the part when the service has a new version at the end of the download", async () => {
  await using download = await Download.create();
  download.onPage = (number) => {
    if (number === 3) download.edit = change(NEW);
  };
  const { code, errors } = await download.run();
  assertEquals([code, await download.names()], [1, ["a.csv.part", "a.csv.part.json"]]);
  assertStringIncludes(errors.join(), "10.25976/weir-aa00 was version 1.0.0");
  assertStringIncludes(errors.join(), "start again with --force");
});

Deno.test("weir requests the dataset versions twice for a file of several pages, once for one page, and never for standard output", async () => {
  await using download = await Download.create();
  const request = "/Metadata?$select=DOI,DatasetName,DataCollectionOrganization,Version," +
    "PublishedTimestamp,Citation,Licence,Id&$top=10000";
  for (
    const [line, output, requests] of [
      ["", ["--output=-"], []],
      ["--limit=5", [], [request]],
      ["--top=10000", ["--force"], [request]],
      ["", ["--force"], [request, request]],
    ] as [string, string[], string[]][]
  ) {
    download.metadata = [];
    assertEquals((await download.run(line, output)).code, 0);
    assertEquals(download.metadata, requests);
  }
});

for (
  const [line, filter] of [
    [
      "--doi=10.25976/weir-aa00 --from=2015",
      "DOI eq '10.25976/weir-aa00' and ActivityStartYear gte 2015",
    ],
    [
      "--characteristic=pH --bbox=-68,44,-59,48",
      "CharacteristicName eq 'pH' and " +
      "Longitude gt '-68' and Longitude lt '-59' and Latitude gt '44' and Latitude lt '48'",
    ],
    // Metadata reads ne otherwise.
    ["--filter=CharacteristicName ne 'pH'", undefined],
  ] as const
) {
  Deno.test(`weir compares the datasets that match ${line}`, async () => {
    await using download = await Download.create();
    assertEquals((await download.run(line)).code, 0);
    const [first, ...others] = download.metadata;
    assertEquals(others, [first]);
    assertEquals(/\$filter=([^&]*)/.exec(first!)?.[1], filter);
  });
}

Deno.test("weir fails, and can resume, when the dataset versions cannot be requested", async () => {
  await using download = await Download.create();
  download.metadataError = () => new Response("", { status: 404 });
  const { code, errors } = await download.run();
  // Nothing is recorded yet that a later run could continue.
  assertEquals([code, await download.names()], [1, []]);
  assertStringIncludes(errors.join(), "Metadata responded with status 404");
  assertStringIncludes(errors.join(), "this request checks that no dataset was republished");
  download.metadataError = undefined;
  assertEquals((await download.run("", ["--resume"])).code, 0);
  assertEquals(await download.names(), ["a.csv"]);
});
