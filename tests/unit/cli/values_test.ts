// `weir values` lists known values without a request, and with --live those that occur.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { record } from "./transcript.ts";
import { weir } from "../../helpers/run_weir.ts";

Deno.test("weir values lists known values without a request or a key", async () => {
  const all = (await weir(["values", "characteristic"])).output.split("\n");
  assertEquals([all.length, all.includes("pH")], [1_662, true]);
  const { output } = await weir(["values", "characteristic", "--search", "CHLORIDE"]);
  assert(output.split("\n").includes("Chloride"));
  const regions = (await weir(["values", "region"])).output.split("\n");
  assert(
    ["admin.2.ca\tCanada", "admin.4.ca.pe\tPrince Edward Island"].every((one) =>
      regions.includes(one)
    ),
  );
  for (const name of ["PEI", "Île-du-Prince-Édouard"]) {
    const { output } = await weir(["values", "region", "--search", name]);
    assertEquals(output, "admin.4.ca.pe\tPrince Edward Island\n");
  }
  assert((await weir(["values", "media"])).output.includes("Surface Water\n"));
  assert((await weir(["values", "location-type"])).output.includes("Lake/Pond\n"));
});

Deno.test("weir values accepts the names of fields, which files and filters use", async () => {
  const names = {
    CharacteristicName: "characteristic",
    RegionId: "region",
    ActivityMediaName: "media",
    MonitoringLocationType: "location-type",
  };
  for (const [field, name] of Object.entries(names)) {
    assertEquals(await weir(["values", field]), await weir(["values", name]));
  }
  const live = ["--live", "--sandbox", "--location=1008"];
  assertEquals(
    await weir(["values", "ResultUnit", ...live]),
    await weir(["values", "unit", ...live]),
  );
});

Deno.test("weir values --live counts the values of the matching rows of the days, most frequent first", async () => {
  const days = ["--from=2020-05-01", "--to=2020-06-15"];
  const line = ["values", "unit", "--live", "--sandbox", "--location=1008", ...days];
  assertEquals(await weir(line), {
    code: 0,
    output: "mg/L\t5\nNTU\t1\nNone\t1\ncfu/100mL\t1\ndeg C\t1\nuS/cm\t1\n",
    errors: [
      "Reading 60 rows of Observations: 1 request, about 1 s",
      "50 rows left out: outside of --from and --to",
    ],
    drawn: "",
  });
});

for (const command of ["values unit --live", "summary"]) {
  Deno.test(`weir ${command} asks before it reads more than 100,000 rows`, async () => {
    for (const [confirms, flag] of [[false, ""], [true, ""], [false, "--yes"]] as const) {
      const { code, errors, requests } = await record({
        line: [...command.split(" "), ...flag ? [flag] : []],
        answer: ({ url }) =>
          url.includes("count=true") ? Response.json({ value: 100_001 }) : undefined,
        confirms,
      });
      assertEquals(errors[0], "Reading 100,001 rows of Observations: 11 requests, about 11 s");
      const isRefused = !confirms && !flag;
      assertEquals([code, requests.length > 1], isRefused ? [1, false] : [0, true]);
      if (isRefused) assertEquals(errors[1], "Not read: pass --yes, or filters for fewer rows");
    }
  });
}
