// Each documented form of flags, values, lists and requests for help is read, and each other one is an error.
import "../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const spelled: [row: string, spellings: string[][]][] = [
  ["limits the rows", [["-q", "-n2"], ["-q", "-n=2"], ["-q", "-n", "2"], ["-q", "--limit", "2"]]],
  ["reads each letter", [["-qn2"], ["-q", "-qn", "2"], ["-qn2", "-o-"], ["-qn2", "-o", "-"]]],
];
for (const [does, spellings] of spelled) {
  for (const flags of spellings) {
    Deno.test(`run() ${does} when given ${flags.join(" ")}`, async () => {
      const line = ["locations", "--sandbox", "--select=Id", ...flags];
      const { code, output, errors } = await weir(line);
      assertEquals([code, output, errors], [0, "Id\n1001\n1008\n", []]);
    });
  }
}

for (const output of [["-oz.xlsx"], ["-o=z.xlsx"], ["-qoz.xlsx"], ["-o", "z.xlsx"]]) {
  Deno.test(`run() reads z.xlsx as the file name when given ${output.join(" ")}`, async () => {
    const { code, errors } = await weir(["records", "--sandbox", ...output]);
    assertEquals([code, errors[0]!.includes('"z.xlsx"')], [2, true]);
  });
}

Deno.test("run() reads every argument after -- as an operand", async () => {
  assertEquals((await weir(["fields", "--", "records"])).code, 0);
  const environment = { WEIR_SIGNING_SECRET: "a secret of a test, of thirty-two bytes" };
  const { code, errors } = await weir(["sign", "--", "--help"], { environment });
  assertEquals(code, 2);
  assertStringIncludes(errors[0]!, "absolute URL");
});

