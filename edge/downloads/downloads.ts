import { DataStreamError, oneLine } from "../../src/errors.ts";
import { isMeasured } from "../../src/odata/query_options.ts";
import type { ResourceName } from "../../src/odata/resources.ts";
import type { Access } from "./access.ts";
import type { Settings } from "./app_options.ts";
import { citeAs } from "./cited_doi.ts";
import { downloadResponse } from "./download.ts";
import { toDisposition, toFileName } from "./file_name.ts";
import { type AnyQuery, type FormatName, FORMATS, negotiate } from "./formats.ts";
import type { Gate, Pass } from "./gate.ts";
import {
  type DownloadOptions,
  OPTIONS,
  readOptions,
  readPairs,
  requireCsvOptions,
} from "./options.ts";
import { badRequest, faultProblem, HttpProblem } from "./problem.ts";
import { type Asked, pageSize, queryOf } from "./resource_query.ts";

/** Seconds after which a caller who found no place may find one. */
const COME_BACK = "30";
/** Past so many rows the client splits a query, and counts for it. */
const SPLIT_ROWS = 1_000_000;

/** Answers requests for the rows of a resource. */
export class Downloads {
  /**
   * @param settings The server's
   * @param access Who may download
   * @param gate How many may at once
   */
  constructor(
    readonly settings: Settings,
    readonly access: Access,
    readonly gate: Gate,
  ) {}

  /**
   * Answers a request for a resource.
   *
   * @param extension The format that the path names; undefined where the request negotiates it
   * @throws {HttpProblem} What the caller is to be told instead
   */
  async answer(
    request: Request,
    resource: ResourceName,
    extension?: FormatName,
  ): Promise<Response> {
    const { access, settings } = this;
    const client = await access.admit(request);
    const { options, format } = understand(() => {
      const given = readPairs(new URL(request.url), [...OPTIONS, ...access.urlOptions]);
      const options = readOptions(given, extension);
      const format = extension ?? negotiate(request, resource, options.format);
      requireCsvOptions(given, format);
      return { options, format };
    });
    const { filter, select, limit, skipToken, box, count } = options;
    const top = pageSize(resource, options, settings.pageRows);
    const asked: Asked = { select, filter, limit, skipToken, box, top };
    const streamOf = (query: AnyQuery) => FORMATS[format].stream(query, options.csv);
    const stream = understand(() => streamOf(queryOf(client, resource, asked)));
    const headers = understand(() => this.#headers(resource, extension, format, options));
    // Answered before the work begins: hono would run it all and drop the body.
    if (request.method === "HEAD") return new Response(null, { headers });
    const { signal } = request;
    const countRows = () => queryOf(client, resource, { ...asked, signal }).count();
    const pass = this.enter();
    if (count) {
      return await this.hold(pass, async () => {
        const body = { count: await countRows() };
        return new Response(`${JSON.stringify(body)}\n`, { headers });
      });
    }
    try {
      const isSmall = await this.#isSmall(limit, countRows);
      return await downloadResponse({
        // Counted already: the client need not count again to see whether it must split.
        stream: isSmall && isMeasured(resource)
          ? streamOf(queryOf(client, resource, { ...asked, partition: "never" }))
          : stream,
        headers,
        signal,
        readerTimeout: settings.readerTimeout,
        clock: settings.clock,
        onFault: (error) => settings.log(`A download of ${resource} broke: ${oneLine(error)}`),
        onEnd: pass.end,
      });
    } catch (error) {
      pass.end();
      throw this.toProblem(error, `A download of ${resource}`);
    }
  }

  /** A place among the open downloads. */
  enter(): Pass {
    const pass = this.gate.enter();
    if (pass !== undefined) return pass;
    throw new HttpProblem({
      status: 503,
      title: "Too many downloads",
      detail: `${this.gate.most} downloads are open, as many as this server takes at once`,
      hint: `come back in ${COME_BACK} s`,
    }, { "retry-after": COME_BACK });
  }

  /** Does work that asks the service, in a place among the open downloads. */
  async hold<T>(pass: Pass, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.toProblem(error, "A request");
    } finally {
      pass.end();
    }
  }

  /** A fault of the service as what the caller is told; what is no caller's doing is logged. */
  toProblem(error: unknown, what: string): unknown {
    if (!(error instanceof DataStreamError)) return error;
    const problem = faultProblem(error, this.settings.access === "caller");
    if (problem.problem.status >= 500) this.settings.log(`${what} failed: ${oneLine(error)}`);
    return problem;
  }

  /**
   * Refuses what has more rows than a download may; a count is asked only where it may have.
   *
   * @returns Whether they are known to be so few that nothing need be split
   */
  async #isSmall(limit = Infinity, countRows: () => Promise<number>): Promise<boolean> {
    const { maxRows } = this.settings;
    if (limit <= maxRows) return false;
    const rows = await countRows();
    if (rows <= maxRows) return rows <= SPLIT_ROWS;
    throw new HttpProblem({
      status: 413,
      title: "Result too large",
      detail: `The filter gives ${rows} rows, and a download here may have ${maxRows}`,
      hint: `narrow the filter, by years or regions, or set limit=${maxRows}`,
    });
  }

  #headers(
    resource: ResourceName,
    extension: FormatName | undefined,
    format: FormatName,
    { filter, fileName = resource.toLowerCase(), count }: DownloadOptions,
  ): Record<string, string> {
    const { synthetic } = this.settings;
    const { vary, cacheControl } = this.access;
    const varies = [...(extension === undefined ? ["accept"] : []), ...(vary ? [vary] : [])];
    const link = citeAs(filter);
    const name = toFileName(synthetic ? `synthetic-${fileName}` : fileName, format);
    return {
      "content-type": `${count ? "application/json" : FORMATS[format].mediaType}; charset=utf-8`,
      "cache-control": cacheControl,
      ...(!count && { "content-disposition": toDisposition(name) }),
      ...(varies.length > 0 && { vary: varies.join(", ") }),
      ...(link && { link }),
    };
  }
}

/** Whatever an option is refused by, the caller is told as a problem. */
export function understand<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof HttpProblem ? error : badRequest(error);
  }
}
