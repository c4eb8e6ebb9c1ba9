// citations() finds the datasets of a filter with few requests, each dataset once.
import "../../helpers/no_permission.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { DataStream, eq, ValidationError } from "../../../mod.ts";
import { DEADLINE } from "../../helpers/deadline.ts";
import { sandboxAndClient, sandboxRequests } from "../../helpers/sandbox.ts";
import { page, ROOT, upstream } from "../../helpers/upstream.ts";

/** Registers a test that fails instead of hanging. */
const test = (name: string, run: () => Promise<void>): void => Deno.test(name, DEADLINE, run);

test("citations() returns DOI, link, name, organization, version, citation and licence of each dataset", async () => {
  const { client } = sandboxAndClient();
  const datasets = await sandboxRequests().rows("Metadata");
  assertEquals(
    await client.citations(),
    datasets.map((dataset) => ({
      doi: dataset["DOI"],
      link: `https://doi.org/${dataset["DOI"]}`,
      name: dataset["DatasetName"],
      organization: dataset["DataCollectionOrganization"],
      version: dataset["Version"],
      published: dataset["PublishedTimestamp"],
      citation: dataset["Citation"],
      licence: dataset["Licence"],
    })),
  );
});

test("citations() adds the link when the dataset's citation lacks it, and no DOI twice", async () => {
  const dataset = { DOI: "10.25976/a", DatasetName: "A", Version: "1.0.0", Licence: "l" };
  const citationOf = async (Citation: string | null) => {
    const { options } = upstream(page([{ ...dataset, Citation }]));
    return (await new DataStream(options).citations())[0]!.citation;
  };
  assertEquals(await citationOf("A. 2020."), "A. 2020. https://doi.org/10.25976/a");
  assertEquals(await citationOf(null), "A https://doi.org/10.25976/a");
  for (const doi of ["https://doi.org/10.25976/a", "doi:10.25976/A", "DOI: 10.25976/a"]) {
    assertEquals(await citationOf(`A, ${doi}.`), "A, https://doi.org/10.25976/a.");
  }
});

test("citations() omits ne clauses that would exclude a dataset whose other rows match", async () => {
  const filter = "CharacteristicName ne 'pH' and DOI ne 'x' and RegionId ne 'hub.pacific'";
  const { options, requests } = upstream(page([]));
  await new DataStream(options).citations(filter);
  assertEquals(new URL(requests[0]!.url).searchParams.get("$filter"), "DOI ne 'x'");
});

test("citations() requests the fields that it returns, and stops when its signal aborts", async () => {
  const { options, requests } = upstream(page([]));
  const client = new DataStream(options);
  await client.citations(eq("DOI", "x"));
  assertEquals(
    decodeURIComponent(requests[0]!.url),
    `${ROOT}/Metadata?$select=DOI,DatasetName,DataCollectionOrganization,Version,PublishedTimestamp,Citation,Licence,Id&$filter=DOI eq 'x'&$top=10000`,
  );
  const signal = AbortSignal.abort("enough");
  assertEquals(await client.citations(undefined, { signal }).catch((error) => error), "enough");
});

test("citations() requests at most 100 DOIs at a time, in any usual form, with the filter", async () => {
  const { options, requests } = upstream(...Array.from({ length: 3 }, () => page([])));
  const client = new DataStream(options);
  const dois = Array.from({ length: 201 }, (_, index) => `10.25976/${index}`);
  const filter = "CharacteristicName eq 'pH'";
  await client.citations(filter, {
    dois: [...dois, `doi:${dois[0]}`, `https://doi.org/${dois[0]}`],
  });
  const filters = requests.map(({ url }) => new URL(url).searchParams.get("$filter")!);
  const list = (from: number) => dois.slice(from, from + 100).map((doi) => `'${doi}'`).join();
  assertEquals(filters, [
    `${filter} and DOI in (${list(0)})`,
    `${filter} and DOI in (${list(100)})`,
    `${filter} and DOI eq '10.25976/200'`,
  ]);
});

test("citations() adds the clauses of the bounding box to the filter when within is set", async () => {
  const { options, requests } = upstream(page([]), page([]));
  const client = new DataStream(options);
  const within = { west: -64, south: 46, east: -62, north: 47 };
  await client.citations("CharacteristicName eq 'pH'", { within });
  await client.citations(undefined, { within, dois: ["10.25976/a"] });
  const box = "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'";
  assertEquals(requests.map(({ url }) => new URL(url).searchParams.get("$filter")), [
    `CharacteristicName eq 'pH' and ${box}`,
    `${box} and DOI eq '10.25976/a'`,
  ]);
});

Deno.test("citations() does not suggest unchecked, which is not its option, when a filter is invalid", async () => {
  const { client } = sandboxAndClient();
  for (const filter of ["Banana eq 'x'", "DOI like 'x'"]) {
    const error = await assertRejects(() => client.citations(filter), ValidationError);
    assertEquals([error.option, error.canBeUnchecked], ["filter", false]);
  }
});
