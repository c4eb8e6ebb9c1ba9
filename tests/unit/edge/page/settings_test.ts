// The page states the settings of its results, which are those of its form.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { overSandbox, overUpstream, SECRET } from "../../../helpers/edge.ts";
import { page } from "../../../helpers/upstream.ts";

const token = "the-token-of-a-test";
const signedAccess = { access: "signed", signingSecret: SECRET, tokens: [token] } as const;

/** Returns the sentence with the settings of the results, or `undefined` if there is none. */
const settingsOf = (html: string) =>
  /<p\s+id="settings">([^<]*)<\/p>/.exec(html)?.[1]?.replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");

const headingOf = (html: string) =>
  /<h2 id="results-heading" tabindex="-1">([^<]*)<\/h2>/.exec(html)?.[1];

const years = Array.from({ length: 12 }, (_, index) => `10.25976/d${index + 1}`);
const sentences: [query: string, settings: string][] = [
  ["endpoint=Records", "Measurements (all columns); no filters; all fields."],
  ["endpoint=Metadata&region=hub.pacific", "Datasets; region Pacific; all fields."],
  ["endpoint=Records&region=other", "Measurements (all columns); region other; all fields."],
  [
    "endpoint=Records&characteristic=Alkalinity,+total",
    "Measurements (all columns); characteristic “Alkalinity, total”; all fields.",
  ],
  ["endpoint=Records&from=2015", "Measurements (all columns); years from 2015; all fields."],
  ["endpoint=Records&to=2015", "Measurements (all columns); years up to 2015; all fields."],
  ["endpoint=Records&from=2015&to=2015", "Measurements (all columns); year 2015; all fields."],
  [
    "endpoint=Records&from=2015&to=2020",
    "Measurements (all columns); years 2015 to 2020; all fields.",
  ],
  [
    "endpoint=Locations&west=-65&east=-61.5&south=45&north=48",
    "Locations; bounding box west -65, east -61.5, south 45, north 48; all fields.",
  ],
  [
    "endpoint=Records&dataset=10.25976/a&field=Id&field=DOI",
    "Measurements (all columns); dataset 10.25976/a; fields Id, DOI.",
  ],
  [
    `endpoint=Records&dataset=${years.join()}`,
    `Measurements (all columns); datasets ${years.slice(0, 10).join(", ")} and 2 more; all fields.`,
  ],
];
for (const [query, settings] of sentences) {
  Deno.test(`GET / states the settings of the results when the query is ${query.slice(0, 70)}`, async () => {
    const { app } = overSandbox({ records: 30 });
    const html = await (await app.request(`/?${query}`)).text();
    assertEquals(
      settingsOf(html),
      `Settings of these results and links: ${settings} ` +
        "If you change the form, press Show to update them.",
    );
    assertMatch(html, /aria-label="Downloads" aria-describedby="settings[ "]/);
  });
}

Deno.test("GET / states no settings when there are no results", async () => {
  const { app } = overSandbox();
  assertEquals(settingsOf(await (await app.request("/")).text()), undefined);
  const failed = await (await app.request("/?endpoint=Records&from=x")).text();
  assertEquals(settingsOf(failed), undefined);
});

Deno.test("GET / escapes the settings when they hold HTML", async () => {
  const { app } = overSandbox();
  const query = new URLSearchParams({ endpoint: "Records", characteristic: "<b>x</b>" });
  const html = await (await app.request(`/?${query}`)).text();
  assertStringIncludes(html, "characteristic “&lt;b&gt;x&lt;/b&gt;”");
});

