// The page's HTML in each access mode and each state, compared with recorded files. The empty form is
// there in full; of other states the file has the form's lines that differ from it, and all results.
import "../../../helpers/reads_fixtures.ts";
import { type AppOptions, createApp, type EdgeApp } from "../../../../edge/app.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { overSandbox, overUpstream, SECRET } from "../../../helpers/edge.ts";
import { assertGolden } from "../../../helpers/golden.ts";
import { differingLines, headLines, pageLines } from "../../../helpers/page_states.ts";
import { page } from "../../../helpers/upstream.ts";

const NOW = 1_800_000_000_000;
const token = "the-token-of-a-test";
const bearer = { authorization: `Bearer ${token}` };
const key = { "x-api-key": "sandbox" };
const secrets = { signingSecret: SECRET, tokens: [token], now: () => NOW };

type State = [name: string, path: string, init?: RequestInit, app?: EdgeApp];

/** Asserts the empty form in full, and then each state; a state without an app uses the same one. */
async function assertStates(
  name: string,
  options: Partial<AppOptions>,
  states: State[],
): Promise<void> {
  const { app } = overSandbox({ records: 3, locations: 3 }, options);
  const first = await app.request("/");
  const form = pageLines(await first.text());
  await assertGolden([...headLines(first), "", ...form, ""].join("\n"), `page/form_${name}.txt`);
  const lines: string[] = [];
  for (const [state, path, init = {}, other = app] of states) {
    const { method = "GET", headers, body } = init;
    lines.push(`# ${state}`, "", `${method} ${path.replaceAll(" ", "+")}`);
    for (const [name, value] of new Headers(headers)) lines.push(`${name}: ${value}`);
    if (body) lines.push(String(body));
    const response = await other.request(path, init);
    lines.push("", ...differingLines(headLines(first), headLines(response)));
    const html = await response.text();
    lines.push(
      ...html.startsWith("{") || html === "" ? [html] : differingLines(form, pageLines(html)),
    );
    lines.push("");
  }
  await assertGolden(lines.join("\n"), `page/states_${name}.txt`);
}

const RECORDS = "/?endpoint=Records&field=Id";
const ALL_FILTERS = RECORDS +
  "&field=CharacteristicName&field=ResultValue&dataset=10.25976/weir-bb00&dataset=10.81029/weir-ee00,10.25976/unknown" +
  "&region=admin.4.ca.pe&characteristic=pH&from=2015&to=2020" +
  "&west=-65&east=-61.5&south=45&north=48&submission=4";
const SPECIAL_FIELDS = [
  ...["DatasetName", "MonitoringLocationID", "MonitoringLocationName", "ResultComment"],
  ...["MonitoringLocationLatitude", "MonitoringLocationLongitude", "ResultStatusID"],
  "LaboratoryName",
];
const dataset = { DOI: "10.25976/a", DatasetName: "A", Version: "1.0.0" };
const cited = { ...dataset, Citation: "A. 2020.", Licence: "https://example.org/licence" };

/** The app over a service with these rows of Records, of which it counts `count`. */
const withRows = (rows: object[], count = rows.length, citations: object[] = [cited]) =>
  overUpstream([page([dataset]), Response.json({ value: count }), page(rows), page(citations)]).app;

/** The app over a service that sends these responses, the first to the request for datasets. */
const withResponses = (...responses: (Response | Error)[]) => overUpstream(responses).app;

const unavailable = () => Response.json({}, { status: 504 });
const tooFast = () => Response.json({}, { status: 429, headers: { "retry-after": "9" } });

