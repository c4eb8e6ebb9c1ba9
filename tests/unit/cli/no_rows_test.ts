// The command line names a value that matches no row, with similar values or a command that lists them.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";
import { record } from "./transcript.ts";

const CASE_HINT = 'values are case-sensitive, did you mean "pH"?';

const hints: [flag: string, value: string, hint: string][] = [
  ["region", "PEI", ': did you mean "admin.4.ca.pe"?'],
  ["region", "admin.4.ca.PE", ': values are case-sensitive, did you mean "admin.4.ca.pe"?'],
  ["region", "Prince Edward Island", ': did you mean "admin.4.ca.pe"?'],
  ["region", "hub.Atlantik", ': did you mean "hub.atlantic"?'],
  ["region", "xyz123", ": no documented name is similar"],
  ["characteristic", "ph", `: ${CASE_HINT}`],
  ["characteristic", "dissolved oxygen", ': did you mean "Dissolved oxygen (DO)"?'],
  [
    "characteristic",
    "Phospho",
    ': did you mean "Total Phosphorus, mixed forms" or "Organic phosphorus" or "Phosphorus, hydrolyzable"?',
  ],
  [
    "characteristic",
    "inorganic nitrogen",
    ': did you mean "Inorganic nitrogen (nitrate and nitrite)" or "Inorganic nitrogen (ammonia, nitrate and nitrite)"?',
  ],
  [
    "characteristic",
    "DO",
    ': did you mean "Dissolved oxygen (DO)" or "Dissolved oxygen saturation"?',
  ],
  ["characteristic", "banana", ": no documented name is similar"],
];
for (const [flag, value, hint] of hints) {
  Deno.test(`weir explains an unmatched value when --${flag}=${value} has no rows`, async () => {
    const { code, errors } = await weir(["records", "--sandbox", `--${flag}=${value}`]);
    assertEquals([code, ...errors.slice(-2)], [
      0,
      `No row matches ${flag} "${value}"${hint}`,
      `To list the known values: weir values ${flag}`,
    ]);
  });
}

Deno.test("weir prints a command that lists the values that occur when a known value has no rows", async () => {
  const characteristic = await weir(["records", "--sandbox", "--characteristic=Zinc"]);
  assertEquals(characteristic.errors.slice(-2), [
    'No row matches characteristic "Zinc"',
    "To list the values that occur: weir values characteristic --live --sandbox",
  ]);
  const dataset = await weir(["records", "--sandbox", "--doi=10.25976/none"]);
  assertEquals(dataset.errors.slice(-2), [
    'No row matches dataset "10.25976/none"',
    "To list the datasets: weir metadata --select DOI,DatasetName --sandbox",
  ]);
});

Deno.test("weir prints hints on values when --count is 0 and when cite finds no dataset", async () => {
  for (const line of [["records", "--count"], ["cite"]]) {
    const { code, errors } = await weir([...line, "--sandbox", "--characteristic=ph"]);
    assertEquals([code, errors[0]], [0, `No row matches characteristic "ph": ${CASE_HINT}`]);
  }
});

const reasons: [flags: string[], ...reasons: string[]][] = [
  [["--from=1800", "--to=1801"], "No row matches year from 1800 up to 1801"],
  [
    ["--filter=LocationId eq 1 and LocationId ne 2"],
    "No row matches LocationId eq 1 and LocationId ne 2",
  ],
  [
    ["--characteristic=pH", "--characteristic=chloride", "--from=1800", "--to=1801"],
    'No row matches characteristic "chloride": values are case-sensitive, did you mean "Chloride"?',
    "No row matches year from 1800 up to 1801",
  ],
  [
    ["--filter=CharacteristicName in ('ph','PH')"],
    `No row matches characteristic "ph" or "PH": ${CASE_HINT}`,
  ],
  [
    ["--filter=CharacteristicName eq 'pH' and ActivityMediaName eq 'Lava'"],
    "No row matches ActivityMediaName eq 'Lava': no documented name is similar",
  ],
  // The region is documented and has rows, so it is not the reason.
  [
    ["--bbox=1,1,2,2", "--region=hub.pacific"],
    "No row is inside the bounding box west 1, south 1, east 2, north 2",
  ],
];
for (const [flags, ...expected] of reasons) {
  Deno.test(`weir says why no row matches ${flags.join(" ")}`, async () => {
    const { errors } = await weir(["records", "--sandbox", "--quiet", ...flags]);
    assertEquals(errors.filter((line) => line.startsWith("No row ")), expected);
  });
}

