// Expected results of each behaviour in every runtime, and the responses of its service.
import { DataStream } from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { type BehaviourName, textsOf } from "./behaviours.ts";
import { SANDBOX_OPTIONS, type ServiceHandler } from "./services.ts";

export interface Case {
  /** Responds to requests; default: the sandbox. */
  respond?: ServiceHandler;
  /** Whether the service resets a connection when a second request arrives on it. The runtime may repeat the request. */
  resets?: true;
  /** Expected result, or a function of the runtime and the requests; `BASE` replaces the base URL of the service. */
  result: unknown;
  requests: string[];
}

const PAGES = ["Id:1134", "Id:1274"];
const COUNT = "Locations?$count=true";
const locations = (top: number, ...tokens: string[]) => [
  `Locations?$select=Id&$top=${top}`,
  ...tokens.map((token) => `Locations?$select=Id&$top=${top}&$skiptoken=${token}`),
];
const second = locations(20, PAGES[0]!);
/** Requests for 300 records; the client counts them after the first page. */
const RECORDS = [
  "Records?$top=100",
  "Records?$count=true",
  "Records?$top=100&$skiptoken=Id:500300",
  "Records?$top=100&$skiptoken=Id:500600",
];
const ids = (from: number, step: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + step * index);

/** Returns a response with fewer bytes than its Content-Length, so that the connection is closed. */
const closedEarly = () =>
  new Response(ReadableStream.from([new TextEncoder().encode('{"value":[{"Id":41,')]), {
    headers: { "content-type": "application/json", "content-length": "1000" },
  });

/** Sends half of the second page, then stalls until the client aborts. */
const stallSecondPage: ServiceHandler = async ({ request, number, respond, stall }) =>
  number === 1 ? respond() : stall.respond(request, await (await respond()).text());

/** Creates a client of a sandbox in this process, with the data of the services. */
function createLocalClient(): DataStream {
  const { apiKey, url, fetch } = createSandbox(SANDBOX_OPTIONS);
  return new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
}

export const CASES: Record<BehaviourName, Case> = {
  "csv() and json() give the same text when runtimes differ": {
    result: await textsOf(createLocalClient().records({ top: 100 })),
    requests: [...RECORDS, ...RECORDS],
  },
  "pages() rejects with the reason when a signal aborts during a request": {
    respond: stallSecondPage,
    result: { rows: 20, isReason: true, isAborted: true },
    requests: second,
  },
  "toArray() rejects a redirect when its origin is different": {
    respond: () => Response.redirect("https://other.invalid/v1/odata/v4/Locations", 307),
    result: {
      kind: "status",
      detail: "DataStream responded with a redirect",
      hint:
        "check the base URL; redirects are not followed, because the API key is sent to one origin",
    },
    requests: locations(20),
  },
  "toArray() requests a page again when its connection closes early": {
    respond: ({ number, respond }) => number === 2 ? closedEarly() : respond(),
    result: ids(1001, 7, 60),
    requests: [...locations(20, PAGES[0]!, PAGES[0]!, PAGES[1]!), COUNT],
  },
  "Progress.requests counts each request when the service resets connections": {
    resets: true,
    // These runtimes repeat each request on a reused connection: see src/client/options.ts.
    result: (runtime: string, { length }: readonly string[]) => ({
      rows: 60,
      counted: ["workerd", "Chromium"].includes(runtime) ? length - 3 : length,
    }),
    requests: [...locations(25, "Id:1169", "Id:1344"), COUNT],
  },
};
