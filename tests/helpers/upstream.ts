import { DataStream, type DataStreamOptions } from "../../mod.ts";
import { FakeClock } from "./fake_clock.ts";

/** What a scripted service answers to one request. */
export type Reply = Response | Error | ((request: Request) => Response | Promise<Response>);

/** A page as the service writes it. */
export function page(rows: object[], nextLink?: string, headers: HeadersInit = {}): Response {
  return Response.json(
    { value: rows, ...(nextLink && { "@odata.nextLink": nextLink }) },
    { headers },
  );
}

/**
 * A service that gives the replies in order, and keeps the requests; for a client's options. A
 * fault is met by no second attempt, unless the test says so.
 */
export function upstream(...replies: Reply[]): {
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
      baseUrl: "https://upstream.invalid/v1/odata/v4",
      clock: new FakeClock(),
      retry: { attempts: 1 },
      // deno-lint-ignore require-await -- a rejection, as fetch gives it, not a throw
      fetch: async (request) => {
        requests.push(request);
        const reply = replies[requests.length - 1];
        if (reply === undefined) throw new Error("asked more often than the test has replies");
        if (reply instanceof Error) throw reply;
        return typeof reply === "function" ? reply(request) : reply;
      },
    },
  };
}

/** The root address of that service. */
export const ROOT = "https://upstream.invalid/v1/odata/v4";

/** A client with the default retry options, and what it sends to a service that gives the replies. */
interface RetryingClient {
  client: DataStream;
  clock: FakeClock;
  requests: Request[];
  /** Times (ms) at which the requests were sent. */
  times: number[];
  /** Returns the page sizes of the requests. */
  tops(): number[];
}

/** Creates a client that retries, and a service that gives the replies in order. */
export function retryingClient(
  replies: Reply[],
  options: DataStreamOptions = {},
): RetryingClient {
  const service = upstream(...replies);
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
