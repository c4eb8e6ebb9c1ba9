// Each documented form of flags, values, lists and requests for help is read, and each other one is an error.
import "../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

for (const words of ["-q -n2", "-q -n=2", "-q -n 2", "-q --limit 2", "-qn2", "-qn 2 -o-"]) {
  Deno.test(`run() limits the rows when given ${words}`, async () => {
    const line = ["locations", "--sandbox", "--select=Id", ...words.split(" ")];
    const { code, output, errors } = await weir(line);
    assertEquals([code, output, errors], [0, '"Id"\n1001\n1008\n', []]);
  });
}

Deno.test("run() reads every argument after -- as an operand", async () => {
  assertEquals((await weir(["fields", "--", "records"])).code, 0);
  const environment = { WEIR_SIGNING_SECRET: "a secret of a test, of thirty-two bytes" };
  const { code, errors } = await weir(["sign", "--", "--help"], { environment });
  assertEquals(code, 2);
  assertStringIncludes(errors[0]!, "absolute URL");
});

/** Wrong command lines, and parts of their messages. */
const refused: [line: string[], ...expected: string[]][] = [
  // The form of the line
  [["--version", "records"], "Unexpected argument after --version: see weir help COMMAND"],
  [["-n5", "records"], "Put the command before the flags: weir COMMAND [flags]"],
  [["fields", "records", "help"], 'Unexpected "help": weir fields takes one metadata|'],
  [
    ["records", "--characteristic", "Dissolved", "oxygen"],
    'Unexpected "oxygen": weir records takes only flags; quote a value with spaces',
  ],
  [["sign"], "weir sign needs URL"],
  [["records", "-n1", "--limit=2"], "--limit is given twice"],
  [["records", "-qn"], "--limit needs a value: --limit N"],
  [["records", "--limit", "--", "5"], "--limit needs a value"],
  [["records", "--limit", "--quiet"], "--limit needs a value"],
  [["records", "--limit= "], "--limit needs a value"],
  [["records", "--quiet="], "--quiet takes no value"],
  // Unknown names
  [["help", "recrds"], '"recrds"', 'did you mean "records"?'],
  [["banana"], 'Unknown command "banana": use one of records, observations, locations, metadata, '],
  [["columns"], 'Unknown command "columns": use fields'],
  [
    ["url", "setup"],
    'Unknown resource "setup": use one of metadata, locations, observations, records',
  ],
  [["values", "banana"], 'Unknown field "banana": use one of characteristic, region, media, '],
  [["records", "--Dataset"], 'Unknown flag "--Dataset": use --doi'],
  [["records", "--char=pH"], 'Unknown flag "--char": did you mean "--characteristic"?'],
  [["records", "-limit", "3"], 'Unknown flag "-limit": did you mean "--limit"?'],
  [["records", "--my-api-key=x"], "set DATASTREAM_API_KEY"],
  [["records", "--apikey=x"], "set DATASTREAM_API_KEY, or save the key with weir setup"],
  [["records", "-q💧"], 'Unknown flag "-💧"'],
  [["records", "--=x"], 'Unknown flag "--"'],
  [["records", "--__proto__=1"], 'Unknown flag "--__proto__"'],
  [["cite", "--count"], "use it with records, observations, locations, metadata"],
  // Values
  [["records", "--sandbox", "-n", "-5"], '--limit must be a whole number of at least 0, got "-5"'],
  [["records", "--sandbox", "--top", "many"], "--top must be a whole number from 1 to 10000"],
  [["records", "--sandbox", "--from=2020", "--to=2010"], "--from must not be after --to"],
  [["records", "--sandbox", "--from=2015-02-30"], "--from must be a day such as 2024-05-15"],
  [["records", "--sandbox", "--to=15"], "--to must be a year with four digits, or a day such as"],
  [["locations", "--sandbox", "--from=2015-01-01"], "--from cannot be a day for Locations"],
  [["records", "--sandbox", "--bbox=2,1,1,3"], "below east"],
  [["records", "--sandbox", "--separator=::"], "--separator must be one punctuation mark"],
  [["records", "--sandbox", "--eol=cr"], "must be one of lf, crlf", 'did you mean "crlf"?'],
  [["records", "--sandbox", "--region=a\nb"], "--region has a control character", '"a\\nb"'],
  [
    ["records", "--sandbox", "--location=x"],
    '--location must be a whole number, got "x": weir locations lists the numbers in the column Id',
  ],
  [["records", "--sandbox", "--select=WellID"], "or pass --unchecked, if DataStream accepts it"],
  [["records", "--sandbox", "--tidy", "--select=Id,value"], "omit it: --tidy adds it to each row"],
  [["observations", "--sandbox", "--filter=Latitude gt '5'"], "use --bbox to filter by position"],
  // Formats and files
  [["records", "--sandbox", "--format=CSV"], "--format must be one of csv, ", 'mean "csv"?'],
  [["cite", "--sandbox", "--format=csv"], "text, bibtex, ris, csl-json, json"],
  [
    ["records", "--sandbox", "-qoa.geojson"],
    "GeoJSON is not a format of Records: use one of csv, ",
  ],
  [["records", "--sandbox", "-o=a--b.ods"], 'The extension of "a--b.ods" does not name a format'],
  [["locations", "--sandbox", "--format=geojson", "--select=Id"], "Longitude and Latitude"],
  [
    ["records", "--sandbox", "--format=json", "--bom"],
    "--bom applies to CSV only; the format is json",
  ],
  // Flags that need or exclude others
  [["records", "--sandbox", "--update"], "--update needs --output FILE"],
  [["records", "--sandbox", "--output=a.csv", "--remove-missing"], "needs --update"],
  [["records", "--sandbox", "--force"], "--force needs --output FILE or --cite FILE"],
  [["records", "--sandbox", "--output=a.csv", "--update", "--force"], "pass one of them"],
  [["records", "--sandbox", "--count", "--output", "help"], "remove --output"],
  [["records", "--sandbox", "--qa"], "--qa and --sandbox select two services"],
  [["values", "unit"], "The values of unit are known only with --live"],
  [["values", "media", "--characteristic=pH"], "--characteristic needs --live"],
  [
    ["values", "region", "--live", "--sandbox"],
    "No row has a region: --live is for the other fields",
  ],
  // Key, secret and service
  [
    ["records"],
    "DATASTREAM_API_KEY",
    "weir setup",
    "https://github.com/datastreamapp/api-docs/blob/main/docs/README.md",
  ],
  [["sign", "https://weir.example/Records.csv"], "WEIR_SIGNING_SECRET"],
  [
    ["url", "records", "--base-url=ftp://example.org"],
    "--base-url (or DATASTREAM_BASE_URL) must begin",
  ],
];
for (const [line, ...expected] of refused) {
  Deno.test(`run() returns 2 and points to the help when given ${line.join(" ")}`, async () => {
    const { code, output, errors } = await weir(line);
    assertEquals([code, output, errors.length], [2, "", 2]);
    for (const part of expected) assertStringIncludes(errors[0]!, part);
    assertMatch(errors[1]!, /^For help, run weir (\w+ )?--help$/);
  });
}

