// Each command prints its result to standard output. Commands that need a file are tested as processes.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { signUrl } from "../../../edge/app.ts";
import { RESOURCES } from "../../../mod.ts";
import { DEFAULT_LIFETIME_DAYS } from "../../../src/signing/signed_url.ts";
import { fieldsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { screenOf } from "./screen.ts";
import { type RunResult, weir } from "../../helpers/run_weir.ts";
import { record } from "./transcript.ts";

for (const resource of RESOURCE_NAMES) {
  const command = resource.toLowerCase();
  Deno.test(`weir ${command} writes rows of ${resource} as CSV to standard output`, async () => {
    const line = [command, "--quiet", "--limit=3", "--select", "Id, DOI"];
    const { code, output, errors, requests } = await record({ line });
    assertEquals([code, errors, requests], [0, [], [`${resource}?$select=Id,DOI&$top=3`]]);
    assertMatch(output, /^"Id","DOI"\n([\w-]+,10\.\S+\n){3}$/);
  });
}

Deno.test("weir applies the flags of CSV", async () => {
  const line = ["metadata", "--select", "DOI,DatasetName"];
  const flags = ["--separator", ";", "--bom", "--escape-formulas", "--eol=crlf"];
  const { output } = await record({ line: [...line, ...flags] });
  assert(output.startsWith('\ufeff"DOI";"DatasetName"\r\n'));
  assertStringIncludes(output, ";'=Synthetic coastal");
  const bare = await record({ line: [...line, "--no-header", "--separator=tab"] });
  assert(bare.output.startsWith("10.25976/weir-aa00\t"));
});

Deno.test("weir --allow-incomplete reports rows that were not counted", async () => {
  const { code, errors } = await record({
    line: ["records", "--select=Id", "--top=20", "--quiet", "--allow-incomplete"],
    answer: ({ url }) => url.includes("count=true") ? Response.json({ value: 30 }) : undefined,
  });
  assertEquals([code, errors], [0, [
    "10 rows more than DataStream counted (accepted by --allow-incomplete, or because large counts " +
    "are estimates)",
  ]]);
});

Deno.test("weir prints the number of cells from which CSV leaves out NUL", async () => {
  const { output, errors } = await record({
    line: ["records", "--select=Id,LaboratoryName", "--quiet"],
    answer: () =>
      Response.json({
        value: [{ Id: 1, LaboratoryName: "a\0b\0" }, { Id: 2, LaboratoryName: "\0" }],
      }),
  });
  assertEquals(output, '"Id","LaboratoryName"\n1,ab\n2,\n');
  assertEquals(errors, ["2 cells without the character NUL, which other programs cannot read"]);
});

Deno.test("weir --count prints only a number, and requests no rows", async () => {
  const { code, output, errors } = await weir(["records", "--sandbox", "--count"]);
  assertEquals([code, output, errors], [0, "40000\n", []]);
});

Deno.test("weir url prints the URL of a query without a key", async () => {
  const of = async (...more: string[]) => (await weir(["url", "metadata", ...more])).output.trim();
  assertMatch(await of("--select=Id", "--top=500"), /\?%24select=Id&%24top=500$/);
  assertEquals(await of(), "https://api.datastream.org/v1/odata/v4/Metadata?%24top=100");
  assertMatch(await of("--qa"), /^https:\/\/api\.qa\.datastream\.org\//);
  const other = "https://a.example/v1";
  const environment = { DATASTREAM_BASE_URL: other };
  const byVariable = await weir(["url", "metadata"], { environment });
  for (const url of [await of("--base-url", other), byVariable.output]) {
    assertMatch(url, /^https:\/\/a\.example\/v1\/Metadata/);
  }
});

Deno.test("weir fields prints every field and every filter field", async () => {
  const { code, output } = await weir(["fields", "records"]);
  const [selected = "", filtered = ""] = output.split("Fields for --filter:\n");
  const namesIn = (text: string) => [...text.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name);
  assertEquals(namesIn(selected), fieldsOf("Records"));
  assertEquals(namesIn(filtered), [...RESOURCES.Records.filters]);
  assertEquals([code, output.includes("undefined")], [0, false]);
});

Deno.test("weir cite prints citations as text or JSON", async () => {
  const line = ["cite", "--sandbox", "--doi", "10.25976/weir-bb00"];
  const { output } = await weir(line);
  assertMatch(output, /^Réseau .* https:\/\/doi\.org\/10\.25976\/weir-bb00\nLicence: https:.*\n$/);
  const [citation, ...more] = JSON.parse((await weir([...line, "--format=json"])).output);
  assertEquals([citation.doi, more], ["10.25976/weir-bb00", []]);
});

const secret = "a secret of a test, of thirty-two bytes";
const target = "https://weir.example/Records.csv?$filter=DOI eq 'x'";

Deno.test("weir sign prints a URL that is valid until --expires, by default as long as signUrl()", async () => {
  const environment = { WEIR_SIGNING_SECRET: secret };
  const sign = async (...flags: string[]) => {
    const { output } = await weir(["sign", target, ...flags], { environment });
    const expires = Number(new URL(output.trim()).searchParams.get("expires"));
    assertEquals(output.trim(), await signUrl(target, { secret, expires }));
    return expires;
  };
  const now = Date.now() / 1000;
  assertEquals(Math.round((await sign("--expires", "2h") - now) / 60), 120);
  assertEquals(Math.round((await sign() - now) / 86_400), DEFAULT_LIFETIME_DAYS);
  assertEquals(await sign("--expires=2999-01-31"), Date.parse("2999-01-31T00:00:00Z") / 1000);
  const time = "2999-01-31T12:30:00-05:00";
  assertEquals(await sign(`--expires=${time}`), Date.parse(time) / 1000);
  const { errors } = await weir(["sign", target, "--expires=soon"], { environment });
  assertMatch(errors[0]!, /^--expires must be .*, got "soon"$/);
});

Deno.test("weir sends the key of DATASTREAM_API_KEY without white space, and says where to request another", async () => {
  let sent: string | null = null;
  const { code, errors } = await record({
    line: ["locations"],
    environment: { DATASTREAM_API_KEY: " key-of-a-test\r\n" },
    answer({ headers }) {
      sent = headers.get("x-api-key");
      return Response.json({ message: "no" }, { status: 403 });
    },
  });
  assertEquals([code, sent], [1, "key-of-a-test"]);
  const text = errors.join("\n");
  assertEquals(text.split("https://github.com/datastreamapp/api-docs/").length, 2);
  assertStringIncludes(text, "Set DATASTREAM_API_KEY, or save the key with weir setup");
  assertEquals(text.includes("key-of-a-test"), false);
});

for (
  const [secret, message] of [
    ["clé", "(value not shown)"],
    ["\n", "No key: type it"],
    ["key-of-a-test", "No directory for the key: set "],
  ] as const
) {
  Deno.test(`weir setup exits with 2 when the key is ${JSON.stringify(secret)}, and there is no home`, async () => {
    const { code, output, errors } = await weir(["setup"], { secret });
    assertEquals([code, output], [2, ""]);
    assertStringIncludes(errors[1]!, message);
    assertEquals(errors.join().includes(secret), false);
  });
}

Deno.test("weir exits with 2 when WEIR_REQUESTS_PER_SECOND is 0", async () => {
  const environment = { WEIR_REQUESTS_PER_SECOND: "0" };
  const { code, errors } = await weir(["records", "--sandbox"], { environment });
  assertEquals(code, 2);
  assertStringIncludes(errors[0]!, 'WEIR_REQUESTS_PER_SECOND must be a number above 0, got "0"');
});

Deno.test("run() adds the hint of the runtime when the connection fails", async () => {
  // These tests have no permission for the network.
  const line = ["records", "--base-url", "http://127.0.0.1:4711"];
  const environment = { DATASTREAM_API_KEY: "secret-key" };
  const of = (hint?: string) => weir(line, { environment, networkHint: () => hint });
  const [without, withHint] = [await of(), await of("use another runtime")];
  assertEquals(without.errors.length, 1);
  assertEquals(withHint.errors, [...without.errors, "use another runtime"]);
});

Deno.test("run() prints one line and returns 1 when a request fails", async () => {
  const filter = "LocationId eq 'x'";
  const line = ["records", "--sandbox", "--filter", filter];
  const { code, output, errors } = await weir(line, { networkHint: () => "use another runtime" });
  assertEquals([code, output, errors.length], [1, "", 1]);
  assertStringIncludes(errors[0]!, "compared with a number");
  assert(!/[\p{Cc}]/u.test(errors[0]!));
});

Deno.test("run() separates columns with a tab in TSV, unless another separator is chosen", async () => {
  const line = ["records", "--sandbox", "--limit=1", "--select=Id,DOI", "--format=tsv"];
  assertEquals((await weir(line)).output, '"Id"\t"DOI"\n500003\t10.25976/weir-aa00\n');
  assertStringIncludes((await weir([...line, "--separator=;"])).output, '"Id";"DOI"\n');
});

Deno.test("run() refuses to print a binary format on a terminal", async () => {
  for (const [format, name] of [["csv.gz", "CSV in gzip"], ["parquet", "Parquet"]]) {
    const line = ["records", "--sandbox", `--format=${format}`];
    const { code, errors, output } = await weir(line, { isStdoutTerminal: true });
    assertEquals([code, output], [2, ""]);
    assertStringIncludes(errors[0]!, `${name} is not text: pass --output FILE`);
  }
});

Deno.test("run() leaves no progress on a terminal when it ends within a second", async () => {
  const line = ["observations", "--sandbox", "--limit=2500", "--top=1000", "--select=Id"];
  const terminal = await weir(line, { isTerminal: true });
  assertStringIncludes(terminal.drawn, "Requesting the first page…");
  assertEquals(screenOf(terminal.drawn).trim(), "");
  assertEquals(terminal.errors.some((text) => /rows/.test(text)), false);
  const shown = await weir(line, { isTerminal: true, isStdoutTerminal: true });
  assertEquals(shown.drawn, "");
  assertEquals((await weir([...line, "--quiet"], { isTerminal: true })).drawn, "");
});

Deno.test("run() reports the number of rows when a download without a terminal ends below the limit", async () => {
  const line = ["locations", "--sandbox", "--select=Id"];
  assertEquals((await weir([...line, "--limit=80"])).errors.at(-1), "Complete: 60 rows");
  for (const more of [[], ["--limit=60"], ["--limit=0"], ["--limit=80", "--quiet"]]) {
    const { errors } = await weir([...line, ...more]);
    assertEquals(errors.filter((text) => text.startsWith("Complete")), []);
  }
});

/** Runs a command line whose output throws `error`, as a bug in the program would. */
function withBug(error: unknown, ...flags: string[]): Promise<RunResult> {
  return weir(["url", "records", ...flags], { print: () => Promise.reject(error) });
}

Deno.test("run() returns 1 and says how to print the stack, or prints it, when a command has a bug", async () => {
  const bug = new TypeError("Cannot read properties of undefined");
  const { code, output, errors } = await withBug(bug);
  assertEquals([code, output, errors.length], [1, "", 2]);
  assertStringIncludes(errors[0]!, bug.message);
  assertEquals(errors[1], "This is a bug in weir. Pass --debug to print the stack, and report it");
  assertEquals((await withBug(bug, "--debug")).errors, [errors[0], bug.stack]);
});

Deno.test("run() does not call an error a bug when a file cannot be read or written", async () => {
  const error = Object.assign(new Error("no such device"), { code: "ENXIO" });
  for (const expected of [error, new Deno.errors.NotCapable("Requires read access")]) {
    const { code, errors } = await withBug(expected);
    assertEquals([code, errors], [1, [expected.message]]);
  }
});
