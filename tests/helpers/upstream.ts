import { DataStream, type DataStreamOptions } from "../../mod.ts";
import { FakeClock } from "./fake_clock.ts";

/** A response of a scripted service, an error, or a function that responds. */
export type ScriptedResponse =
  | Response
  | Error
  | ((request: Request) => Response | Promise<Response>);

/** Creates the response of the service for a page. */
export function page(rows: object[], nextLink?: string, headers: HeadersInit = {}): Response {
  return Response.json(
    { value: rows, ...(nextLink && { "@odata.nextLink": nextLink }) },
    { headers },
  );
}

/**
 * Creates client options for a service that sends the given responses in order.
 *
 * Requests are recorded. The options disable retries.
 */
export function upstream(...responses: ScriptedResponse[]): {
  requests: Request[];
  options: Required<Pick<DataStreamOptions, "fetch" | "apiKey" | "baseUrl" | "retry">> & {
    clock: FakeClock;
  };
} {
  const requests: Request[] = [];
  return {
    requests,
    options: {
      apiKey: "k3y-of-a-test",
      baseUrl: ROOT,
      clock: new FakeClock(),
      retry: { attempts: 1 },
      // deno-lint-ignore require-await -- fetch() rejects instead of throwing
      fetch: async (request) => {
        requests.push(request);
        const response = responses[requests.length - 1];
        if (response === undefined) throw new Error("More requests than scripted responses");
        if (response instanceof Error) throw response;
        return typeof response === "function" ? response(request) : response;
      },
    },
  };
}

/** Base URL of that service. */
export const ROOT = "https://upstream.invalid/v1/odata/v4";

/** A client with the default retry options, and its requests to a scripted service. */
interface RetryingClient {
  client: DataStream;
  clock: FakeClock;
  requests: Request[];
  /** Times (ms) at which the requests were sent. */
  times: number[];
  /** Returns the page sizes of the requests. */
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
