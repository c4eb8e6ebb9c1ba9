import type { DataStream } from "../src/client/datastream.ts";
import { DataStreamError, oneLine } from "../src/errors.ts";
import type { CsvOptions } from "../src/formats/csv_options.ts";
import { type FormatName, FORMATS } from "../src/formats/formats.ts";
import type { BoundingBox } from "../src/odata/bounding_box.ts";
import { parseFilter } from "../src/odata/parse_filter.ts";
import { isMeasured, placeBox } from "../src/odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../src/odata/resources.ts";
import type { Access } from "./access.ts";
import type { Gate } from "./concurrency_limit.ts";
import { downloadResponse } from "./download_response.ts";
import { type AnyQuery, type Bytes, negotiate } from "./negotiate.ts";
import type { Settings } from "./options.ts";
import { HttpProblem, refusing, tellFault } from "./problem.ts";
import {
  BadOption,
  type DownloadOptions,
  OPTIONS,
  readOptions,
  readPairs,
  requireCsvOptions,
} from "./search_params.ts";

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
        stream: streamOf(queryOf(client, resource, asked), format, options.csv),
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

function streamOf(query: AnyQuery, format: FormatName, csv: CsvOptions): Bytes {
  return format === "csv" ? query.csv(csv) : query[format]!();
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

/** What is asked of a resource, its name known only when a request comes. */
interface Asked {
  select?: string | undefined;
  filter?: string | undefined;
  box?: BoundingBox | undefined;
  top?: number | undefined;
  limit?: number | undefined;
  skipToken?: string | undefined;
  partition?: "never" | undefined;
  maxRows?: number | undefined;
  signal?: AbortSignal | undefined;
}

const METHODS = {
  Metadata: "metadata",
  Locations: "locations",
  Observations: "observations",
  Records: "records",
} as const satisfies Record<ResourceName, keyof DataStream>;

type Methods = Record<typeof METHODS[ResourceName], (query: object) => AnyQuery>;

/**
 * A query of a resource; a box is a filter where the resource has positions, else `within`.
 *
 * @throws {TypeError} If a name is none of the resource's
 * @throws {SyntaxError} If the filter is not of the service's grammar
 * @throws {RangeError} If a number or a side of the box is out of range
 */
export function queryOf(client: DataStream, resource: ResourceName, asked: Asked): AnyQuery {
  const { filter, box, partition, ...query } = asked;
  const methods = client as unknown as Methods;
  return methods[METHODS[resource]]({
    ...query,
    ...placeBox(resource, filter, box),
    ...(isMeasured(resource) && { partition }),
  });
}

/** A page of fewer rows is asked for by nobody who wants many: a request is what costs. */
const SMALL_PAGE = 1_000;

/**
 * The page size to ask for: at least 1000 rows or all that are wanted, and at most what the server
 * allows.
 */
function pageSize(
  resource: ResourceName,
  { top, limit = Infinity }: Pick<Asked, "top" | "limit">,
  pageRows: number,
): number {
  const wanted = top === undefined
    ? RESOURCES[resource].pageSize
    : Math.max(top, Math.min(SMALL_PAGE, limit));
  return Math.min(wanted, pageRows);
}

/** A name may be as long as that, in characters; file systems take 255 bytes. */
const LONGEST_NAME = 60;
/** Nobody means a longer one; it would take long to read. */
const LONGEST_WANTED = 1_000;
/** Names that a system keeps for devices, whatever their extension. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * The name of a download's file: without what could lead out of a folder, hide what it is, or end
 * the header it stands in, and with the format's extension, whatever the caller's was.
 *
 * @param wanted The caller's, with an extension or without
 * @param extension The format's
 * @throws {BadOption} If nothing is left of it
 */
export function toFileName(wanted: string, extension: string): string {
  if (wanted.length > LONGEST_WANTED) {
    throw new BadOption(`Option "filename" is ${LONGEST_WANTED} characters at most, got more`);
  }
  // Everything that is not shown, or shown elsewhere: controls, marks of direction, halves of pairs.
  const shown = wanted.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").replace(/[\\/:*?"<>|]/g, "-");
  const ending = new RegExp(`\\.(${Object.keys(FORMATS).join("|")})$`, "i");
  const bare = shown.trim().replace(ending, "").replace(/^[\s.-]+/, "");
  let end = bare.length;
  // A pattern such as /[\s.]+$/ takes time quadratic in the number of dots.
  while (end > 0 && /[\s.]/.test(bare[end - 1]!)) end--;
  const name = Array.from(bare.slice(0, end)).slice(0, LONGEST_NAME).join("").trimEnd();
  if (name === "") {
    throw new BadOption(`Option "filename" must hold a name of a file, got "${wanted}"`);
  }
  return `${DEVICES.test(name) ? "_" : ""}${name}.${extension}`;
}

/**
 * A `content-disposition` header that saves a file, with its name in ASCII and as it is.
 *
 * Source: RFC 6266, section 4.3 and appendix D; RFC 8187.
 */
export function toDisposition(name: string): string {
  // Some letters are taken apart into marks that a name must not hold; a percent sign could be
  // taken for an encoded octet.
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "")
    .replace(/[^ -~]|[\\/:*?"<>|%]/gu, "_").replace(/^\./, "_.");
  const encoded = encodeURIComponent(name)
    .replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/**
 * A `link` header that says how to cite what a filter of one dataset gives.
 *
 * Source: RFC 8574.
 *
 * @param filter A filter that the client has taken
 * @returns The header's value; undefined where the filter names no DOI, or several
 */
export function citeAs(filter: string | undefined): string | undefined {
  if (filter === undefined) return undefined;
  const dois = parseFilter(filter)
    .filter(({ field, operator }) => field === "DOI" && (operator === "eq" || operator === "in"))
    .flatMap(({ values }) => values.map(({ text }) => text));
  const [doi = ""] = dois;
  if (new Set(dois).size !== 1 || !/^10\.\d{4,9}\/\S+$/.test(doi)) return undefined;
  const path = doi.split("/").map(encodeURIComponent).join("/");
  return `<https://doi.org/${path}>; rel="cite-as"`;
}
