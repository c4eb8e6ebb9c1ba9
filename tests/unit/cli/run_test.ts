// Command lines that need no file; those that do are tested as processes.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { fieldNames, RESOURCES } from "../../../src/odata/resources.ts";
import { signUrl, verifyUrl } from "../../../src/signing/signed_url.ts";
import { VERSION } from "../../../src/version.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { ask } from "../../helpers/sandbox.ts";
import { screenOf } from "../../helpers/screen.ts";
import { weir } from "../../helpers/run_weir.ts";

const sandbox = ["--sandbox", "--quiet"];

for (
  const [command, resource] of [
    ["metadata", "Metadata"],
    ["locations", "Locations"],
    ["observations", "Observations"],
    ["records", "Records"],
  ] as const
) {
  Deno.test(`weir ${command} writes CSV to standard output`, async () => {
    const line = [command, ...sandbox, "--limit", "30", "--select", "Id, DOI"];
    const { code, output, errors } = await weir(line);
    assertEquals([code, errors], [0, []]);
    const [header, ...rows] = readCsv(output);
    const wanted: Record<string, unknown>[] =
      (await (await ask().get(resource, { $select: "Id,DOI", $top: 30 })).json()).value;
    assertEquals(header, ["Id", "DOI"]);
    assertEquals(rows, wanted.map(({ Id, DOI }) => [String(Id), String(DOI)]));
  });
}

Deno.test("weir writes each format", async () => {
  const of = async (format: string) =>
    (await weir(["locations", ...sandbox, "--limit=3", `--format=${format}`])).output;
  assertEquals(readCsv(await of("csv")).length, 4);
  assertEquals((await of("ndjson")).trim().split("\n").map((line) => JSON.parse(line)).length, 3);
  assertEquals(JSON.parse(await of("json")).value.length, 3);
  assertEquals(JSON.parse(await of("geojson")).features.length, 3);
});

Deno.test("weir takes the options of CSV", async () => {
  const line = ["metadata", ...sandbox, "--select", "DOI,DatasetName"];
  const { output } = await weir([...line, "--separator", ";", "--bom", "--escape-formulas"]);
  assert(output.startsWith("\ufeffDOI;DatasetName\r\n"));
  assertStringIncludes(output, ";'=Synthetic coastal");
  const bare = await weir([...line, "--no-header", "--separator=tab"]);
  assert(bare.output.startsWith("10.25976/weir-aa00\t"));
});

Deno.test("short filters combine with --filter, and with one another", async () => {
  const { output } = await weir([
    "url",
    "records",
    ...["--filter", "MonitoringLocationType eq 'Lake/Pond'"],
    ...["--doi", "10.25976/a", "--doi=10.25976/b"],
    ...["--characteristic", "Temperature, water", "--region=admin.4.ca.pe"],
    ...["--from", "2015", "--to", "2020", "--select=Id", "--top=500"],
  ]);
  const { searchParams } = new URL(output);
  assertEquals(
    searchParams.get("$filter"),
    "MonitoringLocationType eq 'Lake/Pond' and DOI in ('10.25976/a','10.25976/b') and " +
      "RegionId eq 'admin.4.ca.pe' and CharacteristicName eq 'Temperature, water' and " +
      "ActivityStartYear gte 2015 and ActivityStartYear lte 2020",
  );
  assertEquals([searchParams.get("$select"), searchParams.get("$top")], ["Id", "500"]);
});

Deno.test("a filter of another grammar stands in parentheses beside others", async () => {
  const line = [
    "url",
    "records",
    "--unchecked",
    "--filter",
    "A eq 1 or B eq 2",
    "--doi=10.25976/a",
  ];
  const { output } = await weir(line);
  assertEquals(
    new URL(output).searchParams.get("$filter"),
    "(A eq 1 or B eq 2) and DOI eq '10.25976/a'",
  );
});

for (const bbox of [["--bbox=-64,46,-62,47"], ["--bbox", "-64,46,-62,47"]]) {
  Deno.test(`${bbox.join(" ")} is a box, of every resource`, async () => {
    const countOf = async (command: string) =>
      Number((await weir([command, "--sandbox", ...bbox, "--count"])).output);
    const inside =
      "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'";
    for (const resource of ["Locations", "Metadata"] as const) {
      assertEquals(await countOf(resource.toLowerCase()), await ask().count(resource, inside));
    }
    const records = await countOf("records");
    assert(records > 0 && records < 40_000);
    assertEquals(await countOf("observations"), records);
  });
}