Deno.test(
  "EdgeApp.request() answers GET / as recorded when access is public",
  DEADLINE,
  () =>
    assertStates("public", {}, [
      ["Records", "/?endpoint=Records"],
      ["Observations", "/?endpoint=Observations"],
      ["Locations", "/?endpoint=Locations"],
      ["Metadata", "/?endpoint=Metadata"],
      ["Unknown endpoint", "/?endpoint=Banana&field=Id"],
      ["All filters, no rows", ALL_FILTERS],
      ["Same filters for Locations", ALL_FILTERS.replace("Records", "Locations")],
      ["Unknown region", `${RECORDS}&region=other`],
      ["Hub", `${RECORDS}&region=hub.pacific`],
      ["White space around values", `${RECORDS}&characteristic= pH &from= 2015 &west= `],
      ["One year", `${RECORDS}&from=2015&to=2015`],
      ["One row", RECORDS, {}, withRows([{ Id: 1, ResultValue: 7.5 }])],
      ...["Observations", "Locations", "Metadata"].map((name): State => [
        `One row of ${name}`,
        RECORDS.replace("Records", name),
        {},
        withRows([{ Id: 1 }]),
      ]),
      ["21 rows", RECORDS, {}, withRows(Array.from({ length: 20 }, (_, Id) => ({ Id })), 21)],
      ["999,999 rows", RECORDS, {}, withRows([{ Id: 1 }], 999_999)],
      ["1,000,000 rows", RECORDS, {}, withRows([{ Id: 1 }], 1_000_000)],
      [
        "More rows than a download may have",
        RECORDS,
        {},
        overSandbox({ records: 3 }, { maxRows: 2 }).app,
      ],
      [
        "Special values in cells",
        `${RECORDS}&${SPECIAL_FIELDS.map((name) => `field=${name}`).join("&")}`,
        {},
        withRows([{
          Id: 1,
          DatasetName: '<b title="x">&amp;</b>',
          MonitoringLocationID: "x".repeat(120),
          MonitoringLocationName: "x".repeat(121),
          MonitoringLocationLatitude: -1.5,
          MonitoringLocationLongitude: null,
          ResultComment: "🦆".repeat(120),
          ResultStatusID: ["a", { b: 1 }],
          LaboratoryName: true,
        }]),
      ],
      ["No citations", RECORDS, {}, withRows([{ Id: 1 }], 1, [])],
      [
        "Two citations, of which one licence is not a link",
        RECORDS,
        {},
        withRows([{ Id: 1 }], 1, [cited, {
          ...cited,
          DOI: "10.25976/b",
          DatasetName: "B & C",
          Licence: "javascript:alert(1)",
        }]),
      ],
      ["Synthetic data", "/", {}, overSandbox({ records: 3 }, { synthetic: true }).app],
      ["Behind a proxy with TLS", RECORDS, {
        headers: { "x-forwarded-proto": "https, http", "x-forwarded-host": "weir.example, inner" },
      }],
      ["From year that is not a year", `${RECORDS}&from=15`],
      ["To year that is not a year", `${RECORDS}&to=soon`],
      ["Years in the wrong order", `${RECORDS}&from=2020&to=2010`],
      ["Box with two sides", `${RECORDS}&west=1&east=2`],
      ["Box with a side that is not a number", `${RECORDS}&west=1&east=x&south=3&north=4`],
      ["Box that crosses itself", `${RECORDS}&west=5&east=1&south=3&north=4`],
      ["Box out of range", `${RECORDS}&west=1&east=2&south=3&north=94`],
      ["Long invalid value", `${RECORDS}&from=${"1".repeat(100)}`],
      ["Long side of a box", `${RECORDS}&west=1&south=1&north=1&east=${"x".repeat(100)}`],
      ["Form before the list of datasets is known", "/", {}, withResponses(unavailable())],
      ["Typed datasets", `${RECORDS}&dataset=10.1/a,10.1/b`, {}, withResponses(unavailable())],
      [
        "Datasets without a name, and not in order",
        "/",
        {},
        withResponses(page([
          { DOI: "10.25976/b", DatasetName: "b" },
          { DOI: "10.25976/e", DatasetName: "É" },
          { DOI: "10.25976/a", DatasetName: null },
          { DOI: "10.25976/f", DatasetName: "F" },
        ])),
      ],
      ["Count that fails", RECORDS, {}, withResponses(page([]), unavailable())],
      ["Count that is sent too fast", RECORDS, {}, withResponses(page([]), tooFast())],
      ["Connection that breaks", RECORDS, {}, withResponses(page([]), new Error("reset"))],
      ["Server's key refused", "/", {}, withResponses(Response.json({}, { status: 403 }))],
      ["HEAD", RECORDS, { method: "HEAD" }],
    ]),
);

Deno.test(
  "EdgeApp.request() answers GET / as recorded when callers bring their keys",
  DEADLINE,
  () =>
    assertStates("caller", { access: "caller" }, [
      ["Without a key", RECORDS],
      ["Locations without a key", "/?endpoint=Locations"],
      ["With a key, empty form", "/", { headers: key }],
      ["With a key", RECORDS, { headers: key }],
      ["With a key, no rows", `${RECORDS}&from=1900&to=1900`, { headers: key }],
      ["With a wrong key", RECORDS, { headers: { "x-api-key": "wrong" } }],
      ["With a malformed key", RECORDS, { headers: { "x-api-key": "not a key" } }],
      ["Invalid form", `${RECORDS}&from=15`, { headers: key }],
      ["HEAD", RECORDS, { method: "HEAD" }],
    ]),
);

for (const access of ["token", "signed"] as const) {
  const post = (fields: Record<string, string>): RequestInit => ({
    method: "POST",
    body: new URLSearchParams(fields),
  });
  const form = { endpoint: "Records", field: "Id", days: "30", submission: "2" };
  Deno.test(
    `EdgeApp.request() answers / as recorded when access is ${access}`,
    DEADLINE,
    () =>
      assertStates(access, { ...secrets, access }, [
        ["Without a token", RECORDS],
        ["With a token, empty form", "/", { headers: bearer }],
        ["With a token", RECORDS, { headers: bearer }],
        ["With a token, a year", `${RECORDS}&days=365`, { headers: bearer }],
        ["With a token, 45 days", `${RECORDS}&days=45`, { headers: bearer }],
        ["With a token, more days than allowed", `${RECORDS}&days=1000`, { headers: bearer }],
        ["With a wrong token", RECORDS, { headers: { authorization: "Bearer wrong" } }],
        ["Form sent with a token", "/", post({ ...form, token })],
        [
          "Form sent with white space around the token",
          "/",
          post({ ...form, token: ` ${token} ` }),
        ],
        ["Form sent without a token", "/", post(form)],
        ["Form sent with an empty token", "/", post({ ...form, token: " " })],
        ["Form sent with a wrong token", "/", post({ ...form, token: "wrong" })],
        ["Invalid form sent", "/", post({ ...form, from: "15", token })],
        ["Form that is too large", "/", {
          method: "POST",
          headers: { "content-length": "100001" },
        }],
        ["HEAD", RECORDS, { method: "HEAD" }],
      ]),
  );
}

Deno.test(
  "EdgeApp.request() answers 503 for a fourth page while three wait",
  DEADLINE,
  async () => {
    const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
    const app = createApp({
      access: "public",
      apiKey: "k",
      clock,
      fetch: () => new Promise<Response>(() => {}),
    });
    for (let times = 0; times < 3; times++) app.request("/");
    const response = await app.request("/");
    const lines = [...headLines(response), "", ...pageLines(await response.text())];
    const isFixed = (line: string) => /^\d|^retry-after|role="alert"/.test(line.trim());
    await assertGolden(lines.filter(isFixed).join("\n") + "\n", "page/busy.txt");
  },
);