Deno.test("run() does not print the value when a flag for a key is unknown", async () => {
  for (const key of ["--api-key=of-a-test", "-kof-a-test", "--key=of-a-test"]) {
    for (const line of [["records", key], [key, "records"], [key]]) {
      const { code, errors } = await weir(line);
      assertEquals([code, errors.join().includes("of-a-test")], [2, false]);
    }
  }
});

const DOIS = "DOI in ('10.25976/weir-aa00','10.25976/weir-bb00')";
const lists: [flag: string, input: string, filter: string][] = [
  ["doi", "10.25976/weir-aa00 \r\n\r\n https://doi.org/10.25976/WEIR-bb00\r\n", DOIS],
  ["doi", "\uFEFFDOI\n10.25976/weir-aa00\n10.25976/weir-bb00", DOIS],
  ["doi", 'Id;"DOI";X\n1;10.25976/weir-aa00;"a;\nb"\n2;10.25976/weir-bb00;', DOIS],
  ["region", "Name,RegionId\nA,hub.pacific\n", "RegionId eq 'hub.pacific'"],
  ["location", "Id,ResultValue,LocationId\n7,1,1001\n8,2,1008\n", "LocationId in (1001,1008)"],
  ["location", 'Id,Name\n1001,"A, b"\n', "LocationId eq 1001"],
  ["location", '"Id","MonitoringLocationID"\n1001,A\n', "LocationId eq 1001"],
  ["characteristic", "characteristic\tresults\npH\t3\n", "CharacteristicName eq 'pH'"],
  ["characteristic", 'pH\t3\n"6"" pipe"\n6" pipe\n', `CharacteristicName in ('pH','6" pipe')`],
];
for (const [flag, input, filter] of lists) {
  Deno.test(`run() reads --${flag} @- from ${JSON.stringify(input)}`, async () => {
    const { output, errors } = await weir(["url", "observations", `--${flag}=@-`], { input });
    assertEquals(new URL(output).searchParams.get("$filter"), filter, errors.join());
  });
}

Deno.test("run() rejects a list without values, or without the column of its flag", async () => {
  const messageOf = async (flag: string, input: string) =>
    (await weir(["records", "--sandbox", flag], { input })).errors[0];
  assertEquals(await messageOf("--doi=@-", " \n"), "--doi @- has no values");
  assertEquals(
    await messageOf("--location=@-", "Id,ResultValue\n1,2\n"),
    "--location needs the column LocationId, and the file has Id, ResultValue: " +
      "name a file with that column, or with one value per line",
  );
});

Deno.test("run() names the flag of a list that is too long", async () => {
  const input = Array.from({ length: 2_000 }, (_, index) => `region.${index}`).join("\n");
  const { code, errors } = await weir(["records", "--sandbox", "--region=@-"], { input });
  assertEquals([code, errors[0]!.startsWith("--region has ")], [2, true], errors[0]);
});
