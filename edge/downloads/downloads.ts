import { oneLine } from "../../src/errors.ts";
import { isMeasured } from "../../src/odata/query_options.ts";
import type { ResourceName } from "../../src/odata/resources.ts";
import type { Access } from "./access.ts";
import type { Settings } from "./app_options.ts";
import { BadOption } from "./bad_option.ts";
import { citeAs } from "./cited_doi.ts";
import { downloadResponse } from "./download.ts";
import { toDisposition, toFileName } from "./file_name.ts";
import { type FormatName, FORMATS, negotiate } from "./formats.ts";
import type { Gate } from "./gate.ts";
import {
  type DownloadOptions,
  OPTIONS,
  readOptions,
  readPairs,
  requireCsvOptions,
} from "./options.ts";
import { HttpProblem, refusing, tellFault } from "./problem.ts";
import { type Asked, pageSize, queryOf } from "./resource_query.ts";

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
    const { options, format } = refusing(() => {
      const given = readPairs(new URL(request.url), [...OPTIONS, ...access.urlOptions]);
      const options = readOptions(given, extension);
      const format = extension ?? negotiate(request, resource, options.format);
      requireCsvOptions(given, format);
      return { options, format };
    });
    const { filter, select, limit, skipToken, box, count } = options;
    const top = pageSize(resource, options, settings.pageRows);
    const asked: Asked = { select, filter, limit, skipToken, box, top };
    const streamOf = (asked: Asked) =>
      FORMATS[format].stream(queryOf(client, resource, asked), options.csv);
    const { stream, headers } = refusing(() => {
      requirePlace(resource, options);
      return {
        stream: streamOf(asked),
        headers: this.#headers(resource, extension, format, options),
      };
    });
    // Answered before the work begins: hono would run it all and drop the body.
    if (request.method === "HEAD") return new Response(null, { headers });
    const { signal } = request;
    const countRows = () => queryOf(client, resource, { ...asked, signal }).count();
    const pass = this.gate.enter();
    try {
      if (count) {
        const body = { count: await countRows() };
        pass.end();
        return new Response(`${JSON.stringify(body)}\n`, { headers });
      }
      const isSmall = await this.#isSmall(limit, countRows);
      // Counted already: the client need not count again to see whether it must split. And one that
      // goes on from a place goes on in the order in which that place is one.
      const isWhole = isMeasured(resource) && (isSmall || skipToken !== undefined);
      return await downloadResponse({
        stream: isWhole ? streamOf({ ...asked, partition: "never" }) : stream,
        headers,
        signal,
        readerTimeout: settings.readerTimeout,
        clock: settings.clock,
        onFault: (error) => settings.log(`A download of ${resource} broke: ${oneLine(error)}`),
        onEnd: pass.end,
      });
    } catch (error) {
      pass.end();
      throw tellFault(error, `A download of ${resource}`, settings);
    }
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
    const name = `${synthetic ? "synthetic-" : ""}${toFileName(fileName, format)}`;
    return {
      "content-type": `${count ? "application/json" : FORMATS[format].mediaType}; charset=utf-8`,
      "cache-control": cacheControl,
      ...(!count && { "content-disposition": toDisposition(name) }),
      ...(varies.length > 0 && { vary: varies.join(", ") }),
      ...(link && { link }),
    };
  }
}

/** Refuses a place that is none in the order in which the rows come: some would be lost. */
function requirePlace(
  resource: ResourceName,
  { skipToken, box, count, limit }: DownloadOptions,
): void {
  if (skipToken !== undefined && box !== undefined && isMeasured(resource)) {
    throw new BadOption(
      'Option "$skiptoken" does not go with "bbox", whose rows come location by location: leave one out',
    );
  }
  if (count && (skipToken !== undefined || limit !== undefined)) {
    const name = limit === undefined ? "$skiptoken" : "limit";
    throw new BadOption(`Option "${name}" does not count: leave it out, "$count" counts all rows`);
  }
}
