// A download and `weir cite` cite each dataset of the rows, and say when citations may be unneeded.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { record } from "./transcript.ts";
import { weir } from "../../helpers/run_weir.ts";

const links = (lines: readonly string[]) =>
  lines.flatMap((line) => [...line.matchAll(/https:\/\/doi\.org\/(\S+)/g)].map(([, doi]) => doi));

Deno.test("weir cites the dataset of one row", async () => {
  for (const select of [[], ["--select=Id, DOI"]]) {
    const { output, errors } = await weir(["records", "--sandbox", "--limit=1", ...select]);
    assertStringIncludes(output, "10.25976/weir-aa00");
    assertEquals(links(errors), ["10.25976/weir-aa00"]);
    assert(errors.includes("Use of this data requires citing it:"));
  }
});

Deno.test("weir exits with 130 when it is interrupted before its citations", async () => {
  const stop = new AbortController();
  const { code } = await record({
    line: ["records", "--limit=1"],
    signal: stop.signal,
    answer({ url }) {
      if (url.includes("/Metadata")) stop.abort(new Error("interrupted"));
      return undefined;
    },
  });
  assertEquals(code, 130);
});

Deno.test("weir prints no citations after a download of locations, or with --quiet", async () => {
  for (const line of [["locations"], ["records", "--quiet"]]) {
    const { code, errors } = await weir([...line, "--sandbox", "--limit=2"]);
    assertEquals([code, links(errors)], [0, []]);
  }
});

Deno.test("weir cite says that it cites whole years when a day is given", async () => {
  for (const [date, isDay] of [["2019", false], ["2019-05-15", true]] as const) {
    const { code, errors } = await weir(["cite", "--sandbox", `--to=${date}`]);
    const note = errors.some((line) => line.startsWith("The citations are of whole years"));
    assertEquals([code, note], [0, isDay]);
  }
});

Deno.test("weir cites every dataset that matches when DOI is not a column, and says so", async () => {
  const line = ["records", "--sandbox", "--limit=1", "--select=Id"];
  const filter = ["--filter", "DOI ne '10.25976/weir-cc00'"];
  const { errors } = await weir([...line, ...filter]);
  assertEquals(links(errors), ["10.25976/weir-aa00", "10.25976/weir-bb00", "10.25976/weir-dd00"]);
  assertEquals(
    errors.at(-1),
    "The list may have unneeded citations: all datasets that match the filter are included, because " +
      "DOI is not a column of the output",
  );
});

Deno.test("weir shows three citations and a command for all when there are more", async () => {
  const { errors } = await weir(["records", "--sandbox", "--limit=40"]);
  assertEquals(links(errors), ["10.25976/weir-aa00", "10.25976/weir-bb00", "10.25976/weir-cc00"]);
  assertEquals(
    errors.at(-1),
    "2 more. To print all: weir cite --doi 10.25976/weir-aa00 --doi 10.25976/weir-bb00 " +
      "--doi 10.25976/weir-cc00 --doi 10.25976/weir-dd00 --doi 10.81029/weir-ee00 --sandbox",
  );
});

Deno.test("weir puts the flags of the filter in quotes in the command for all citations", async () => {
  const flags = ["--characteristic", "Temperature, water", "--region", "hub.atlantic"];
  const line = ["records", "--sandbox", "--limit=1", "--select=Id", "--from=1990", ...flags];
  const { errors } = await weir([...line, "--bbox=-180,-90,180,90"]);
  assertStringIncludes(
    errors.at(-2)!,
    "weir cite --from 1990 --characteristic 'Temperature, water' --region hub.atlantic " +
      "--bbox=-180,-90,180,90 --sandbox",
  );
});

/** Runs a command line against a service of `count` datasets with one row each. */
function withDatasets(count: number, ...line: string[]) {
  const dois = Array.from({ length: count }, (_, index) => `10.25976/${index}`);
  return record({
    line,
    answer({ url }) {
      const filter = new URL(url).searchParams.get("$filter") ?? "";
      const value = url.includes("/Metadata")
        // The last dataset has no metadata.
        ? dois.slice(0, -1).filter((DOI) => filter.includes(`'${DOI}'`)).map((DOI) => ({
          DOI,
          DatasetName: DOI,
          Version: "1.0.0",
          Citation: `Dataset ${DOI}`,
          Licence: "none",
        }))
        : dois.map((DOI, Id) => ({ Id, DOI }));
      return Response.json({ value });
    },
  });
}

Deno.test("weir requests citations by DOI, a hundred in one request, and names those without", async () => {
  const line = ["observations", "--limit=1000", "--region=x"];
  const { errors, requests } = await withDatasets(250, ...line);
  const sent = requests.filter((url) => url.startsWith("Metadata"));
  assertEquals(sent.map((url) => url.split("','").length), [100, 100, 50]);
  assert(errors.includes("DataStream has no citation of 10.25976/249"));
  // The DOIs are too many for a command.
  assertEquals(errors.at(-1), "246 more. To print all: weir cite --region x");
});

Deno.test("weir prints the DOIs in the command for all citations when Metadata cannot take the filter", async () => {
  const line = ["observations", "--limit=8", "--unchecked", "--filter=WellID eq 'x'"];
  const { errors } = await withDatasets(8, ...line);
  assertStringIncludes(errors.at(-1)!, "weir cite --doi 10.25976/0 --doi 10.25976/1 ");
  assertStringIncludes(errors.at(-1)!, " --doi 10.25976/7");
});
