// What every runtime must come to: how the service of each behaviour answers, what the behaviour
// gives, and which requests the service has seen.
import { DataStream } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { VERSION } from "../../../src/version.ts";
import type { BehaviourName } from "./behaviours.ts";
import { digestsOf, type FaultReport } from "./report.ts";
import { type Answer, DATA } from "./services.ts";

/** What a behaviour is held to. */
export interface Case {
  answer?: Answer;
  /** Whether the service resets a connection when a second request arrives on it. */
  resetsConnections?: true;
  /** What it gives, the address of its service standing as `BASE`. */
  gives: unknown;
  /** The result in runtimes, by name, whose `fetch` makes the general result impossible. */
  givesIn?: Record<string, unknown>;
  seen: string[];
}

const PAGES = ["Id:1134", "Id:1274", "Id:1414"];
const locations = (top: number, ...tokens: string[]) => [
  `Locations?$select=Id&$top=${top}`,
  ...tokens.map((token) => `Locations?$select=Id&$top=${top}&$skiptoken=${token}`),
];
const first = locations(20);
const second = locations(20, PAGES[0]!);
/** The requests for three hundred rows: past the first page they are counted. */
const measured = (options: string) => [
  `${options}$top=100`,
  `${options.replace(/\?.*/, "?")}$count=true`,
  `${options}$top=100&$skiptoken=Id:500300`,
  `${options}$top=100&$skiptoken=Id:500600`,
];
const ids = (from: number, step: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + step * index);

const json = (body: BodyInit, headers: Record<string, string> = {}) =>
  new Response(body, { headers: { "content-type": "application/json", ...headers } });

/** An answer whose connection is cut in the middle: it has fewer bytes than it says. */
const cut = () =>
  json(ReadableStream.from([new TextEncoder().encode('{"value":[{"Id":41,')]), {
    "content-length": "1000",
  });

/** An answer that ends clean, in the middle of a page. */
const short = async (whole: () => Promise<Response>) =>
  json((await (await whole()).text()).slice(0, 200));

/** Half of the second page, and then nothing until the reader leaves. */
const silentAtSecond: Answer = async ({ request, number, whole, silence }) =>
  number === 1 ? whole() : silence.answer(request, await (await whole()).text());

const fault = (kind: string, says: string, more: Partial<FaultReport> = {}): FaultReport => ({
  kind,
  says,
  showsKey: [],
  ...more,
});
const connection = "check the connection and the base URL, then try again";
/** What an error adds after a first page of twenty rows. */
const DELIVERED = "; 20 rows were delivered before, up to the position Id:1134";

/** The same data by the client in this process, and no server. */
function inProcess() {
  const sandbox = createSandbox(DATA);
  const { apiKey, url, fetch } = sandbox;
  return {
    client: new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity }),
    sandbox,
  };
}

/** The rows of a year and of a kind, by the service's own JSON. */
async function recentPh(): Promise<unknown[]> {
  const { sandbox } = inProcess();
  const select = ["Id", "CharacteristicName", "ActivityStartDate", "ResultValue"];
  const response = await sandbox.fetch(
    `${sandbox.url}/Observations?%24select=${select.join()}&%24top=1000`,
    { headers: { "x-api-key": sandbox.apiKey } },
  );
  const { value }: { value: Record<string, unknown>[] } = await response.json();
  return value
    .filter((row) =>
      row.CharacteristicName === "pH" && String(row.ActivityStartDate ?? "") >= "2020"
    )
    .map((row) => Object.fromEntries(select.map((name) => [name, row[name]])));
}

