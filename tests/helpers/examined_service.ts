import { createSandbox } from "../../src/sandbox/service.ts";
import { weir } from "./run_weir.ts";
import { ROOT } from "./upstream.ts";

export const KEY = "k3y-of-a-test";

// deno-lint-ignore no-explicit-any -- each service changes other members
export type Body = any;
export interface Exchange {
  /** Decoded query string. */
  query: string;
  resource: string;
  body: Body;
  status: number;
  headers: Headers;
}
/** Changes an answer of the sandbox. */
export type Change = (answer: Exchange) => unknown;

export interface Found {
  code: number;
  differing: string[];
  checks: { check: string; result: string; detail?: string }[];
  requests: Request[];
  output: string;
  errors: string[];
}

/** Runs `weir doctor --json` against a sandbox with changed answers. */
export async function examine(
  change: Change = () => {},
  args: string[] = [],
  environment: Record<string, string> = { DATASTREAM_API_KEY: KEY },
): Promise<Found> {
  const sandbox = createSandbox({ apiKey: KEY, records: 300, requestsPerSecond: Infinity });
  const requests: Request[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (input) => {
    const request = input as Request;
    requests.push(request);
    const response = await sandbox.fetch(request.url, request);
    const url = new URL(request.url);
    const headers = new Headers(response.headers);
    headers.set("date", new Date().toUTCString());
    headers.set("content-encoding", "gzip");
    const answer: Exchange = {
      query: decodeURIComponent(url.search),
      resource: url.pathname.split("/").at(-1)!,
      body: await response.json(),
      status: response.status,
      headers,
    };
    await change(answer);
    const { body, status } = answer;
    return new Response(typeof body === "string" ? body : JSON.stringify(body), {
      status,
      headers,
    });
  };
  try {
    const line = ["doctor", "--base-url", ROOT, "--json", ...args];
    const { code, output, errors } = await weir(line, { environment });
    const { checks } = JSON.parse(output);
    const differing = checks.filter(({ result }: Found["checks"][number]) => result === "differs")
      .map(({ check }: Found["checks"][number]) => check);
    return { code, differing, checks, requests, output, errors };
  } finally {
    globalThis.fetch = fetch;
  }
}
