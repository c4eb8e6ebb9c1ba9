import { DataStream, type DataStreamOptions } from "../../mod.ts";
import { FakeClock } from "./fake_clock.ts";

export type ScriptedResponse =
  | Response
  | Error
  | ((request: Request) => Response | Promise<Response>);

const pages = new WeakSet<Response>();

export function page(rows: object[], nextLink?: string, headers: HeadersInit = {}): Response {
  const body = { value: rows, ...(nextLink && { "@odata.nextLink": nextLink }) };
  const response = Response.json(body, { headers });
  pages.add(response);
  return response;
}

export function pageOf(body: string): Response {
  const response = new Response(body, { headers: { "content-type": "application/json" } });
  pages.add(response);
  return response;
}

/**
 * Creates client options for a service that sends the given responses in order.
 *
 * Requests are recorded. The options disable retries. A count that is requested after the last response is the number of
 * different rows of all `page()` and `pageOf()`, and is not recorded.
 */
export function upstream(...responses: ScriptedResponse[]): {
  requests: Request[];
  options: Required<Pick<DataStreamOptions, "fetch" | "apiKey" | "baseUrl" | "retry">> & {
    clock: FakeClock;
  };
} {
  const requests: Request[] = [];
  const sent: Response[] = [];
  return {
    requests,
    options: {
      apiKey: "k3y-of-a-test",
      baseUrl: ROOT,
      clock: new FakeClock(),
      retry: { attempts: 1 },
      fetch: async (request) => {
        if (requests.length === responses.length && request.url.includes("count=true")) {
          return Response.json({ value: await countRows(sent) });
        }
        requests.push(request);
        const scripted = responses[requests.length - 1];
        if (scripted === undefined) throw new Error("More requests than scripted responses");
        if (scripted instanceof Error) throw scripted;
        const response = typeof scripted === "function" ? await scripted(request) : scripted;
        if (pages.has(response)) sent.push(response.clone());
        return response;
      },
    },
  };
}

/** Counts the different rows of pages. A broken page has none. */
async function countRows(pages: readonly Response[]): Promise<number> {
  const rows = new Set<unknown>();
  for (const page of pages) {
    const { value } = await page.json().catch(() => ({}));
    for (const row of Array.isArray(value) ? value : []) rows.add(row.Id ?? row);
  }
  return rows.size;
}

export const ROOT = "https://upstream.invalid/v1/odata/v4";

/** A client with the default retry options, and its requests to a scripted service. */
interface RetryingClient {
  client: DataStream;
  clock: FakeClock;
  requests: Request[];
  /** Times (ms) at which the requests were sent. */
  times: number[];
  tops(): number[];
}

/** Creates a client that retries, and a service that sends the given responses in order. */
export function retryingClient(
  responses: ScriptedResponse[],
  options: DataStreamOptions = {},
): RetryingClient {
  const service = upstream(...responses);
  const { clock } = service.options;
  const times: number[] = [];
  const fetch = (request: Request) => {
    times.push(clock.now());
    return service.options.fetch(request);
  };
  const client = new DataStream({ ...service.options, fetch, retry: {}, ...options });
  const tops = () =>
    service.requests.map(({ url }) => Number(new URL(url).searchParams.get("$top")));
  return { client, clock, times, tops, requests: service.requests };
}
