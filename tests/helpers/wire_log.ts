import { DataStream, DataStreamError, type DataStreamOptions, type Query } from "../../mod.ts";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/service.ts";
import { FakeClock } from "./fake_clock.ts";

/** Time (ms) from a request to the headers of its response. */
const LATENCY = 40;

/** Replaces a response of the sandbox; `undefined` leaves it unchanged. */
export type ResponseFault = (
  request: { number: number; url: URL; answer: () => Promise<Response> },
) => Response | Error | undefined | Promise<Response | undefined>;

/** Requests in the order in which they were sent. */
export interface WireLog {
  /** Each request as `<time> ms, <name of its headers>: <method> <url>`. */
  readonly requests: readonly string[];
  readonly clock: FakeClock;
  /** Creates a client whose requests are logged; clients share the clock and the sandbox. */
  createClient(options?: DataStreamOptions): DataStream;
}

/** Sets of headers by name, shared by the logs of one file. */
export class HeaderSets {
  readonly #names = new Map<string, string>();

  /** Returns the name of a request's headers: `A` for the first ones, `B` for the next ones. */
  nameOf(headers: Headers): string {
    const text = JSON.stringify(Object.fromEntries(headers))
      // The version changes with each release.
      .replace(/weir\/[\w.-]+/, "weir/<version>");
    const name = this.#names.get(text) ?? String.fromCharCode(65 + this.#names.size);
    this.#names.set(text, name);
    return name;
  }

  toJSON(): Record<string, unknown> {
    return Object.fromEntries([...this.#names].map(([text, name]) => [name, JSON.parse(text)]));
  }
}

/** Logs the requests of clients to a sandbox on a fake clock. */
export function wireLog(
  headerSets: HeaderSets,
  sandboxOptions: SandboxOptions = {},
  fault: ResponseFault = () => undefined,
): WireLog {
  const clock = new FakeClock();
  const sandbox = createSandbox({
    hostileNames: true,
    records: 350,
    locations: 12,
    now: () => clock.now(),
    ...sandboxOptions,
  });
  const requests: string[] = [];
  const fetch = async (request: Request) => {
    const { method, url, headers } = request;
    requests.push(`${round(clock.now())} ms, ${headerSets.nameOf(headers)}: ${method} ${url}`);
    const number = requests.length;
    await clock.sleep(LATENCY);
    const answer = () => {
      // Every key is valid, so that two can be used at the same time.
      const known = new Headers(headers);
      known.set("x-api-key", sandbox.apiKey);
      return sandbox.fetch(new Request(request, { headers: known }));
    };
    const replaced = await fault({ number, url: new URL(url), answer });
    if (replaced instanceof Error) throw replaced;
    return replaced ?? await answer();
  };
  return {
    requests,
    clock,
    createClient: (options) =>
      new DataStream({ apiKey: "key", baseUrl: sandbox.url, fetch, clock, ...options }),
  };
}

/** Removes floating-point errors from a time (ms). */
function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

/** Consumes a query and returns a description of the result. */
export type Consumption = (query: AnyQuery) => Promise<string>;

/** A query of any resource. */
export type AnyQuery = Query<object> & {
  geojson?: () => ReadableStream<Uint8Array<ArrayBuffer>>;
};

/** Functions that consume a query, by name. */
export const CONSUMPTIONS: Readonly<Record<string, Consumption>> = {
  "iteration": async (query) => describeRows(await Array.fromAsync(query)),
  "pages()": async (query) => {
    const pages = await Array.fromAsync(query.pages());
    return `${await describeRows(pages.flat())} in pages of ${pages.map(({ length }) => length)}`;
  },
  "rows()": async (query) => describeRows(await Array.fromAsync(query.rows())),
  "toArray()": async (query) => describeRows(await query.toArray()),
  "csv()": (query) => describeBytes(query.csv()),
  "csv() with options": (query) =>
    describeBytes(query.csv({ separator: ";", header: false, bom: true, escapeFormulas: true })),
  "ndjson()": (query) => describeBytes(query.ndjson()),
  "json()": (query) => describeBytes(query.json()),
  "geojson()": (query) => describeBytes(query.geojson!()),
  "count()": async (query) => `${await query.count()}`,
};

async function describeRows(rows: readonly object[]): Promise<string> {
  return `${rows.length} rows, ${await hash(new TextEncoder().encode(JSON.stringify(rows)))}`;
}

async function describeBytes(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const chunks = await Array.fromAsync(stream);
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
  return `${bytes.length} bytes, ${await hash(bytes)}, in ${chunks.length} chunks`;
}

/** Returns the first 6 bytes of a SHA-256 hash in hexadecimal. */
async function hash(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).slice(0, 6).toHex();
}

/** Returns the result of a function, or describes its error by type and properties. */
export async function outcomeOf(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DataStreamError)) return `rejects: ${(error as Error).name}`;
    const { kind, status, rows, skipToken, expectedRows } = error;
    return `rejects: ${JSON.stringify({ kind, status, rows, skipToken, expectedRows })}`;
  }
}

/** Runs a function while `Math.random()`, which varies the backoff, returns 0.5. */
export async function withoutRandomness<T>(work: () => Promise<T>): Promise<T> {
  const { random } = Math;
  Math.random = () => 0.5;
  try {
    return await work();
  } finally {
    Math.random = random;
  }
}