Deno.test("GET / states the settings of the results in every access mode", async () => {
  const headers = { authorization: `Bearer ${token}`, "x-api-key": "sandbox" };
  for (
    const access of [
      { access: "public" },
      { access: "caller" },
      { ...signedAccess, access: "token" },
      signedAccess,
    ] as const
  ) {
    const { app } = overSandbox({ records: 30 }, access);
    const html = await (await app.request("/?endpoint=Records&from=2015", { headers })).text();
    assertStringIncludes(
      settingsOf(html)!,
      "Measurements (all columns); years from 2015; all fields.",
    );
  }
  const { app } = overSandbox({}, { access: "caller" });
  const withoutKey = await (await app.request("/?endpoint=Records&from=2015")).text();
  assertStringIncludes(
    settingsOf(withoutKey)!,
    "Measurements (all columns); years from 2015; all fields.",
  );
});

Deno.test("GET / offers an unlisted region or lifetime when the form has it", async () => {
  const { app } = overSandbox({}, signedAccess);
  const headers = { authorization: `Bearer ${token}` };
  const html = await (await app.request("/?endpoint=Records&region=other&days=45", { headers }))
    .text();
  assertMatch(html, /<option value="other" selected>other<\/option>/);
  assertMatch(html, /<option value="45" selected>45 days<\/option>/);
  for (const [days, selected] of [["0", "1"], ["1e9", "366"], ["x", "1"], ["2.9", "2"]] as const) {
    const page = await (await app.request(`/?endpoint=Records&days=${days}`, { headers })).text();
    assertStringIncludes(page, `<option value="${selected}" selected>`);
  }
  const unchanged = await (await app.request("/?endpoint=Records", { headers })).text();
  assertEquals(unchanged.match(/<option value="[^"]*" selected>/g), [
    '<option value="7" selected>',
  ]);
});

Deno.test("GET / has a form whose action moves to the heading of the results", async () => {
  for (const access of [{ access: "public" }, { access: "caller" }, signedAccess] as const) {
    const { app } = overSandbox({}, access);
    const html = await (await app.request("/")).text();
    assertMatch(html, /<form [^>]*action="\/#results-heading"/);
    assertEquals(headingOf(html), undefined);
  }
});

Deno.test("GET / has a heading when there are results, an invalid form or an error", async () => {
  const { app } = overSandbox({ records: 30 });
  const headingAt = async (query: string) =>
    headingOf(await (await app.request(`/?${query}`)).text());
  assertEquals(await headingAt("endpoint=Records"), "30 measurements");
  assertEquals(await headingAt("endpoint=Records&from=x"), "No results");
  const { app: failing } = overUpstream([page([]), Response.json({}, { status: 500 })]);
  const html = await (await failing.request("/?endpoint=Records")).text();
  assertEquals(headingOf(html), "No results");
  assert(html.indexOf("results-heading") < html.indexOf('role="alert"'));
  const { app: closed } = overSandbox({}, signedAccess);
  const refused = await (await closed.request("/?endpoint=Records")).text();
  assertEquals(headingOf(refused), "No results");
});

Deno.test("GET / numbers submissions, so that a browser requests an unchanged form again", async () => {
  const { app } = overSandbox({ records: 30 });
  const submissionAfter = async (query: string) =>
    /name="submission" value="(\d+)"/.exec(await (await app.request(`/?${query}`)).text())?.[1];
  assertEquals(await submissionAfter(""), undefined);
  assertEquals(await submissionAfter("endpoint=Records"), "2");
  assertEquals(await submissionAfter("endpoint=Records&submission=2"), "3");
  assertEquals(await submissionAfter("endpoint=Records&from=x&submission=41"), "42");
  for (const wrong of ["x", "-1", "1e300", "9".repeat(30), '"><b>']) {
    assertEquals(
      await submissionAfter(`endpoint=Records&submission=${encodeURIComponent(wrong)}`),
      "2",
    );
  }
});

Deno.test("GET / has an empty status and a hidden notice", async () => {
  const { app } = overSandbox({ records: 30 });
  const html = await (await app.request("/?endpoint=Records")).text();
  assertStringIncludes(html, '<p id="form-status" role="status"></p>');
  assertMatch(html, /<p\s+class="notice"\s+hidden>The form no longer matches these results/);
  // Otherwise a browser could restore form values that do not match the results.
  assertMatch(html, /<form [^>]*autocomplete="off"/);
});
