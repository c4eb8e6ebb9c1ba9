import { DataStreamError, oneLine } from "../../src/errors.ts";
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
    const asked: Asked = {
      select,
      filter,
      limit,
      skipToken,
      box,
      top,
      maxRows: settings.maxRows,
      // A position is one in the order of Ids, which the parts of a query do not keep.
      partition: skipToken === undefined ? undefined : "never",
    };
    const { stream, headers } = refusing(() => {
      requirePlace(resource, options);
      return {
        stream: FORMATS[format].stream(queryOf(client, resource, asked), options.csv),
        headers: this.#headers(resource, extension, format, options),
      };
    });
    // Answered before the work begins: hono would run it all and drop the body.
    if (request.method === "HEAD") return new Response(null, { headers });
    const { signal } = request;
    const pass = this.gate.enter();
    try {
      if (count) {
        const body = { count: await queryOf(client, resource, { ...asked, signal }).count() };
        pass.end();
        return new Response(`${JSON.stringify(body)}\n`, { headers });
      }
      return await downloadResponse({
        stream,
        headers,
        signal,
        readerTimeout: settings.readerTimeout,
        clock: settings.clock,
        onFault: (error) => settings.log(`A download of ${resource} broke: ${oneLine(error)}`),
        onEnd: pass.end,
      });
    } catch (error) {
      pass.end();
      throw tooManyRows(error, settings) ?? tellFault(error, `A download of ${resource}`, settings);
    }
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

/** The problem of a result with more rows than a download may have; undefined for any other error. */
function tooManyRows(error: unknown, { maxRows }: Settings): HttpProblem | undefined {
  if (!(error instanceof DataStreamError) || error.kind !== "too-many-rows") return undefined;
  return new HttpProblem({
    status: 413,
    title: "Result too large",
    detail: `The filter gives ${error.expectedRows} rows, and a download here may have ${maxRows}`,
    hint: `narrow the filter, by years or regions, or set limit=${maxRows}`,
  });
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
