import { createSandbox } from "../../../src/sandbox/service.ts";
import { type RequestHead, serveAnyOrigin } from "../any_origin_server.ts";
import { serveResetting } from "../resetting_server.ts";
import { Stall } from "../servers/stall.ts";
import { waitFor } from "../wait_for.ts";
import { ABORTED_PATH, KEY } from "./behaviours.ts";

export const SANDBOX_OPTIONS = {
  records: 300,
  apiKey: KEY,
  hostileNames: true,
  requestsPerSecond: Infinity,
};

/** A request to a service and ways to respond to it. */
export interface RequestContext {
  request: Request;
  /** Number of the request; the first one has number 1. */
  number: number;
  respond(): Promise<Response>;
  /** Stalls a response within its body. */
  stall: Stall;
}

export type ServiceHandler = (context: RequestContext) => Response | Promise<Response>;

export interface Service extends AsyncDisposable {
  baseUrl: string;
  /** Returns the requests so far: path, decoded query, and a note if the key is missing or wrong. */
  requests(): string[];
}

const ROOT_PATH = "/v1/odata/v4";

export function serve(handle: ServiceHandler = ({ respond }) => respond()): Service {
  const sandbox = createSandbox(SANDBOX_OPTIONS);
  const stall = new Stall("within a page");
  let number = 0;
  const service = serveAnyOrigin(async (request) => {
    if (request.url.endsWith(ABORTED_PATH)) {
      await waitFor(() => stall.isAborted, "the abort of the stalled request");
      return new Response("aborted");
    }
    return await handle({
      request,
      number: ++number,
      respond: () => sandbox.fetch(request),
      stall,
    });
  });
  return {
    baseUrl: service.origin + ROOT_PATH,
    requests: () =>
      service.requests
        .filter(({ method, url }) => method !== "OPTIONS" && !url.endsWith(ABORTED_PATH))
        .map(describe),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Serves the sandbox's data and resets reused connections. */
export async function serveWithResets(secure: boolean): Promise<Service> {
  const sandbox = createSandbox(SANDBOX_OPTIONS);
  const withKey = (request: Request) => sandbox.fetch(request, { headers: { "x-api-key": KEY } });
  const service = await serveResetting(withKey, secure);
  return {
    baseUrl: service.origin + ROOT_PATH,
    requests: () => service.received.map(decodeTarget),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

function describe({ url, headers }: RequestHead): string {
  const { pathname, search } = new URL(url);
  const key = headers.get("x-api-key");
  return decodeTarget(pathname + search) +
    (key === KEY ? "" : key === null ? ", no key" : ", another key");
}

/** Returns the decoded path and query without the root path. */
function decodeTarget(target: string): string {
  return decodeURIComponent(target.replace(`${ROOT_PATH}/`, ""));
}
