// Hints on values when a filter matches nothing.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const NO_ROWS = "No row matches the filter";
const CHARACTERISTIC = 'Values of CharacteristicName are case-sensitive: "pH", not "ph"';
const SCHEMA = "All names: see CharacteristicName at https://github.com/datastreamapp/schema";
const REGIONS =
  "Documented regions: hub.atlantic, hub.greatlakes, hub.lakewinnipeg, hub.mackenzie, hub.pacific, " +
  "admin.4.ca.ab, admin.4.ca.bc, admin.4.ca.mb, admin.4.ca.nb, admin.4.ca.nl, admin.4.ca.ns, " +
  "admin.4.ca.nt, admin.4.ca.nu, admin.4.ca.on, admin.4.ca.pe, admin.4.ca.qc, admin.4.ca.sk, " +
  "admin.4.ca.yt";
const listing = (doi: string) =>
  "To list the names in one dataset (reads all of its rows): weir observations " +
  `--doi ${doi} --select CharacteristicName --no-header --sandbox | sort -u`;

for (
  const filter of [["--characteristic=ph"], ["--filter", "CharacteristicName in ('ph','PH')"]]
) {
  Deno.test(`weir says that names are case-sensitive when ${filter.join(" ")} has no rows`, async () => {
    for (const command of ["records", "locations"]) {
      const { code, errors } = await weir([command, "--sandbox", ...filter]);
      assertEquals(code, 0);
      const lines = [NO_ROWS, CHARACTERISTIC, listing("10.25976/xxxx-xx00"), SCHEMA];
      assertEquals(errors.slice(-4), lines);
    }
  });
}

Deno.test("weir prints a command that lists the names of the dataset when there are no rows", async () => {
  const doi = "10.25976/weir-aa00";
  const line = ["observations", "--sandbox", `--doi=${doi}`, "--characteristic=ph"];
  const { errors } = await weir(line);
  assert(errors.includes(listing(doi)));
  const command = /weir (.*) \| sort -u$/.exec(listing(doi))![1]!;
  const { code, output } = await weir([...command.split(" "), "--quiet"]);
  assertEquals([code, output.split("\r\n").includes("pH")], [0, true]);
});

Deno.test("weir prints a command that lists the datasets when a DOI has no rows", async () => {
  const { errors } = await weir(["records", "--sandbox", "--doi=10.25976/none"]);
  const listing = "To list the datasets: weir metadata --select DOI,DatasetName --sandbox";
  assertEquals(errors.slice(-2), [NO_ROWS, listing]);
  const { code, output } = await weir([...listing.split(" ").slice(5), "--quiet"]);
  assertEquals([code, output.includes("10.25976/weir-aa00,")], [0, true]);
});

Deno.test("weir says how to repeat a flag when a value with a comma has no rows", async () => {
  const line = ["records", "--sandbox", "--characteristic=pH", "--characteristic=Temp, water"];
  const { errors } = await weir([...line, "--doi=10.25976/none"]);
  assert(
    errors.includes(
      'If "Temp, water" is a list, repeat the flag for each value: --characteristic Temp ' +
        "--characteristic water",
    ),
    errors.join("\n"),
  );
  const whole = await weir(["records", "--sandbox", "--characteristic=ph"]);
  assertEquals(whole.errors.join().includes("repeat the flag"), false);
});

const regions: [value: string, hint: string][] = [
  ["PEI", ': did you mean "admin.4.ca.pe"?'],
  ["admin.4.ca.PE", ': did you mean "admin.4.ca.pe"?'],
  ["PE", ': did you mean "admin.4.ca.pe"?'],
  ["Prince Edward Island", ': did you mean "admin.4.ca.pe"?'],
  ["hub.Atlantik", ': did you mean "hub.atlantic"?'],
  ["admin.4.ca.xx", ""],
  ["banana", ""],
];
for (const [value, hint] of regions) {
  Deno.test(`weir lists the regions when --region=${value} has no rows`, async () => {
    const { errors } = await weir(["records", "--sandbox", `--region=${value}`]);
    const lines = [NO_ROWS, `Unknown region "${value}"${hint}`, REGIONS];
    assertEquals(errors.slice(-3), lines);
  });
}

Deno.test("weir prints hints on values when --count is 0 and when no dataset is to be cited", async () => {
  const filter = ["--sandbox", "--characteristic=ph", "--region=pe"];
  const count = await weir(["records", "--count", ...filter]);
  const citations = await weir(["cite", ...filter]);
  for (const { code, errors } of [count, citations]) {
    assertEquals([code, errors.length, errors[0]], [0, 5, CHARACTERISTIC]);
    assertMatch(errors[3]!, /^Unknown region "pe"/);
  }
  assertEquals(count.output, "0\n");
});

Deno.test("weir prints one line when a result is empty and no value is likely to be misspelt", async () => {
  const errorsOf = async (...more: string[]) =>
    (await weir(["records", "--sandbox", ...more])).errors;
  assertEquals((await errorsOf("--from=1800", "--to=1801")).slice(-1), [NO_ROWS]);
  const others = "CharacteristicName ne 'x' and DOI ne 'x' and LocationId eq 1";
  assertEquals((await errorsOf(`--filter=${others}`)).slice(-1), [NO_ROWS]);
  assertEquals(await errorsOf("--limit=0"), []);
  const inBox = "is inside --bbox (order: west,south,east,north)";
  assertEquals((await errorsOf("--bbox=1,1,2,2")).slice(-1), [`No row ${inBox}`]);
  // The region is documented, so its name is not the reason.
  assertEquals((await errorsOf("--bbox=1,1,2,2", "--region=hub.pacific")).slice(-1), [
    `No row matches the filter and ${inBox}`,
  ]);
});
