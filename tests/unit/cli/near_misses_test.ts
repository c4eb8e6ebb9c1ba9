// A wrong name on the command line is an error with a hint.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { fieldsOf, fileFormatsOf } from "../../helpers/resources.ts";
import { weir } from "../../helpers/run_weir.ts";

const hints: [line: string[], message: string][] = [
  [["recrds"], 'Unknown command "recrds": did you mean "records"?'],
  [
    ["banana"],
    'Unknown command "banana": use one of records, observations, locations, metadata, verify, cite, ' +
    "values, summary, fields, url, sign, serve, completion, setup",
  ],
  [["fields", "datasets"], 'Unknown resource "datasets": use metadata'],
  [
    ["url", "setup"],
    'Unknown resource "setup": use one of metadata, locations, observations, records',
  ],
  [["columns"], 'Unknown command "columns": use fields'],
  [["records", "--json"], 'Unknown flag "--json": use --format'],
  [["records", "--Dataset"], 'Unknown flag "--Dataset": use --doi'],
  [["records", "--char=pH"], 'Unknown flag "--char": did you mean "--characteristic"?'],
  [
    ["records", "--apikey=x"],
    'Unknown flag "--apikey": set DATASTREAM_API_KEY, or save the key with weir setup',
  ],
  [
    ["cite", "--count"],
    "--count is not for cite: use it with records, observations, locations, metadata",
  ],
  [["records", "-limit", "3"], 'Unknown flag "-limit": did you mean "--limit"?'],
  [
    ["records", "--sandbox", "--from=2015-02-30"],
    '--from must be a day such as 2024-05-15, got "2015-02-30"',
  ],
  [
    ["locations", "--sandbox", "--from=2015-01-01"],
    "--from cannot be a day for Locations: filter by a year, or query Observations or Records",
  ],
  [
    ["records", "--sandbox", "--tidy", "--select=Id,value"],
    '--select includes "value", which is not a field of Records: omit it: --tidy adds it to each row',
  ],
  [
    ["records", "--sandbox", "--to=15"],
    '--to must be a year with four digits, or a day such as 2024-05-15, got "15"',
  ],
  [
    ["records", "--sandbox", "--format=json", "--bom"],
    "--bom applies to CSV only; the format is json: omit it",
  ],
  [
    ["records", "--sandbox", "--format=CSV"],
    `--format must be one of ${
      fileFormatsOf("Records").join(", ")
    }, got "CSV": did you mean "csv"?`,
  ],
  [
    ["records", "--sandbox", "--output=a.geojson"],
    "GeoJSON is only for Locations: use one of csv, ndjson, json, csv.gz, parquet for Records",
  ],
  [
    ["records", "--sandbox", "--output=out.txt"],
    'The extension of "out.txt" does not name a format: pass --format with one of ' +
    fileFormatsOf("Records").join(", "),
  ],
  [
    ["records", "--sandbox", "--separator=::"],
    '--separator must be one punctuation mark such as "," or ";", or a tab, got "::"',
  ],
  [
    ["records", "--sandbox", "--select=WellID"],
    '--select includes "WellID", which is not a field of Records: use one of ' +
    `${fieldsOf("Records").join(", ")} (or pass --unchecked, if DataStream accepts it)`,
  ],
  [
    ["observations", "--sandbox", "--filter=Latitude gt '5'"],
    '--filter uses "Latitude" at character 1, which is not a filter field of Observations: use ' +
    "--bbox to filter by position",
  ],
  [
    ["url", "records", "--base-url=ftp://example.org"],
    '--base-url (or DATASTREAM_BASE_URL) must begin with https://, got "ftp://example.org": http:// ' +
    "is accepted for loopback addresses, and for other hosts without the API key",
  ],
];
for (const [line, message] of hints) {
  Deno.test(`weir prints a hint when called with ${line.join(" ")}`, async () => {
    const { code, errors } = await weir(line);
    assertEquals([code, errors[0]], [2, message]);
  });
}