const refused: [line: string[], ...expected: string[]][] = [
  [["--version", "records"], "Unexpected argument after --version: see weir help COMMAND"],
  [["--help", "records"], "Unexpected argument after --help"],
  [["help", "recrds"], '"recrds"', 'did you mean "records"?'],
  [["fields", "records", "help"], 'Unexpected "help": weir fields takes one metadata|'],
  [
    ["sign", "https://x/?=DOI", "eq"],
    'Unexpected "eq": weir sign takes one URL (the download URL,',
  ],
  [
    ["records", "--characteristic", "Dissolved", "oxygen"],
    'Unexpected "oxygen": weir records takes only flags; quote a value with spaces',
  ],
  [["-n5", "records"], "Put the command before the flags: weir COMMAND [flags]"],
  [["records", "-q💧"], 'Unknown flag "-💧"'],
  [["records", "-n1", "--limit=2"], "--limit is given twice"],
  [["records", "-qn"], "--limit needs a value: --limit N"],
  [["records", "--limit", "--", "5"], "--limit needs a value"],
  [["records", "--sandbox", "-n", "-5"], '--limit must be a whole number of at least 0, got "-5"'],
  [["records", "--=x"], 'Unknown flag "--"'],
  [["records", "---limit"], 'Unknown flag "---limit"'],
  [["records", "--__proto__=1"], 'Unknown flag "--__proto__"'],
  [["fields"], "metadata|locations|observations|records"],
  [["url", "toString"], "Unknown resource"],
  [["sign"], "weir sign needs URL"],
  [["records", "--sandbox", "--top", "many"], "--top must be a whole number from 1 to 10000"],
  [["records", "--sandbox", "--from=2020", "--to=2010"], "--from must not be after --to"],
  [["locations", "--sandbox", "--format=geojson", "--select=Id"], "Longitude and Latitude"],
  [["records", "--sandbox", "--resume"], "--resume needs --output FILE"],
  [["records", "--sandbox", "--force"], "--force needs --output FILE or --cite FILE"],
  [["records", "--sandbox", "--output=a.csv", "--resume", "--force"], "pass one of them"],
  [["records", "--sandbox", "--count", "--output", "help"], "remove --output"],
  [["records", "--sandbox", "--count", "--limit=3"], "remove --limit"],
  [["records", "--sandbox", "--qa"], "--qa and --sandbox select two services"],
  [["records", "--sandbox", "--bbox=2,1,1,3"], "below east"],
  [["cite", "--sandbox", "--format=csv"], "text, bibtex, ris, csl-json, json"],
  [
    ["records"],
    "DATASTREAM_API_KEY",
    "weir setup",
    "https://github.com/datastreamapp/api-docs/blob/main/docs/README.md",
  ],
  [["sign", "https://weir.example/Records.csv"], "WEIR_SIGNING_SECRET"],
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

for (
  const [name, input] of [
    [
      "lines with CRLF and spaces",
      "10.25976/weir-aa00 \r\n\r\n https://doi.org/10.25976/WEIR-bb00\r\n",
    ],
    ["a byte order mark and a header", "\uFEFFDOI\n10.25976/weir-aa00\n10.25976/weir-bb00"],
    ["columns of CSV", 'DOI,Name\r\n10.25976/weir-aa00,"A, b"\r\n"10.25976/weir-bb00","c"\r\n'],
    [
      "the column between others",
      'Id;"DOI";X\n1;10.25976/weir-aa00;"a;\nb"\n2;10.25976/weir-bb00;',
    ],
    ["the column after a tab", "Id\tDOI\n1\t10.25976/weir-aa00\n2\t10.25976/weir-bb00\n"],
    ["other columns after a tab", "10.25976/weir-aa00\tone\n10.25976/weir-bb00\ttwo\n"],
  ]
) {
  Deno.test(`run() reads a list from standard input when it has ${name}`, async () => {
    const { code, output } = await weir(["url", "records", "--doi", "@-"], { input });
    assertEquals(code, 0);
    assertEquals(
      new URL(output).searchParams.get("$filter"),
      "DOI in ('10.25976/weir-aa00','10.25976/weir-bb00')",
    );
  });
}

for (
  const [flag, input, filter] of [
    ["region", "Name,RegionId\nA,hub.pacific\n", "RegionId eq 'hub.pacific'"],
    ["location", "Id,ResultValue,LocationId\n7,1,1001\n8,2,1008\n", "LocationId in (1001,1008)"],
    ["location", 'Id,Name\n1001,"A, b"\n', "LocationId eq 1001"],
    ["characteristic", "characteristic\tresults\npH\t3\n", "CharacteristicName eq 'pH'"],
    ["characteristic", 'pH\t3\n"6"" pipe"\n6" pipe\n', `CharacteristicName in ('pH','6" pipe')`],
    ["characteristic", '"A, b"\npH\n', "CharacteristicName in ('A, b','pH')"],
  ] as const
) {
  Deno.test(`run() reads --${flag} @- from ${JSON.stringify(input)}`, async () => {
    const { output, errors } = await weir(["url", "observations", `--${flag}=@-`], { input });
    assertEquals(new URL(output).searchParams.get("$filter"), filter, errors.join());
  });
}

for (
  const [flag, input, message] of [
    ["--doi=@-", " \n", "--doi @- has no values"],
    [
      "--location=@-",
      "Id,ResultValue\n1,2\n",
      "--location needs the column LocationId, and the file has Id, ResultValue: " +
      "name a file with that column, or with one value per line",
    ],
    ["--region=a\nb", "", '--region has a control character: remove it from "a\\nb"'],
    [
      "--location=x",
      "",
      '--location must be a whole number, got "x": weir locations lists the numbers in the column Id',
    ],
    ["--eol=cr", "", '--eol must be one of lf, crlf, got "cr": did you mean "crlf"?'],
  ] as const
) {
  Deno.test(`run() rejects ${JSON.stringify(flag)}`, async () => {
    const { code, errors } = await weir(["records", "--sandbox", flag], { input });
    assertEquals([code, errors[0]], [2, message]);
  });
}

Deno.test("run() names the flag of a list that is too long", async () => {
  const input = Array.from({ length: 2_000 }, (_, index) => `region.${index}`).join("\n");
  const { code, errors } = await weir(["records", "--sandbox", "--region=@-"], { input });
  assertEquals([code, errors[0]!.startsWith("--region has ")], [2, true], errors[0]);
});
