// A download of several pages stops when the service publishes new data while it runs.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, readFile, runToEnd, serving } from "../command_line.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

/** A dataset as the service describes it. */
type Dataset = Record<string, unknown> & { DOI: string };

/** A sandbox whose datasets a test can change, and that records its requests. */
class Publisher {
  /** Path and query of each request, decoded. */
  readonly requests: string[] = [];
  /** Changes the datasets that later requests return. */
  edit: (datasets: Dataset[]) => Dataset[] = (datasets) => datasets;
  /** Called before each request of rows, with its number from 1. */
  onPage: (number: number) => Response | void = () => {};
  #pages = 0;
  readonly #sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    this.requests.push(decodeURIComponent(pathname + search).replace("/v1/odata/v4", ""));
    if (!pathname.endsWith("/Metadata")) {
      return this.onPage(++this.#pages) ?? await this.#sandbox.fetch(request);
    }
    const response = await this.#sandbox.fetch(request);
    if (!response.ok) return response;
    const { value } = await response.json();
    return Response.json({ value: this.edit(value) });
  };

  get metadata(): string[] {
    return this.requests.filter((url) => url.startsWith("/Metadata"));
  }
}

/** Query of the request for the versions and citations of all datasets. */
const DATASETS = "$select=DOI,DatasetName,DataCollectionOrganization,Version,PublishedTimestamp," +
  "Citation,Licence,Id&$top=10000";
const NEW = { Version: "9.0.0", PublishedTimestamp: "2026-10-01T00:00:00.000Z" };
const gone = () => new Response("", { status: 404 });

const republish = (datasets: Dataset[]) =>
  datasets.map((dataset, index) => index === 0 ? { ...dataset, ...NEW } : dataset);
const stamp = (datasets: Dataset[]) =>
  datasets.map((dataset, index) =>
    index === 0 ? { ...dataset, PublishedTimestamp: NEW.PublishedTimestamp } : dataset
  );
const add = (
  datasets: Dataset[],
) => [...datasets, { ...datasets[0]!, DOI: "10.25976/weir-zz00", Id: "new" }];
const remove = (datasets: Dataset[]) => datasets.slice(1);

const changes: [name: string, edit: (datasets: Dataset[]) => Dataset[], expected: string][] = [
  [
    "a new version",
    republish,
    "10.25976/weir-aa00 was version 1.0.0, published 2020-03-04T08:00:00.000Z, and is now " +
    "version 9.0.0, published 2026-10-01T00:00:00.000Z",
  ],
  ["a new publication of the same version", stamp, "10.25976/weir-aa00 was version 1.0.0"],
  ["a new dataset", add, "10.25976/weir-zz00 was added"],
  ["a dataset less", remove, "10.25976/weir-aa00 was removed"],
];

for (const [name, edit, expected] of changes) {
  Deno.test(`weir --resume stops and leaves the part when the service has ${name}`, () => {
    const service = new Publisher();
    return serving(service.fetch, async (line, baseUrl) => {
      const args = ["records", baseUrl, "--limit=300", "--top=100", "--select=Id,DOI"];
      const baseArgs = [...args, "--quiet", "--output=a.csv"];
      service.onPage = (number) => number === 3 ? gone() : undefined;
      assertEquals((await runToEnd(line, ...baseArgs)).code, 1);
      assertEquals(service.metadata.length, 1);
      const part = await readFile("a.csv.part");
      service.edit = edit;
      const { code, stderr } = await runToEnd(line, ...baseArgs, "--resume");
      assertEquals([code, await readFile("a.csv.part")], [1, part]);
      assertEquals(await fileNames(), ["a.csv.part", "a.csv.part.json"]);
      assertStringIncludes(stderr, expected);
      assertStringIncludes(stderr, "start again with --force");
      assertEquals(stderr.includes("--resume"), false);
      // The resumed run requested no rows.
      assertEquals([service.metadata.length, service.requests.length], [2, 5]);
      assertEquals((await runToEnd(line, ...baseArgs, "--force")).code, 0);
      assertEquals(await fileNames(), ["a.csv"]);
    });
  });
}

