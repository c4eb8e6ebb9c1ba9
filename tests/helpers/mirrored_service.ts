import { DataStream } from "../../mod.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import type { DatasetRow } from "../../src/sync/manifest.ts";
import { FakeClock } from "./fake_clock.ts";

/** Time (ms since 1970) of the service. */
export const NOW = Date.parse("2026-11-28T12:00:00Z");

/** The synthetic service, whose datasets can be published again, vanish, or fail. */
export class MirroredService {
  now = NOW;
  /** Requests in order: resource with the last letters of the DOI, `count` or `Metadata`. */
  readonly requests: string[] = [];
  /** Changes the datasets that Metadata returns. */
  edit: (rows: DatasetRow[]) => DatasetRow[] = (rows) => rows;
  /** Changes a page of rows of a dataset. */
  onRows: (doi: string, rows: Record<string, unknown>[]) => unknown = (_, rows) => rows;
  readonly #sandbox: ReturnType<typeof createSandbox>;

  constructor(records = 500, locations = 20) {
    this.#sandbox = createSandbox({ records, locations, requestsPerSecond: Infinity });
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const resource = /\w+$/.exec(pathname)![0];
    const [, doi = ""] = /DOI eq '([^']*)'/.exec(searchParams.get("$filter") ?? "") ?? [];
    const isCount = searchParams.has("$count");
    this.requests.push(isCount ? "count" : `${resource}${doi && ` ${doi.slice(-4)}`}`);
    const response = await this.#sandbox.fetch(request);
    if (!response.ok || isCount) return response;
    const body = await response.json();
    body.value = resource === "Metadata"
      ? this.edit(body.value)
      : resource === "Locations"
      ? body.value
      : this.onRows(doi, body.value);
    if (body.value instanceof Response) return body.value;
    const headers = { date: new Date(this.now).toUTCString() };
    return Response.json(body, { headers });
  };

  /** Publishes a dataset again, with one row less. */
  publish(doi: string, version: string, at: string): void {
    const { edit, onRows } = this;
    this.edit = (rows) =>
      edit(rows).map((row) =>
        row.DOI === doi ? { ...row, Version: version, PublishedTimestamp: at } : row
      );
    this.onRows = (of, rows) => {
      const found = onRows(of, rows) as typeof rows;
      return of === doi ? found.slice(1) : found;
    };
  }

  client(): DataStream {
    const { apiKey, url } = this.#sandbox;
    return new DataStream({
      apiKey,
      baseUrl: url,
      fetch: this.fetch,
      clock: new FakeClock(),
      requestsPerSecond: Infinity,
      retry: { attempts: 2 },
    });
  }
}
