import { assert, assertEquals } from "@std/assert";
import { type AppOptions, createApp, type EdgeApp } from "../../edge/app.ts";
import {
  createSandbox,
  type SandboxOptions,
  type SandboxStats,
} from "../../src/sandbox/service.ts";
// Loaded here, because a fake clock does not wait for the imports by the first requests.
import "../../edge/downloads/data_package.ts";
import "../../edge/page/page.ts";
import { FakeClock } from "./fake_clock.ts";
import { page, type ScriptedResponse, upstream } from "./upstream.ts";

export const SECRET = "a secret of a test, of thirty-two bytes and more";

/** Whether a request is the one for the versions of datasets, from which the server makes an `etag`. */
export function isVersionRequest({ url }: Request): boolean {
  const { pathname, searchParams } = new URL(url);
  return pathname.endsWith("/Metadata") &&
    /^DOI,Version,PublishedTimestamp\b/.test(searchParams.get("$select") ?? "");
}

/** Responds to requests for versions itself, so that tests need not count or script them. */
export function answerVersionRequests(
  fetch: NonNullable<AppOptions["fetch"]>,
): NonNullable<AppOptions["fetch"]> {
  return (request) => isVersionRequest(request) ? page([]) : fetch(request);
}

/** Creates an app over a sandbox with hostile names and a shared fake clock. */
export function overSandbox(
  options: SandboxOptions = {},
  appOptions: Partial<AppOptions> = {},
): { app: EdgeApp; apiKey: string; stats: SandboxStats; clock: FakeClock; log: string[] } {
  const clock = new FakeClock();
  const log: string[] = [];
  const { apiKey, url, fetch, stats } = createSandbox({
    hostileNames: true,
    now: () => clock.now(),
    ...options,
  });
  const app = createApp({
    access: "public",
    maxRows: Infinity,
    apiKey,
    baseUrl: url,
    fetch,
    clock,
    log: (line) => log.push(line),
    ...appOptions,
  });
  return { app, apiKey, stats, clock, log };
}

/** Creates an app over a service with scripted responses. They need no response for the versions. */
export function overUpstream(
  responses: ScriptedResponse[],
  appOptions: Partial<AppOptions> = {},
): { app: EdgeApp; requests: Request[]; log: string[]; clock: FakeClock } {
  const { options, requests } = upstream(...responses);
  const log: string[] = [];
  const app = createApp({
    ...options,
    fetch: answerVersionRequests(options.fetch),
    access: "public",
    maxRows: Infinity,
    // Each download sends the requests that the responses are for.
    cacheTtl: 0,
    log: (line) => log.push(line),
    ...appOptions,
  });
  return { app, requests, log, clock: options.clock };
}

/** Asserts that a response is a problem (RFC 9457) and returns its texts. */
export async function problemOf(response: Response): Promise<{ detail: string; hint: string }> {
  assertEquals(response.headers.get("content-type"), "application/problem+json");
  assertEquals(response.headers.get("cache-control"), "no-store");
  const { type, status, title, detail, hint = "" } = await response.json();
  assertEquals([type, status], ["about:blank", response.status]);
  assert(title && detail && !detail.includes("\n"));
  return { detail, hint };
}

export function headLines({ status, headers }: Response): string[] {
  // The ETag depends on Weir's version.
  const shown: Record<string, string> = { "x-request-id": "(random)", etag: "(hash)" };
  const lines = [...headers].map(([name, value]) => `${name}: ${shown[name] ?? value}`);
  return [String(status), ...lines.sort()];
}
