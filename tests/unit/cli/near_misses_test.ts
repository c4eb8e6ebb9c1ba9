// Hints for names that the command line does not have.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { fieldNames } from "../../../src/odata/resources.ts";
import { weir } from "../../helpers/run_weir.ts";

const FIELDS_OF_ALL =
  "DOI, LocationId, ActivityMediaName, ActivityGroupType, CharacteristicName, " +
  "MonitoringLocationType, ActivityStartYear, ActivityStartDateYear, RegionId";

const hints: [line: string[], message: string][] = [
  // Commands and resources.
  [["recrds"], 'There is no command "recrds": did you mean "records"?'],
  [
    ["banana"],
    'There is no command "banana": use one of records, observations, locations, metadata, cite, ' +
    "fields, url, sign, setup",
  ],
  [["stations"], 'There is no command "stations": use locations'],
  [["fields", "datasets"], 'There is no resource "datasets": use metadata'],
  [
    ["url", "setup"],
    'There is no resource "setup": use one of metadata, locations, observations, records',
  ],
  // Flags.
  [["records", "--banana"], 'There is no flag "--banana"'],
  [["records", "-x"], 'There is no flag "-x"'],
  [["records", "--constructor=x"], 'There is no flag "--constructor"'],
  [["records", "--json"], 'There is no flag "--json": use --format json'],
  [["records", "--jsonl"], 'There is no flag "--jsonl": use --format ndjson'],
  [["cite", "--json"], 'There is no flag "--json": use --format json'],
  [["fields", "records", "--json"], 'There is no flag "--json"'],
  [["records", "--columns=Id"], 'There is no flag "--columns": use --select'],
  [["records", "--separater=;"], 'There is no flag "--separater": did you mean "--separator"?'],
  [["records", "--char=pH"], 'There is no flag "--char": did you mean "--characteristic"?'],
  [
    ["records", "--apikey=x"],
    'There is no flag "--apikey": set DATASTREAM_API_KEY, or save the key with weir setup',
  ],
  [
    ["locations", "--partition=never"],
    'There is no flag "--partition": use it with weir records or weir observations',
  ],
  // Formats.
  [
    ["records", "--sandbox", "--format=xml"],
    'There is no format "xml": use one of csv, ndjson, json, geojson',
  ],
  [["records", "--sandbox", "--format=cvs"], 'There is no format "cvs": did you mean "csv"?'],
  [["records", "--sandbox", "--format=xlsx"], 'There is no format "xlsx": use csv with --bom'],
  // Fields and names to filter by, in the words of the command line.
  [
    ["records", "--sandbox", "--select=WellID"],
    '--select includes "WellID", which is not a field of Records: use one of ' +
    `${fieldNames("Records").join(", ")} (or pass --unchecked, if the service accepts it)`,
  ],
  [
    ["records", "--sandbox", "--select=LocationId"],
    '--select includes "LocationId", which is not a field of Records: use Observations, which has ' +
    "this field (MonitoringLocationID is another identifier) (or pass --unchecked, if the service " +
    "accepts it)",
  ],
  [
    ["records", "--sandbox", "--filter=WellID eq '5'"],
    '--filter uses "WellID" at character 1, which is not a filter field of Records: use one of ' +
    `${FIELDS_OF_ALL} (or pass --unchecked, if the service accepts it)`,
  ],
  [
    ["observations", "--sandbox", "--filter=Latitude gt '5'"],
    '--filter uses "Latitude" at character 1, which is not a filter field of Observations: use ' +
    "--bbox to filter by position (or pass --unchecked, if the service accepts it)",
  ],
  [
    ["cite", "--sandbox", "--filter=Wells eq '5'"],
    '--filter uses "Wells" at character 1, which is not a filter field of Metadata: use one of ' +
    `${FIELDS_OF_ALL}, Latitude, Longitude, DatasetName, CreateTimestamp`,
  ],
  // Options of the client that are flags here.
  [
    ["url", "records", "--base-url=ftp://example.org"],
    "--base-url (or DATASTREAM_BASE_URL) must begin with https:// (http:// with a key is for " +
    'loopback alone), got "ftp://example.org"',
  ],
];
for (const [line, message] of hints) {
  Deno.test(`weir prints a hint when called with ${line.join(" ")}`, async () => {
    const { code, errors } = await weir(line);
    assertEquals([code, errors[0]], [2, message]);
  });
}

Deno.test("weir takes --unchecked beside --bbox when a resource has positions of its own", async () => {
  const line = ["url", "locations", "--filter=WellID eq 'x'", "--bbox=-64,46,-62,47"];
  const { code, output } = await weir([...line, "--unchecked"]);
  assertEquals(code, 0);
  assertEquals(
    new URL(output).searchParams.get("$filter"),
    "WellID eq 'x' and Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and " +
      "Latitude lt '47'",
  );
  assertEquals((await weir(line)).code, 2);
});
