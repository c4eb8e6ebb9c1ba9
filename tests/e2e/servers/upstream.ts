import { isVersionRequest } from "../../helpers/edge.ts";

/** A fake service on loopback. It answers requests for the versions of datasets itself. */
export interface Upstream extends AsyncDisposable {
  baseUrl: string;
  readonly requests: Request[];
  /** Requests for pages so far, without those for the versions of datasets. */
  readonly pages: Request[];
}

/** Serves pages (the first one has number 1), counts, and no versions of datasets. */
export function serveUpstream(
  handlePage: (request: Request, number: number) => Response | Promise<Response>,
  count: number,
): Upstream {
  const requests: Request[] = [];
  const pages: Request[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: closing.signal },
    (request) => {
      requests.push(request);
      if (isVersionRequest(request)) return Response.json({ value: [] });
      if (/count=true/.test(request.url)) return Response.json({ value: String(count) });
      return handlePage(request, pages.push(request));
    },
  );
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1/odata/v4`,
    requests,
    pages,
    async [Symbol.asyncDispose]() {
      closing.abort(); // a graceful shutdown would wait for stalled responses
      await server.finished;
    },
  };
}

/** Returns options of an app for a service, without a page cache, a rate limit or a limit per client, and with one attempt. */
export function appOptionsFor({ baseUrl }: Upstream, options: object = {}): object {
  return {
    access: "public",
    apiKey: "sandbox",
    baseUrl,
    requestsPerSecond: 1_000_000, // JSON has no Infinity
    retry: { attempts: 1 },
    cacheTtl: 0, // each download requests its own pages
    maxDownloadsPerClient: 1_000_000,
    ...options,
  };
}

/** Returns environment variables of a server for a service, without a rate limit. */
export function environmentFor({ baseUrl }: Upstream): Record<string, string> {
  return {
    WEIR_ACCESS: "public",
    DATASTREAM_API_KEY: "a-secret-key",
    DATASTREAM_BASE_URL: baseUrl,
    WEIR_REQUESTS_PER_SECOND: "1000000",
  };
}

export interface ResultShape {
  /** Rows per page. */
  rows: number;
  /** Size of the text in each row, in bytes. */
  width: number;
  pages: number;
}

/** Returns the number of rows on all pages. */
export function rowsOf({ rows, pages }: ResultShape): number {
  return rows * pages;
}

export function pageFor({ url }: Request, { rows: maxRows, width, pages }: ResultShape): string {
  const { origin, pathname, searchParams } = new URL(url);
  const rows = Math.min(maxRows, Number(searchParams.get("$top")));
  const before = Number(/\d+/.exec(searchParams.get("$skiptoken") ?? "0")![0]);
  const comment = "x".repeat(width);
  const value = Array.from(
    { length: rows },
    (_, index) => `{"Id":${before + index + 1},"ResultComment":"${comment}"}`,
  );
  const next = `${origin}${pathname}?$skiptoken=Id:${before + rows}`;
  const link = before + rows < maxRows * pages ? `,"@odata.nextLink":"${next}"` : "";
  return `{"value":[${value.join()}]${link}}`;
}

/** Serves the pages of a result. */
export function servePages(shape: ResultShape): Upstream {
  return serveUpstream((request) => jsonResponse(pageFor(request, shape)), rowsOf(shape));
}

/** Path of a download with the fields of `pageFor()`. */
export const DOWNLOAD = "/Records.csv?$select=Id,ResultComment";

export function jsonResponse(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

export function isComplete(csv: string, { rows, pages }: ResultShape): boolean {
  const lines = csv.split("\r\n");
  return csv.endsWith("\r\n") && lines.length === rows * pages + 2 &&
    lines.slice(1, -1).every((line, index) => line.startsWith(`${index + 1},`));
}
