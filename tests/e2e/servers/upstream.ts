/** A stand-in for the service, on loopback. */
export interface Upstream extends AsyncDisposable {
  baseUrl: string;
  /** The requests so far. */
  readonly asked: Request[];
  /** Those for pages; one for a count is answered here. */
  readonly pages: Request[];
}

/** What answers a request for a page; the first one has number 1. */
export type Answer = (request: Request, number: number) => Response | Promise<Response>;

/**
 * Serves pages as a test wants them.
 *
 * @param count Number of rows that a count is answered with
 */
export function serveUpstream(answer: Answer, count: number): Upstream {
  const asked: Request[] = [];
  const pages: Request[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: closing.signal },
    (request) => {
      asked.push(request);
      if (/count=true/.test(request.url)) return Response.json({ value: String(count) });
      return answer(request, pages.push(request));
    },
  );
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}/v1/odata/v4`,
    asked,
    pages,
    async [Symbol.asyncDispose]() {
      closing.abort(); // what hangs still must not hold the test up
      await server.finished;
    },
  };
}

/** The options of an app over an upstream: no pace, and one attempt. */
export function over({ baseUrl }: Upstream, options: object = {}): object {
  return {
    access: "public",
    apiKey: "sandbox",
    baseUrl,
    requestsPerSecond: 1_000_000, // Infinity cannot stand in JSON
    retry: { attempts: 1 },
    ...options,
  };
}

/** How many rows a page has, how wide each is in bytes, and how many pages there are. */
export interface Shape {
  rows: number;
  width: number;
  pages: number;
}

/** Number of rows of all pages. */
export function rowsOf({ rows, pages }: Shape): number {
  return rows * pages;
}

/** The page that a request asks for, as JSON. */
export function pageFor({ url }: Request, { rows: most, width, pages }: Shape): string {
  const { origin, pathname, searchParams } = new URL(url);
  const rows = Math.min(most, Number(searchParams.get("$top")));
  const before = Number(/\d+/.exec(searchParams.get("$skiptoken") ?? "0")![0]);
  const comment = "x".repeat(width);
  const value = Array.from(
    { length: rows },
    (_, index) => `{"Id":${before + index + 1},"ResultComment":"${comment}"}`,
  );
  const next = `${origin}${pathname}?$skiptoken=Id:${before + rows}`;
  const link = before + rows < most * pages ? `,"@odata.nextLink":"${next}"` : "";
  return `{"value":[${value.join()}]${link}}`;
}

/** The path of a download of such pages. */
export const DOWNLOAD = "/Records.csv?$select=Id,ResultComment";

/** Text as an answer that says it is JSON. */
export function json(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** Whether a download is the whole of such pages. */
export function isWhole(csv: string, { rows, pages }: Shape): boolean {
  const lines = csv.split("\r\n");
  return csv.endsWith("\r\n") && lines.length === rows * pages + 2 &&
    lines.slice(1, -1).every((line, index) => line.startsWith(`${index + 1},`));
}
