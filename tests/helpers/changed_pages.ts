import type { DataStream, DataStreamOptions } from "../../mod.ts";
import { sandboxAndClient } from "./sandbox.ts";
import type { Sandbox, SandboxOptions } from "../../src/sandbox/service.ts";

/** A page as the sandbox sends it. */
export interface PageBody {
  value: Record<string, unknown>[];
  "@odata.nextLink"?: string | undefined;
  error?: unknown;
}

/** A request for a page. */
export interface PageRequest {
  url: URL;
  /** Number of the request among those for pages; the first one has number 1. */
  number: number;
}

/** Changes a page or returns a response that replaces it. */
export type Change = (page: PageBody, request: PageRequest) => PageBody | Response;

/**
 * Creates a client of a sandbox whose pages are changed.
 *
 * @param change Changes each page
 * @param sandboxOptions Options of the sandbox
 * @param clientOptions Options of the client
 * @param count Object that replaces the response to each count request
 */
export function clientOfChangedPages(
  change: Change,
  sandboxOptions: SandboxOptions = {},
  clientOptions: DataStreamOptions = {},
  count?: { value: number },
): { client: DataStream; sandbox: Sandbox; pages: () => number } {
  const { sandbox } = sandboxAndClient({
    requestsPerSecond: Infinity,
    ...sandboxOptions,
  });
  let pages = 0;
  const { client } = sandboxAndClient({}, {
    apiKey: sandbox.apiKey,
    requestsPerSecond: Infinity,
    async fetch(request) {
      const response = await sandbox.fetch(request);
      const url = new URL(request.url);
      if (count !== undefined && url.searchParams.has("$count")) return Response.json(count);
      if (response.status !== 200 || url.searchParams.has("$count")) {
        return response;
      }
      const changed = change(await response.json(), { url, number: ++pages });
      // Omits the Link header, which would name the next page if a test removes the link.
      return changed instanceof Response ? changed : Response.json(changed);
    },
    ...clientOptions,
  });
  return { client, sandbox, pages: () => pages };
}

/** Removes the next link of a page. */
export function withoutLink({ value }: PageBody): PageBody {
  return { value };
}