Deno.test("weir gives no reason when --limit=0 asks for no rows", async () => {
  const { errors } = await weir(["records", "--sandbox", "--quiet", "--limit=0"]);
  assertEquals(errors, []);
});

/**
 * Returns how the command line explains a result without rows: the reasons, and the filters that it counted.
 *
 * @param count Returns the count for a filter; a negative number for status 400
 */
async function explain(flags: readonly string[], count = (_filter: string) => 0) {
  const { errors, requests } = await record({
    line: ["records", "--quiet", ...flags],
    answer({ url }) {
      const { searchParams } = new URL(url);
      if (!searchParams.has("$count")) return Response.json({ value: [] });
      const value = count(searchParams.get("$filter")!);
      return value < 0 ? Response.json({}, { status: 400 }) : Response.json({ value });
    },
  });
  return {
    reasons: errors.filter((line) => line.startsWith("No row ")),
    counts: requests.flatMap((url) => /\$filter=(.*)&\$count=true$/.exec(url)?.[1] ?? []),
  };
}

Deno.test("weir counts no condition when there is only one, or it cannot read the filter", async () => {
  assertEquals(await explain(["--region=admin.4.ca.pe"]), {
    reasons: ['No row matches region "admin.4.ca.pe" (Prince Edward Island)'],
    counts: [],
  });
  assertEquals(await explain(["--filter=a or b", "--unchecked"]), {
    reasons: ["No row matches the filter"],
    counts: [],
  });
});

Deno.test("weir counts the conditions with unknown values first, and others only if rows match these", async () => {
  const flags = ["--doi=10.25976/a", "--characteristic=ph", "--region=PEI", "--from=2015"];
  const unknown = ["RegionId eq 'PEI'", "CharacteristicName eq 'ph'"];
  const region = 'No row matches region "PEI": did you mean "admin.4.ca.pe"?';
  assertEquals(await explain(flags), {
    reasons: [region, `No row matches characteristic "ph": ${CASE_HINT}`],
    counts: unknown,
  });
  assertEquals(await explain(flags, () => 1), {
    reasons: ["No row matches all filters together: remove one of them"],
    counts: [...unknown, "DOI eq '10.25976/a'", "ActivityStartYear gte 2015"],
  });
  // The second count fails.
  assertEquals(await explain(flags, (filter) => filter === unknown[0] ? 0 : -1), {
    reasons: [region],
    counts: unknown,
  });
});

Deno.test("weir counts at most twenty conditions", async () => {
  const clauses = Array.from({ length: 22 }, (_, index) => `Field${index} eq 1`);
  const flags = [`--filter=${clauses.join(" and ")}`, "--unchecked"];
  assertEquals((await explain(flags, () => 1)).counts, clauses.slice(0, 20));
});

