import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { PageSize } from "./page_size.ts";
import type { Progress } from "./progress.ts";
import { holdBack } from "./rate_limiter.ts";
import { Attempts, type RetryPolicy } from "./retry.ts";
import { type Answer, FailedAttempt, send, type Transport } from "./transport.ts";

/** What a run needs of the client. */
export interface Service extends Transport {
  baseUrl: string;
  headers: Record<string, string | undefined>;
  retry: RetryPolicy;
}

/** One thing to ask for, as often as it takes. */
interface Question<T> {
  resource: ResourceName;
  /** The page size wanted; undefined where there are no rows to have fewer of. */
  top: number | undefined;
  /** The request for a page of that size. */
  request(top: number | undefined): RequestOptions;
  /** Reads a whole answer to a request for `top` rows; throws if it is not what was requested. */
  read(answer: Answer, top: number | undefined): T;
}

/** One consumption of a query: its signal, its progress, and the page size that the service can bear. */
export class Run {
  #progress: Progress = {
    pages: 0,
    rows: 0,
    requests: 0,
    retries: 0,
    waits: 0,
    expectedRows: undefined,
    retrying: undefined,
  };
  readonly #pageSizes = new Map<ResourceName, PageSize>();

  constructor(
    readonly service: Service,
    readonly signal: AbortSignal,
    readonly onProgress: (progress: Progress) => void = () => {},
  ) {}

  /** How far the query has come. */
  get progress(): Progress {
    return this.#progress;
  }

  /** Counts a page that is about to be passed on, and reports it. */
  passOn(rows: number): void {
    const { pages, rows: before } = this.#progress;
    this.#report({ pages: pages + 1, rows: before + rows });
  }

  /** The page size that the service can deliver of a resource. */
  pageSizeOf(resource: ResourceName): PageSize {
    const pageSize = this.#pageSizes.get(resource) ?? new PageSize();
    this.#pageSizes.set(resource, pageSize);
    return pageSize;
  }

  /** Says how many rows are expected in all. */
  expect(rows: number): void {
    this.#update({ expectedRows: rows });
  }

  /** Records rows that are missing and are accepted as missing, and reports it. */
  acceptMissing(rows: number): void {
    this.#report({ missingRows: (this.#progress.missingRows ?? 0) + rows });
  }

  /**
   * Asks until there is a whole answer that can be read, or nothing more helps.
   *
   * @throws {DataStreamError} The last fault, with the number of attempts
   */
  async ask<T>({ resource, top: wanted, request, read }: Question<T>): Promise<T> {
    const { service, signal } = this;
    const { clock } = service;
    const { origin } = new URL(service.baseUrl);
    const attempts = new Attempts(service.retry);
    const pageSize = this.pageSizeOf(resource);
    for (;;) {
      const top = wanted === undefined ? undefined : pageSize.limit(wanted);
      const asked = clock.now();
      const onStart = () => {
        const { requests, waits } = this.#progress;
        this.#update({ requests: requests + 1, waits: waits + clock.now() - asked });
      };
      try {
        const content = read(
          await send(request(top), service, signal, onStart),
          top,
        );
        if (top !== undefined) pageSize.succeeded(top, wanted!);
        return content;
      } catch (error) {
        const failed = toFailedAttempt(error);
        const { end, hold, wait, top: nextTop } = attempts.after(failed, top);
        if (hold !== undefined) holdBack(origin, { clock, key: service.apiKey }, hold);
        if (end !== undefined) throw end;
        if (nextTop !== undefined && nextTop !== top) {
          pageSize.shrinkTo(nextTop);
        }
        const retrying = { fault: failed.fault, wait };
        this.#report({ retries: this.#progress.retries + 1, retrying });
        // Whoever is held back waits in line, where the wait is counted.
        if (hold === undefined) await this.#pause(wait);
        this.#update({ retrying: undefined });
      }
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    if (milliseconds === 0) return;
    await this.service.clock.sleep(milliseconds, this.signal);
    this.#update({ waits: this.#progress.waits + milliseconds });
  }

  #update(changes: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...changes };
  }

  #report(changes: Partial<Progress>): void {
    this.#update(changes);
    this.onProgress(this.#progress);
  }
}

/** A whole answer that cannot be read is a failed attempt too; anything else is no fault to meet. */
function toFailedAttempt(error: unknown): FailedAttempt {
  if (error instanceof FailedAttempt) return error;
  if (error instanceof DataStreamError) return new FailedAttempt(error);
  throw error;
}

/** The longest request target that is sent: common gateways refuse one over 8 KB. */
export const LONGEST_TARGET = 8_000;

/** The request for a page of a resource, or for a count. */
export function toRequestOptions(
  { baseUrl, headers }: Pick<Service, "baseUrl" | "headers">,
  resource: ResourceName,
  options: SystemQueryOptions,
): RequestOptions {
  return endpoint(`GET ${RESOURCES[resource].path}`, { baseUrl, headers, ...options });
}

/** The bytes of a URL's path and query, which are ASCII. */
export function targetLength(url: string): number {
  return url.length - new URL(url).origin.length;
}

/**
 * Refuses a request whose target is too long; a place to go on from and a range of locations may
 * still be added to one that passes.
 *
 * @throws {ValidationError} If it is; the message says what to do
 */
export function requireShortTarget(url: string): void {
  const length = targetLength(url);
  if (length <= LONGEST_TARGET) return;
  const option = new URL(url).searchParams.has("$filter") ? "filter" : "select";
  const problem = `makes a request of ${length} bytes, more than ${LONGEST_TARGET}`;
  throw new ValidationError(option, problem, {
    hint:
      "split a long list of the {filter} over several queries, or reduce the fields of {select}",
  });
}