Deno.test("weir --count prints a number, and asks for no rows", async () => {
  const { code, output, errors } = await weir(["records", "--sandbox", "--count"]);
  assertEquals([code, output, errors], [0, "40000\n", []]);
});

Deno.test("weir url prints where a query goes, without a key", async () => {
  const of = async (...more: string[]) => (await weir(["url", "metadata", ...more])).output.trim();
  assertEquals(await of(), "https://api.datastream.org/v1/odata/v4/Metadata?%24top=100");
  assertMatch(await of("--qa"), /^https:\/\/api\.qa\.datastream\.org\//);
  assertMatch(
    await of("--base-url", "https://a.example/v1"),
    /^https:\/\/a\.example\/v1\/Metadata/,
  );
});

Deno.test("weir takes the root address of the environment, too", async () => {
  const environment = { DATASTREAM_BASE_URL: "https://b.example/v1" };
  const { output } = await weir(["url", "metadata"], { environment });
  assertMatch(output, /^https:\/\/b\.example\/v1\/Metadata/);
});

Deno.test("weir fields prints every field and every name to filter by", async () => {
  for (const command of ["metadata", "locations", "observations", "records"]) {
    const { code, output } = await weir(["fields", command]);
    const resource = (command[0]!.toUpperCase() + command.slice(1)) as "Records";
    const [selected = "", filtered = ""] = output.split("and be filtered by");
    for (const name of fieldNames(resource)) assertMatch(selected, new RegExp(`^  ${name} `, "m"));
    for (const name of RESOURCES[resource].filters) {
      assertMatch(filtered, new RegExp(`^  ${name} `, "m"));
    }
    assertEquals([code, output.includes("undefined")], [0, false]);
  }
});

Deno.test("weir cite prints how to cite, as text or JSON", async () => {
  const line = ["cite", "--sandbox", "--doi", "10.25976/weir-bb00"];
  const { output } = await weir(line);
  assertMatch(output, /^Réseau .*\nLicence: https:.*\nhttps:\/\/doi\.org\/10\.25976\/weir-bb00\n$/);
  const [citation, ...more] = JSON.parse((await weir([...line, "--format=json"])).output);
  assertEquals([citation.doi, more], ["10.25976/weir-bb00", []]);
});

Deno.test("a download of records tells how to cite them, one of locations does not", async () => {
  const lineOf = (
    command: string,
  ) => [command, "--sandbox", "--limit=2", "--doi=10.25976/weir-aa00"];
  for (const command of ["records", "observations"]) {
    const { errors } = await weir(lineOf(command));
    assertStringIncludes(
      errors.join("\n"),
      "requires citing it:\nWeir Sandbox",
    );
  }
  assertEquals((await weir(lineOf("locations"))).errors.join().includes("citing"), false);
  assertEquals((await weir([...lineOf("records"), "--quiet"])).errors, []);
});

const secret = "a secret of a test, of thirty-two bytes";
const target = "https://weir.example/Records.csv?$filter=DOI eq 'x'";

Deno.test("a DOI is taken as its link, too, and letters stand for flags", async () => {
  const urlOf = async (doi: string) => (await weir(["url", "records", "--doi", doi])).output;
  for (
    const doi of ["https://doi.org/10.25976/a", "doi:10.25976/a", "http://dx.doi.org/10.25976/a"]
  ) {
    assertEquals(await urlOf(doi), await urlOf("10.25976/a"));
  }
  const { output } = await weir([
    "locations",
    "--sandbox",
    "-q",
    "-n",
    "2",
    "-o",
    "-",
    "--select=Id",
  ]);
  assertEquals(output, "Id\r\n1001\r\n1008\r\n");
  assertEquals((await weir(["records", "-h"])).output, (await weir(["records", "--help"])).output);
});

Deno.test("a download without rows says so, whatever is quiet", async () => {
  const line = ["records", "--sandbox", "--quiet", "--characteristic=ph", "--select=Id"];
  const { code, output, errors } = await weir(line);
  assertEquals([code, output, errors[0]], [0, "Id\r\n", "No row matches the filter"]);
});

Deno.test("weir sign signs a URL for so long", async () => {
  const environment = { WEIR_SIGNING_SECRET: secret };
  const { code, output } = await weir(["sign", target, "--expires", "2h"], { environment });
  const signed = new URL(output.trim());
  const expires = Number(signed.searchParams.get("expires"));
  const left = expires - Date.now() / 1000;
  assert(code === 0 && left > 7_000 && left <= 7_200);
  assertEquals(await verifyUrl(signed, secret, Date.now()), "valid");
  assertEquals(signed.href, await signUrl(target, { secret, expires }));
  const dated = await weir(["sign", target, "--expires=2999-01-31"], { environment });
  const at = Date.parse("2999-01-31T00:00:00Z") / 1000;
  assertEquals(new URL(dated.output).searchParams.get("expires"), String(at));
});

Deno.test("weir --help and --version answer without a command, and weir alone helps", async () => {
  for (const line of [["--help"], ["-h"], ["help"], []]) {
    const { code, output, errors } = await weir(line);
    assertEquals([code, errors], [0, []]);
    for (const command of Object.keys(COMMANDS)) assertStringIncludes(output, `  ${command} `);
    assertStringIncludes(output, "DATASTREAM_API_KEY");
  }
  for (const line of [["--version"], ["-V"]]) {
    assertEquals((await weir(line)).output, `${VERSION}\n`);
  }
});

for (const [command, { flags, examples }] of Object.entries(COMMANDS)) {
  Deno.test(`weir ${command} --help names every flag, and examples`, async () => {
    const { code, output, errors } = await weir([command, "--help"]);
    assertEquals([code, errors], [0, []]);
    for (const flag of Object.keys(flags)) {
      assertMatch(output, new RegExp(`^  (-\\w, )?--${flag}\\b`, "m"));
    }
    for (const example of examples) assertStringIncludes(output, example);
    if ("top" in flags) assertStringIncludes(output, "not the number of rows, that is --limit");
    assert(output.split("\n").every((text) => text.length <= 120));
  });
}

const misused: [line: string[], ...said: string[]][] = [
  [["recrds"], '"recrds"', 'did you mean "records"?'],
  [["--records"], "a command comes first"],
  [["--help", "records"], 'got "records"'],
  [["records", "more"], 'flags alone, got "more"', "in quotes"],
  [["records", "--filter", "DOI", "eq", "x"], 'got "eq"', "in quotes"],
  [["records", "--api-key=x"], "set DATASTREAM_API_KEY, or save the key with weir setup"],
  [["fields"], "metadata|locations|observations|records"],
  [["fields", "record"], 'did you mean "records"?'],
  [["url", "toString"], "no resource"],
  [["sign"], "weir sign wants URL"],
  [["records", "--fliter", "x"], '"--fliter"', 'did you mean "--filter"?'],
  [["records", "-x"], '"-x"'],
  [["locations", "--partition=never"], '"--partition"'],
  [["records", "--top"], "--top wants a value: --top N"],
  [["records", "--select="], "--select wants a value"],
  [["records", "--select", "--top=5"], "--select wants a value"],
  [["records", "--quiet=yes"], "--quiet takes no value"],
  [["records", "--select=Id", "--select", "DOI"], "--select is given twice"],
  [["records", "--sandbox", "--top", "many"], "--top wants a whole number"],
  [["records", "--sandbox", "--top", "0"], "1 to 10000"],
  [["records", "--sandbox", "--limit=-1"], "--limit wants a whole number"],
  [["records", "--sandbox", "--from=soon"], "--from wants a whole number"],
  [["records", "--sandbox", "--from=15"], "a year of four digits"],
  [["records", "--sandbox", "--from=2020", "--to=2010"], "--from is after --to"],
  [["records", "--sandbox", "--partition=half"], "auto, never, location, year"],
  [["records", "--sandbox", "--format=xml"], "no format"],
  [["records", "--sandbox", "--format=geojson"], "of locations alone"],
  [["locations", "--sandbox", "--format=geojson", "--select=Id"], "Longitude and Latitude"],
  [["records", "--sandbox", "--output=a.xlsx"], "pass --format with one of csv"],
  [["records", "--sandbox", "--format=json", "--bom"], "do not go with json"],
  [["records", "--sandbox", "--separator=xx"], "must be one punctuation mark"],
  [["records", "--sandbox", "--resume"], "name it with --output"],
  [["records", "--sandbox", "--force"], "name it with --output"],
  [["records", "--sandbox", "--output=a.csv", "--resume", "--force"], "pass one of them"],
  [["records", "--sandbox", "--count", "--output=a.csv"], "leave --output out"],
  [["records", "--sandbox", "--output=a.csv", "--cite=a.csv"], "are two files"],
  [["records", "--sandbox", "--count", "--limit=3"], "leave --limit out"],
  [["records", "--sandbox", "--qa"], "--qa and --sandbox are two services"],
  [["records", "--sandbox", "--bbox=1,2,3"], "--bbox is west,south,east,north"],
  [["records", "--sandbox", "--bbox=2,1,1,3"], "below east"],
  [["records", "--sandbox", "--select", "LocationId"], '"LocationId"'],
  [["records", "--sandbox", "--filter", "DOI ge 'x'"], 'use "gte"'],
  [["locations", "--sandbox", "--filter", "Nam eq 'x'"], 'did you mean "Name"?'],
  [["cite", "--sandbox", "--format=csv"], "txt or json"],
  [["cite", "--sandbox", "--filter=Name eq 'x'"], '"Name"'],
  [["records"], "DATASTREAM_API_KEY", "weir setup", "https://github.com/datastreamapp/api-docs"],
  [["cite"], "DATASTREAM_API_KEY"],
  [["sign", target], "WEIR_SIGNING_SECRET"],
];
for (const [line, ...said] of misused) {
  Deno.test(`weir ${line.join(" ")} is a wrong command line: 2, with help`, async () => {
    const { code, output, errors } = await weir(line);
    assertEquals([code, output, errors.length], [2, "", 2]);
    for (const part of said) assertStringIncludes(errors[0]!, part);
    assertMatch(errors[1]!, /^weir (\w+ )?--help says what there is$/);
  });
}

for (
  const [line, said] of [
    [["sign", target], "at least 32 bytes, got 5"],
    [["sign", "/Records.csv"], "absolute URL"],
    [["sign", target, "--expires=soon"], "--expires is a date"],
    [["sign", target, "--expires=2020-01-01"], "in the future"],
  ] as const
) {
  Deno.test(`weir ${line.join(" ")} says what is wrong, and not the secret`, async () => {
    const WEIR_SIGNING_SECRET = said.includes("got 5") ? "short" : secret;
    const { code, errors } = await weir([...line], { environment: { WEIR_SIGNING_SECRET } });
    assertEquals([code, errors.join().includes(WEIR_SIGNING_SECRET)], [2, false]);
    assertStringIncludes(errors[0]!, said);
  });
}

Deno.test("weir reads the key from DATASTREAM_API_KEY, and shows it nowhere", async () => {
  const line = ["records", "--base-url", "http://127.0.0.1:4711"];
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  // Without the permission to reach it, which these tests do not have.
  const { code, errors } = await weir(line, { environment });
  assertEquals([code, errors.join().includes("secret-key")], [1, false]);
  const unencrypted = await weir(["records", "--base-url", "http://example.org"], { environment });
  assertEquals([unencrypted.code, unencrypted.errors.join().includes("secret-key")], [2, false]);
});

Deno.test("weir setup takes no key that is none, and does not show it", async () => {
  for (const given of ["", "no key", "clé"]) {
    const { code, output, errors } = await weir(["setup"], { secret: given });
    assertEquals([code, output], [2, ""]);
    assertStringIncludes(errors[1]!, "(not shown)");
    assertEquals(given !== "" && errors.join().includes(given), false);
  }
});

Deno.test("weir setup without a folder of one's own says which variable to set", async () => {
  const { code, errors } = await weir(["setup"], { secret: "key-of-a-test" });
  assertEquals([code, errors.join().includes("key-of-a-test")], [2, false]);
  assertStringIncludes(errors.join(), "No place for the key: set HOME or XDG_CONFIG_HOME");
});

for (const rate of ["0", "-1", "fast"]) {
  Deno.test(`a pace of ${rate} is a wrong environment: 2, with its variable`, async () => {
    const environment = { WEIR_REQUESTS_PER_SECOND: rate };
    const { code, errors } = await weir(["records", "--sandbox"], { environment });
    assertEquals(code, 2);
    const said = `WEIR_REQUESTS_PER_SECOND must be a number above 0, got "${rate}"`;
    assertStringIncludes(errors[0]!, said);
  });
}

Deno.test("run() adds the hint of the runtime when the connection fails", async () => {
  // These tests may not connect.
  const line = ["records", "--base-url", "http://127.0.0.1:4711"];
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  const of = (hint?: string) => weir(line, { environment, networkHint: () => hint });
  const [without, withHint] = [await of(), await of("use another runtime")];
  assertEquals(without.errors.length, 1);
  assertEquals(withHint.errors, [...without.errors, "use another runtime"]);
  const missing = ["records", "--sandbox", "--filter", "LocationId eq 'x'"];
  const { errors } = await weir(missing, { networkHint: () => "use another runtime" });
  assertEquals(errors.length, 1);
});

Deno.test("a fault is one line and 1", async () => {
  const filter = "LocationId eq 'x'";
  const { code, output, errors } = await weir(["records", "--sandbox", "--filter", filter]);
  assertEquals([code, output, errors.length], [1, "", 1]);
  assertStringIncludes(errors[0]!, "compared with a number");
  assert(!/[\p{Cc}]/u.test(errors[0]!));
});

Deno.test("a signal ends it with 130", async () => {
  const interrupted = new AbortController();
  const running = weir(["records", "--sandbox", "--top=1"], { signal: interrupted.signal });
  interrupted.abort(new Error("interrupted"));
  const { code, errors } = await running;
  assertEquals([code, errors], [130, ["Interrupted"]]);
});

Deno.test("run() reports the percentage of --limit for each page when there is no terminal", async () => {
  const line = ["observations", "--sandbox", "--limit=2500", "--top=1000", "--select=Id"];
  const pages = (await weir(line)).errors.filter((text) => /rows/.test(text));
  assertEquals(pages.map((text) => /^.*?\)/.exec(text)?.[0]), [
    "1,000 of 2,500 rows (40%)",
    "2,000 of 2,500 rows (80%)",
    "2,500 of 2,500 rows (100%)",
  ]);
});