/** Command lines with lists of values, and what is printed about those that match nothing. */
const lists: [args: string[], ...messages: string[]][] = [
  [
    ["records", "--doi=10.25976/WEIR-bb00", "--doi=10.25976/x"],
    'No row matches dataset "10.25976/x"',
  ],
  [
    ["records", "--characteristic=pH", "--characteristic=chloride", "--select=ResultValue"],
    'No row matches characteristic "chloride": values are case-sensitive, did you mean "Chloride"?',
  ],
  [
    ["observations", "--region=admin.2.ca", "--region=Ontario", "--count"],
    'No row matches region "Ontario": did you mean "admin.4.ca.on"?',
  ],
  [
    ["observations", "--filter=ActivityMediaName in ('Surface Water','Ocean Water')"],
    "No row matches ActivityMediaName eq 'Ocean Water'",
  ],
  [
    ["locations", "--filter=LocationId in (1001,5)", "--select=Name"],
    "No row matches LocationId eq 5",
  ],
];
for (const [args, ...messages] of lists) {
  Deno.test(`weir ${args.join(" ")} names the values that match nothing when others match`, async () => {
    // One location, so that few rows are read.
    const location = args[0] === "locations" ? [] : ["--location=1008"];
    const line = [...args, ...location, "--sandbox", "--quiet"];
    const { code, output, errors } = await weir(line);
    assertEquals([code, errors.filter((text) => text.startsWith("No row "))], [0, messages]);
    const strict = await weir([...line, "--strict"]);
    assertEquals([strict.code, strict.output], [1, output]);
  });
}

const unnamed = [
  // Rows after the limit may match.
  ["records", "--characteristic=pH", "--characteristic=chloride", "--limit=5"],
  ["locations", "--filter=LocationId in (1001.0,1008)"],
];
for (const args of unnamed) {
  Deno.test(`weir ${args.join(" ")} names no value`, async () => {
    const { code, errors } = await weir([...args, "--sandbox", "--quiet", "--strict"]);
    assertEquals([code, errors], [0, []]);
  });
}

Deno.test("weir --count counts each listed value with the other filters, at most twenty, and says so", async () => {
  const box = ["--bbox=-64,46,-62,47"];
  const values = Array.from({ length: 22 }, (_, index) => `--characteristic=${index}`);
  for (const [others, message] of [[[], "each of 2"], [values, "20 of 24"]] as const) {
    const listed = ["--characteristic=pH", "--characteristic=Zinc", ...others];
    const { code, output, errors, requests } = await record({
      line: ["locations", "--count", "--strict", ...box, "--region=admin.4.ca.pe", ...listed],
      answer: ({ url }) => Response.json({ value: url.includes("%20eq%20%27Zinc%27") ? 0 : 5 }),
    });
    assertEquals([code, output], [1, "5\n"]);
    assertEquals(errors.slice(0, 2), [
      `Counting the rows of ${message} listed values of CharacteristicName`,
      'No row matches characteristic "Zinc"',
    ]);
    assertEquals(requests.length, 1 + Math.min(listed.length, 20));
    assertEquals(
      requests[2],
      requests[0]!.replace(/CharacteristicName in \(.*?\)/, "CharacteristicName eq 'Zinc'"),
    );
  }
});

const notes: [line: string[], message: string][] = [
  [["summary", "--characteristic=pH", "--characteristic=Zinc"], '"Zinc"'],
  [
    ["values", "characteristic", "--live", "--characteristic=pH", "--characteristic=Zinc"],
    '"Zinc"',
  ],
  [["values", "unit", "--live", "--characteristic=pH", "--characteristic=chloride"], "chloride"],
  [["records", "--from=2020-05-15", "--to=2020-05-15"], "Rows match the filters, but all are left"],
  [
    ["records", "--characteristic=Nitrate", "--tidy", "--unit=nitrate=mg/L"],
    'The unit of no row of "nitrate" was converted: values are case-sensitive',
  ],
];
for (const [line, message] of notes) {
  Deno.test(`weir ${line.join(" ")} prints a note on values, days or units that match nothing`, async () => {
    const { code, errors } = await weir([...line, "--location=1008", "--sandbox"]);
    assertEquals([code, errors.some((text) => text.includes(message))], [0, true], errors.join());
  });
}

Deno.test("weir cite names the datasets that it does not find when it finds others", async () => {
  const line = ["cite", "--sandbox", "--doi=10.25976/weir-aa00", "--doi=10.25976/x"];
  const { code, output, errors } = await weir(line);
  assertEquals([code, output.includes("weir-aa00")], [0, true]);
  assertEquals(errors[0], 'No row matches dataset "10.25976/x"');
});
