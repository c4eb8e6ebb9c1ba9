import { createSandbox } from "../../../src/sandbox/service.ts";
import { type Came, serveAnyOrigin } from "../../helpers/any_origin_server.ts";
import { serveResetting } from "../../helpers/resetting_server.ts";
import { Silence } from "../servers/silence.ts";
import { until } from "../../helpers/until.ts";
import { KEY, LEFT, RECEIVED } from "./behaviours.ts";

/** The data of all services. */
export const DATA = { records: 300, apiKey: KEY, requestsPerSecond: Infinity };

/** What an answer can be made of. */
export interface Asked {
  request: Request;
  /** 1 for the first request. */
  number: number;
  /** The answer of a service without a fault. */
  whole(): Promise<Response>;
  /** Falls silent in the middle of an answer. */
  silence: Silence;
  /** An origin that nothing is to be asked of. */
  elsewhere: string;
}

/** How a service answers. */
export type Answer = (asked: Asked) => Response | Promise<Response>;

/** A service of one behaviour, and what it has seen. */
export interface Service extends AsyncDisposable {
  baseUrl: string;
  /** The requests so far: path, query as it is meant, and `no key` where there is none. */
  seen(): string[];
  /** The requests to the origin that nothing is to be asked of. */
  seenElsewhere(): string[];
}

const ROOT_PATH = "/v1/odata/v4";

/** Serves the sandbox's data on loopback, as a behaviour needs them. */
export function serve(answer: Answer = ({ whole }) => whole()): Service {
  const sandbox = createSandbox(DATA);
  const silence = new Silence("within a page");
  const elsewhere = serveAnyOrigin(() => new Response("nobody's", { status: 418 }));
  let number = 0;
  const service = serveAnyOrigin(async (request) => {
    if (request.url.endsWith(LEFT)) {
      await until(() => silence.isAborted, "the reader to leave");
      return new Response("left");
    }
    return await answer({
      request,
      number: ++number,
      whole: () => sandbox.fetch(request),
      silence,
      elsewhere: elsewhere.origin,
    });
  });
  return {
    baseUrl: service.origin + ROOT_PATH,
    seen: () =>
      service.asked
        .filter(({ method, url }) => method !== "OPTIONS" && !url.endsWith(LEFT))
        .map(describe),
    seenElsewhere: () => elsewhere.asked.map(describe),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await elsewhere[Symbol.asyncDispose]();
    },
  };
}

/** Serves the sandbox's data and resets reused connections; a repeated request is listed once. */
export async function serveWithResets(): Promise<Service> {
  const sandbox = createSandbox(DATA);
  const withKey = (request: Request) => sandbox.fetch(request, { headers: { "x-api-key": KEY } });
  const service = await serveResetting(withKey, { listPath: RECEIVED });
  return {
    baseUrl: service.origin + ROOT_PATH,
    seen: () => [...new Set(service.received.map(({ target }) => readable(target)))],
    seenElsewhere: () => [],
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

function describe({ url, headers }: Came): string {
  const { pathname, search } = new URL(url);
  const key = headers.get("x-api-key");
  return readable(pathname + search) +
    (key === KEY ? "" : key === null ? ", no key" : ", another key");
}

/** A path below the service's root and a query, decoded. */
function readable(target: string): string {
  return decodeURIComponent(target.replace(`${ROOT_PATH}/`, ""));
}
