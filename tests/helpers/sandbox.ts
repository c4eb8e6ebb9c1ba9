import { DataStream, type DataStreamOptions } from "../../mod.ts";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/service.ts";
import { FakeClock } from "./fake_clock.ts";

export function sandboxAndClient(
  options: SandboxOptions = {},
  clientOptions: DataStreamOptions = {},
): { sandbox: Sandbox; client: DataStream; clock: FakeClock } {
  const clock = new FakeClock();
  const sandbox = createSandbox({ hostileNames: true, now: () => clock.now(), ...options });
  const client = new DataStream({
    apiKey: sandbox.apiKey,
    baseUrl: sandbox.url,
    fetch: sandbox.fetch,
    clock,
    ...clientOptions,
  });
  return { sandbox, client, clock };
}

/** Creates a sandbox with hostile names and without a rate limit, and functions that request data from it. */
export function sandboxRequests(options: SandboxOptions = {}): {
  sandbox: Sandbox;
  get: (resource: string, query?: Record<string, string | number>) => Promise<Response>;
  rows: (
    resource: string,
    query?: Record<string, string | number>,
  ) => Promise<Record<string, unknown>[]>;
  count: (resource: string, filter?: string) => Promise<number>;
} {
  const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity, ...options });
  const get = (resource: string, query: Record<string, string | number> = {}) => {
    const pairs = Object.entries(query)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    const url = `${sandbox.url}/${resource}${pairs.length ? "?" : ""}${pairs.join("&")}`;
    return sandbox.fetch(url, { headers: { "x-api-key": sandbox.apiKey } });
  };
  const read = async (response: Response) => {
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text);
  };
  return {
    sandbox,
    get,
    async rows(resource, query) {
      const body = await read(await get(resource, { $top: 10_000, ...query }));
      if (body["@odata.nextLink"]) throw new Error("The result has more than one page");
      return body.value;
    },
    async count(resource, filter) {
      const query = { $count: "true", ...(filter && { $filter: filter }) };
      return (await read(await get(resource, query))).value;
    },
  };
}
