// Each field has a label and a meaning, and a download has as many columns as the page states.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { readCsv } from "../../../helpers/rfc4180.ts";
import { get } from "./pages.ts";

Deno.test("GET /fields has a label, a group and a meaning for each column", async () => {
  const { app, stats } = overSandbox();
  for (const language of ["en", "fr"]) {
    const html = await get(app, `/fields?lang=${language}`);
    const terms = [...html.matchAll(/<dt>(.*?)<code>(\w+)<\/code><\/dt>\s*<dd>([^<]+)</gs)];
    // The columns of `tidy` come last, and have no label.
    assertEquals(terms.length, 44 + 7);
    assert(
      terms.slice(0, 44).every(([, label, name]) => label!.trim() !== "" && label!.trim() !== name),
    );
    assertEquals(terms.slice(44).map(([, , name]) => name).join(" "), tidy);
  }
  assertEquals(stats.requests, 0);
});

const main = "DOI DatasetName MonitoringLocationID MonitoringLocationName " +
  "MonitoringLocationLatitude MonitoringLocationLongitude ActivityMediaName ActivityStartDate " +
  "CharacteristicName MethodSpeciation ResultSampleFraction";
const tidy = "value unit censoring lower upper datetime_utc is_quality_control";
const downloads: [query: string, state: string, header: string | number][] = [
  ["columns=main&tidy=1", "tidy", `${main} ${tidy}`],
  ["columns=main&tidy=0", "untidy", `${main} ResultValue ResultUnit ResultDetectionCondition`],
  ["columns=all&tidy=1", "tidy", 44 + 7],
  ["columns=all&tidy=0", "untidy", 44],
];
for (const [query, state, expected] of downloads) {
  Deno.test(`GET /download has the columns that the page states when the form has ${query}`, async () => {
    const { app } = overSandbox({ records: 30 });
    for (const tool of ["excel", "r"]) {
      const form = `from=2000&tool=${tool}&${query}`;
      const [header] = readCsv(await get(app, `/download?${form}`));
      assertEquals(typeof expected === "number" ? header!.length : header!.join(" "), expected);
      const columns = query.includes("main") ? "main" : "all";
      for (const language of ["en", "fr"]) {
        const html = await get(app, `/?${form}&lang=${language}`);
        const [, label] = new RegExp(`value="${columns}".*?</label>`, "s").exec(html)![0]
          .split(`class="for-${state}">`);
        assertMatch(label!, new RegExp(`^[a-z (]*${header!.length}\\b`));
      }
    }
  });
}
