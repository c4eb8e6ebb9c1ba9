import type { Clock } from "../../src/clock.ts";
import { ROOT } from "./upstream.ts";

/** A service of rows with an Id and a text, whose datasets can be published again. */
export class PublishedService {
  /** Texts of the rows; the Id of the first row is 1. */
  rows: readonly string[];
  /** Datasets, with the times (ms) of their publications as Metadata says them. */
  datasets = [{ doi: "10.1/a", version: 1, publishedAt: -3_600_000 }];
  /** Whether pages have a link to the next one. */
  hasLinks = true;
  /** Requests in order: skip token and page size, `count` or `versions`. */
  readonly requests: string[] = [];

  /** @param delay Returns the duration (ms) of a request */
  constructor(rows: readonly string[], readonly clock: Clock, readonly delay = () => 10) {
    this.rows = rows;
  }

  readonly fetch = async ({ url, signal }: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(url);
    await this.clock.sleep(this.delay(), signal);
    const headers = { date: new Date(this.clock.now()).toUTCString() };
    if (pathname.endsWith("/Metadata")) {
      this.requests.push("versions");
      const value = this.datasets.map(({ doi, version, publishedAt }) => ({
        Id: doi,
        DOI: doi,
        Version: `${version}`,
        PublishedTimestamp: new Date(publishedAt).toISOString(),
      }));
      return Response.json({ value }, { headers });
    }
    if (searchParams.has("$count")) {
      this.requests.push("count");
      return Response.json({ value: this.rows.length }, { headers });
    }
    const token = searchParams.get("$skiptoken");
    const top = Number(searchParams.get("$top"));
    this.requests.push(`${token} ${top}`);
    const first = token === null ? 0 : Number(token.slice(3));
    const value = this.rows.slice(first, first + top)
      .map((DOI, index) => ({ Id: first + index + 1, DOI }));
    const link = this.hasLinks && first + top < this.rows.length
      ? `${new URL(ROOT).origin}${pathname}?$skiptoken=Id:${first + top}`
      : undefined;
    return Response.json({ value, "@odata.nextLink": link }, { headers });
  };

  /** Returns the document of all rows. */
  get text(): string {
    return ['"Id","DOI"', ...this.rows.map((row, index) => `${index + 1},${row}`), ""].join("\r\n");
  }
}
