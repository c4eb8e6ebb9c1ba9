// What a user of each interface gets in twelve situations of the service and its firewall: the recorded table has the
// requests that were sent, the result, and what is read first. No cell names a wrong cause.
import { assertGolden } from "../helpers/golden.ts";
import { DataStream, DataStreamError } from "../../mod.ts";
import { systemClock } from "../../src/clock.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { type AppOptions, createApp } from "../../edge/app.ts";
import "../../edge/page/page.ts"; // a fake clock does not wait for an import
import { FakeClock } from "../helpers/fake_clock.ts";
import { weir } from "../helpers/run_weir.ts";
import { Random } from "../properties/random.ts";
import { textOf } from "./edge/page/pages.ts";

const DOI = "10.25976/weir-aa00";
const ONE = `DOI eq '${DOI}'`;
const LONG = [DOI, ...Array.from({ length: 120 }, (_, index) => `10.25976/weir-none-${index}`)];

/** A query, in OData and as parameters of the page. */
interface Situation {
  filter?: string;
  page?: string;
  apiKey?: string;
  firewall?: boolean;
  /** Replaces the response to a request: by its number, and the time (ms) since the first one. */
  answer?: (number: number, time: number) => Response | Promise<Response> | undefined;
}

const forbidden = () => new Response("<html>403 Forbidden</html>", { status: 403 });
const busy = () =>
  Response.json({ error: "Too Many Requests", message: null, status: 429 }, { status: 429 });
const refused = () =>
  Promise.reject(
    new TypeError("fetch failed", {
      cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    }),
  );
const block = (minutes: number): Situation => ({
  answer: (_, time) => time < minutes * 60_000 ? busy() : undefined,
});

const SITUATIONS: Readonly<Record<string, Situation>> = {
  "long query": {
    firewall: true,
    filter: `DOI in (${LONG.map((doi) => `'${doi}'`)})`,
    page: `dataset=${LONG}`,
  },
  apostrophe: {
    firewall: true,
    filter: "CharacteristicName eq 'o,p''-DDT'",
    page: `characteristic=${encodeURIComponent("o,p'-DDT")}`,
  },
  "403 once": { answer: (number) => number === 1 ? forbidden() : undefined },
  "403 for ever": { answer: forbidden },
  "rejected key": { apiKey: "wrong" },
  "block of 2 minutes": block(2),
  "block of 5 minutes": block(5),
  "block of 14 minutes": block(14),
  "refused connections": { answer: refused },
  silence: { answer: () => new Promise(() => {}) },
  "status 503": { answer: () => new Response("", { status: 503 }) },
  "HTML with status 200": {
    answer: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  },
};

/** What an interface shows: the result, and what the user reads. */
type Shown = readonly [result: string, text: string];

type Service = ReturnType<typeof serviceOf>;

let services = 0;
/** Each case has a clock and an address of its own, because clients in a process share what they know of a service. */
function serviceOf({ apiKey, firewall = false, answer }: Situation, clock: FakeClock) {
  const start = clock.now();
  const now = () => clock.now();
  const sandbox = createSandbox({ records: 200, locations: 8, firewall, now });
  const service = {
    clock,
    requests: 0,
    apiKey: apiKey ?? sandbox.apiKey,
    baseUrl: `https://service-${++services}.invalid/v1/odata/v4`,
    fetch: async (request: Request) =>
      await answer?.(++service.requests, clock.now() - start) ?? await send(request),
  };
  const send = (request: Request) => {
    if (answer === undefined) service.requests++;
    return sandbox.fetch(request);
  };
  return service;
}

const cliClock = new FakeClock();
Object.assign(systemClock, {
  now: () => cliClock.now(),
  sleep: (...sleep: Parameters<FakeClock["sleep"]>) => cliClock.sleep(...sleep),
});

const INTERFACES: Readonly<
  Record<string, (service: Service, situation: Situation) => Promise<Shown>>
> = {
  async library({ requests: _, ...options }, { filter = ONE }) {
    try {
      const rows = await new DataStream(options).records({ filter, select: ["Id"] }).toArray();
      return [`${rows.length} rows`, ""];
    } catch (error) {
      if (!(error instanceof DataStreamError)) throw error;
      return [`error of kind ${error.kind}`, error.message];
    }
  },
  async "command line"({ apiKey, baseUrl, fetch }, { filter = ONE }) {
    const { fetch: original } = globalThis;
    globalThis.fetch = (input, init) => fetch(new Request(input, init));
    try {
      const environment = {
        DATASTREAM_API_KEY: apiKey,
        DATASTREAM_BASE_URL: baseUrl,
        WEIR_REQUESTS_PER_SECOND: "2",
      };
      const clock = { now: () => NOW + cliClock.now(), sleep: systemClock.sleep };
      const line = ["records", "--select", "Id", "--filter", filter];
      const { code, errors, output } = await weir(line, { environment, clock });
      const isShown = code === 0 ? /^DataStream/ : /^(?!Requesting)/;
      const read = errors.filter((text) => isShown.test(text));
      return [
        code === 0 ? `${output.trim().split("\n").length - 1} rows` : `exit ${code}`,
        read.join(" ⏎ "),
      ];
    } finally {
      globalThis.fetch = original;
    }
  },
  async server(service, { filter = ONE }) {
    const query = new URLSearchParams({ $select: "Id", $filter: filter });
    const response = await appOf(service).request(`/Records.csv?${query}`);
    const text = await response.text();
    if (response.status === 200) return [`${text.trim().split("\r\n").length - 1} rows`, ""];
    const { detail, hint } = JSON.parse(text);
    return [`status ${response.status}`, `${detail}: ${hint}`];
  },
  async page(service, { page = `dataset=${DOI}` }) {
    const response = await appOf(service).request(`/?${page}`);
    const html = await response.text();
    const [, alert = ""] = /role="alert"[^>]*>(.*?)<\/div>/s.exec(html) ?? [];
    return [`status ${response.status}`, textOf(alert).replace(/ Request [-\w]{36}$/, "")];
  },
};

const NOW = Date.UTC(2026, 10, 28, 10, 42);

function appOf({ clock, requests: _, ...service }: Service) {
  const options: AppOptions = { ...service, clock, access: "public", log() {} };
  return createApp({ ...options, now: () => NOW + clock.now() });
}

Deno.test("each interface gives the recorded result in each situation of the service", async () => {
  const rows = [
    "| situation | interface | requests | result | what is read |",
    "|---|---|---|---|---|",
  ];
  for (const [name, situation] of Object.entries(SITUATIONS)) {
    for (const [of, show] of Object.entries(INTERFACES)) {
      const random = new Random(1);
      Math.random = () => random.next();
      const clock = of === "command line" ? cliClock : new FakeClock();
      const start = clock.now();
      const service = serviceOf(situation, clock);
      const [result, text] = await show(service, situation);
      const time = Math.round((clock.now() - start) / 1_000);
      const read = text.replace(/\d\d:\d\d UTC/g, "10:42 UTC").replaceAll(service.baseUrl, "BASE")
        .replaceAll(new URL(service.baseUrl).host, "HOST");
      rows.push(`| ${name} | ${of} | ${service.requests} | ${result}, ${time} s | ${read} |`);
    }
  }
  await assertGolden(rows.join("\n") + "\n", "situations.txt");
});