export const CASES: Record<BehaviourName, Case> = {
  "endpoint() builds request options": {
    gives: [
      {
        method: "get",
        url: "https://api.datastream.org/v1/odata/v4/Records" +
          "?%24filter=DOI%20eq%20%2710.1%2F%C3%A9%20b%27&%24top=5",
        headers: {
          accept: "application/vnd.datastream.v3+json",
          "user-agent": `weir-endpoint.js/${VERSION}`,
        },
      },
      {
        method: "post",
        url: "https://own.example/api/Locations/a%2Fb?tags=x&tags=y",
        headers: {
          accept: "application/vnd.datastream.v3+json",
          "user-agent": `weir-endpoint.js/${VERSION}`,
          "x-own": "1",
          "content-type": "application/json; charset=utf-8",
        },
        body: { note: { deep: [1] } },
      },
      {
        method: "get",
        url: "BASE/M%C3%A9tadonn%C3%A9es",
        headers: {
          accept: "application/vnd.datastream.v3.raw",
          "user-agent": `weir-endpoint.js/${VERSION}`,
        },
      },
    ],
    seen: [],
  },
  "toRequest() sends what endpoint() built": {
    gives: { status: 200, value: [{ Id: 1001 }, { Id: 1008 }, { Id: 1015 }] },
    seen: ["Locations?$top=3&$select=Id"],
  },
  "rows come from every page, once and in order": {
    gives: { looped: ids(500_003, 3, 300), same: true, pages: [100, 100, 100] },
    seen: Array(3).fill(measured("Observations?$select=Id&")).flat(),
  },
  "CSV, NDJSON and JSON have the same bytes": {
    gives: await digestsOf(inProcess().client.records({ top: 100 })),
    seen: Array(4).fill(measured("Records?")).flat(),
  },
  "filter and select reach the service": {
    gives: await recentPh(),
    seen: [
      "Observations?$select=Id,CharacteristicName,ActivityStartDate,ResultValue" +
      "&$filter=CharacteristicName eq 'pH' and ActivityStartYear gte 2020&$top=10000",
    ],
  },
  "limit takes no more than it needs": {
    gives: ids(1001, 7, 25),
    seen: [...locations(10, "Id:1064"), ...locations(5, "Id:1134").slice(1)],
  },
  "count() is one request": { gives: 60, seen: ["Locations?$count=true"] },
  "a 429 is waited for as it says": {
    answer: ({ number, whole }) =>
      number === 1 ? Response.json({}, { status: 429, headers: { "retry-after": "7" } }) : whole(),
    gives: { rows: 60, told: [[429, 7]], waited: true },
    seen: Array(2).fill("Locations?$select=Id&$top=10000"),
  },
  "a 504 is tried again after a pause": {
    answer: ({ number, whole }) => number === 1 ? Response.json({}, { status: 504 }) : whole(),
    gives: { rows: 60, told: [[504, 1]], waited: true },
    seen: Array(2).fill("Locations?$select=Id&$top=10000"),
  },
  "an error of the service does not show the key": {
    answer: ({ request }) => {
      const message = `no use for ${request.headers.get("x-api-key")}`;
      return Response.json({ message }, { status: 403 });
    },
    gives: fault(
      "status",
      "/Locations responded with status 403 (no use for [key]): check the API key, which the service may have replaced, or request one at https://github.com/datastreamapp/api-docs",
      { status: 403 },
    ),
    seen: first,
  },
  "an error of the network does not show the key": {
    answer: cut,
    gives: fault("network", connection),
    seen: first,
  },
  "a signal stops a page in flight, with its own reason": {
    answer: silentAtSecond,
    gives: { rows: 20, isReason: true, isLeft: true },
    seen: second,
  },
  "a loop that is left asks for nothing more": { gives: 1001, seen: first },
  "an iterator that is left stops the page in flight": {
    answer: silentAtSecond,
    gives: { done: true, isLeft: true },
    seen: second,
  },
  "a link to another origin is not followed": {
    answer: async ({ elsewhere, whole }) => {
      const { value } = await (await whole()).json();
      const link = `${elsewhere}/v1/odata/v4/Locations?$skiptoken=${PAGES[0]}&$top=20`;
      return Response.json({ value, "@odata.nextLink": link });
    },
    gives: fault(
      "next-link",
      "The link to the next page has another address than the request: the result is incomplete. The link was not followed. Report it to DataStream",
    ),
    seen: first,
  },
  "a redirect to another origin is not followed": {
    answer: ({ elsewhere }) => Response.redirect(`${elsewhere}/v1/odata/v4/Locations`, 307),
    gives: fault(
      "status",
      "/Locations responded with a redirect: check the base URL; redirects are not followed, because the API key is sent to one origin",
    ),
    seen: first,
  },
  "a page that ends early is asked for again": {
    answer: ({ number, whole }) => number === 2 ? short(whole) : whole(),
    gives: ids(1001, 7, 60),
    // The third page is full: one more request shows the end.
    seen: locations(20, PAGES[0]!, PAGES[0]!, PAGES[1]!, PAGES[2]!),
  },
  "a page whose connection is cut is asked for again": {
    answer: ({ number, whole }) => number === 2 ? cut() : whole(),
    gives: ids(1001, 7, 60),
    // The third page is full: one more request shows the end.
    seen: locations(20, PAGES[0]!, PAGES[0]!, PAGES[1]!, PAGES[2]!),
  },
  "a page that always ends early is an error": {
    answer: ({ number, whole }) => number === 1 ? whole() : short(whole),
    gives: {
      lines: 20,
      ...fault(
        "page",
        "Wanted a page of JSON from /v1/odata/v4/Locations, got broken JSON, 2 times: check the base URL, then try again" +
          DELIVERED,
      ),
    },
    seen: locations(20, PAGES[0]!, PAGES[0]!),
  },
  "a page that is always cut is an error": {
    answer: ({ number, whole }) => number === 1 ? whole() : cut(),
    gives: { rows: 20, ...fault("network", connection + DELIVERED) },
    seen: locations(20, PAGES[0]!, PAGES[0]!),
  },
  "Progress.requests counts each request when the service resets connections": {
    resetsConnections: true,
    gives: { rows: 60, uncounted: 0, tooSoon: 0 },
    // These repeat the second and the third request by themselves: see src/client/transport.ts.
    givesIn: {
      workerd: { rows: 60, uncounted: 2, tooSoon: 2 },
      Chromium: { rows: 60, uncounted: 2, tooSoon: 2 },
    },
    seen: locations(25, "Id:1169", "Id:1344"),
  },
};