Deno.test("weir leaves the part when the service has a new version at the end of the download", () => {
  const service = new Publisher();
  return serving(service.fetch, async (line, baseUrl) => {
    const args = ["records", baseUrl, "--limit=300", "--top=100", "--select=Id,DOI"];
    service.onPage = (number) => {
      if (number === 3) service.edit = republish;
    };
    const { code, stderr } = await runToEnd(line, ...args, "--output=a.csv");
    assertEquals([code, await fileNames()], [1, ["a.csv.part", "a.csv.part.json"]]);
    assertStringIncludes(stderr, "10.25976/weir-aa00 was version 1.0.0");
    assertStringIncludes(stderr, "start again with --force");
  });
});

Deno.test("weir requests the dataset versions twice for a file of several pages, once for one page, and never for standard output", () => {
  const service = new Publisher();
  return serving(service.fetch, async (line, baseUrl) => {
    const runAgainstService = (...args: string[]) =>
      runToEnd(line, ...args, baseUrl, "--quiet", "--select=Id,DOI", "--force");
    const one = ["records", "--output=a.csv", "--limit=100"];
    assertEquals(
      (await runAgainstService("records", "--limit=300", "--top=100", "--output=-")).code,
      0,
    );
    assertEquals(service.metadata, []);
    for (const args of [one, [...one, "--top=100"], ["locations", "--output=a.csv"]]) {
      assertEquals((await runAgainstService(...args)).code, 0);
      assertEquals(service.metadata.length, 1);
      service.requests.length = 0;
    }
    assertEquals(
      (await runAgainstService("records", "--limit=300", "--top=100", "--output=a.csv")).code,
      0,
    );
    const request = `/Metadata?${DATASETS}`;
    assertEquals(service.metadata, [request, request]);
  });
});

const filters: [name: string, args: string[], filter: string | undefined][] = [
  [
    "of the query",
    ["--doi=10.25976/weir-aa00", "--from=2015"],
    "DOI eq '10.25976/weir-aa00' and ActivityStartYear gte 2015",
  ],
  [
    "and the box of the query",
    ["--characteristic=pH", "--bbox=-64,46,-62,47"],
    "CharacteristicName eq 'pH' and " +
    "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'",
  ],
  [
    "without ne, which Metadata reads otherwise",
    ["--filter=CharacteristicName ne 'pH'"],
    undefined,
  ],
];
for (const [name, args, filter] of filters) {
  Deno.test(`weir compares the datasets that match the filter ${name}`, () => {
    const service = new Publisher();
    return serving(service.fetch, async (line, baseUrl) => {
      const baseArgs = ["records", baseUrl, "--top=50", "--limit=200", "--quiet", "--output=a.csv"];
      assertEquals((await runToEnd(line, ...baseArgs, ...args)).code, 0);
      const [first, second, ...more] = service.metadata;
      assertEquals([second, more], [first, []]);
      const sent = new URL(first!, "http://h").searchParams.get("$filter") ?? undefined;
      assertEquals(sent, filter);
    });
  });
}

Deno.test("weir fails, and can resume, when the dataset versions cannot be requested", () => {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
  let isDown = true;
  return serving(
    (request) => isDown && request.url.includes("/Metadata") ? gone() : sandbox.fetch(request),
    async (line, baseUrl) => {
      const query = ["--limit=300", "--top=100", "--select=Id"];
      const baseArgs = ["records", baseUrl, ...query, "--quiet", "--output=a.csv"];
      const { code, stderr } = await runToEnd(line, ...baseArgs);
      // Nothing is recorded yet that a later run could continue.
      assertEquals([code, await fileNames()], [1, []]);
      assertStringIncludes(stderr, "Metadata responded with status 404");
      assertStringIncludes(stderr, "this request checks that no dataset was republished");
      isDown = false;
      assertEquals((await runToEnd(line, ...baseArgs, "--resume")).code, 0);
      assertEquals((await readFile("a.csv")).split("\r\n").length, 302);
    },
  );
});