Deno.test("run() leaves no progress on a terminal when it ends within a second", async () => {
  const line = ["observations", "--sandbox", "--limit=2500", "--top=1000", "--select=Id"];
  const terminal = await weir(line, { isTerminal: true });
  assertStringIncludes(terminal.drawn, "Requesting the first page…");
  assertEquals(screenOf(terminal.drawn).trim(), "");
  assertEquals(terminal.errors.some((text) => /rows/.test(text)), false);
  const shown = await weir(line, { isTerminal: true, showsOutput: true });
  assertEquals(shown.drawn, "");
  assertEquals((await weir([...line, "--quiet"], { isTerminal: true })).drawn, "");
});

Deno.test("run() reports rows per second, and the time left while rows are expected", async () => {
  const line = ["observations", "--sandbox", "--top=10", "--limit=30", "--select=Id"];
  const { errors } = await weir(line);
  assertMatch(errors[0]!, /^10 of 30 rows \(33%\), [\d,]+ rows\/s, \d+ s left/);
  assertMatch(errors[1]!, /^20 of 30 rows \(66%\), [\d,]+ rows\/s, \d+ s left/);
  assertMatch(errors[2]!, /^30 of 30 rows \(100%\), [\d,]+ rows\/s$/);
});

Deno.test("run() reports the number of rows when a download without a terminal ends below the limit", async () => {
  const line = ["locations", "--sandbox", "--select=Id"];
  assertEquals((await weir([...line, "--limit=80"])).errors.at(-1), "Complete: 60 rows");
  for (const more of [[], ["--limit=60"], ["--limit=0"], ["--limit=80", "--quiet"]]) {
    const { errors } = await weir([...line, ...more]);
    assertEquals(errors.filter((text) => text.startsWith("Complete")), []);
  }
});
