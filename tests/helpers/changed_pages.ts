import type { DataStream, DataStreamOptions } from "../../mod.ts";
import { sandboxAndClient } from "./sandbox.ts";
import type { Sandbox, SandboxOptions } from "../../src/sandbox/service.ts";

/** A page as the sandbox sends it. */
export interface PageBody {
  value: Record<string, unknown>[];
  "@odata.nextLink"?: string | undefined;
  error?: unknown;
}

/** A request for a page, and its number among them; the first is 1. */
export interface PageAsked {
  url: URL;
  number: number;
}

/** Changes a page; a Response is sent in its place. */
export type Change = (page: PageBody, asked: PageAsked) => PageBody | Response;

/** A client of a sandbox whose pages are changed on their way, and counts replaced where one is given. */
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
      // Without the Link header, whose next page a lost link would still name.
      return changed instanceof Response ? changed : Response.json(changed);
    },
    ...clientOptions,
  });
  return { client, sandbox, pages: () => pages };
}

/** A page without its link to the next one. */
export function withoutLink({ value }: PageBody): PageBody {
  return { value };
}
