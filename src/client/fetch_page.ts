// One request for one page or count: how it is built, sent and retried.
import { createRetryDecider, PageSize, type RetryDecider } from "./retry.ts";
import { endpoint } from "../endpoint/endpoint.ts";
import type { RequestOptions } from "../endpoint/types.ts";
import { abortable } from "../clock.ts";
import { DataStreamError, ValidationError } from "../errors.ts";
import { ID_FIELD } from "../formats/page_writer.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { FailedAttempt } from "./http_error.ts";
import type { Progress } from "./progress.ts";
import type { ClientSettings } from "./options.ts";
import { type ResponseReader, sendRequest } from "./transport.ts";

/** One HTTP request for one page. */
export interface PageRequest {
  resource: ResourceName;
  /** Fields of the rows; `undefined` for all. */
  select: readonly string[] | undefined;
  /** Whether to check the rows by their `Id`, which is then requested too. */
  checksIds: boolean;
  filter: string | undefined;
  /** Maximum number of rows on the page. */
  top: number;
  /** Skip token after which the page begins; `undefined` for the start. */
  position: string | undefined;
  /** Number of rows still wanted, on this page and later ones. */
  rowsWanted: number;
  /** Ids of rows that were already delivered, and are left out. Default: none. */
  omittedIds?: ReadonlySet<number>;
  /**
   * Maximum number of rows on the whole page, if its first rows were delivered and only the others are requested. A
   * further row has already arrived then, so that an empty page is wrong. Default: the whole page is requested.
   */
  pageTop?: number;
}

/** One HTTP request for a number of rows. */
export interface CountRequest extends Pick<PageRequest, "resource" | "filter"> {
  top?: undefined;
  pageTop?: undefined;
}

/** One execution of a query: its requests, signal, progress, and the page size of each resource. */
export class Execution {
  #progress: Progress = {
    pages: 0,
    rows: 0,
    requests: 0,
    retries: 0,
    waits: 0,
    expectedRows: undefined,
    retrying: undefined,
  };
  /** Page sizes of the resources of which the service has refused a page. */
  readonly #pageSizes = new Map<ResourceName, PageSize>();

  constructor(
    readonly settings: ClientSettings,
    readonly signal: AbortSignal,
    readonly onProgress: (progress: Progress) => void = () => {},
  ) {}

  /** Progress of the query. */
  get progress(): Progress {
    return this.#progress;
  }

  /**
   * Requests a page or a count, and retries until a response can be read.
   *
   * @param request Returns the request of the next attempt; after a response that was too large or too slow,
   *   it is sent with a lower `top`
   * @param read Returns the reader of a response, which throws a `DataStreamError` if it is not a response
   *   to the sent request. It can yield parts of the response before the response is complete
   * @throws {DataStreamError} The last error, with the number of attempts, if all attempts fail
   */
  async *request<P, T, R extends PageRequest | CountRequest>(
    request: () => R,
    read: (sent: R) => ResponseReader<P, T>,
  ): AsyncGenerator<P, T, void> {
    const { settings, signal } = this;
    const { clock } = settings;
    /** Sum of the waits for permits, and of the delays that the rate limiter or `Retry-After` caused. */
    let waited = 0;
    let decide: RetryDecider | undefined;
    for (;;) {
      const next = request();
      const { resource, pageTop = next.top } = next;
      // The size of the whole page is adapted: the rest of a page can be too short to tell which size works.
      const top = pageTop && this.limitTop(resource, pageTop);
      const sent: R = { ...next, top: top && Math.min(top, next.top!) };
      const queuedAt = clock.now();
      let isStarted = false;
      const onStart = () => {
        isStarted = true;
        const { requests, waits } = this.#progress;
        const wait = clock.now() - queuedAt;
        waited += wait;
        this.#update({ requests: requests + 1, waits: waits + wait });
      };
      const transport = { ...settings, maxWait: this.#maxWait(waited) };
      try {
        const options = toRequestOptions(settings, sent);
        const content = yield* sendRequest(options, transport, signal, onStart, read(sent));
        if (top !== undefined) this.#pageSizes.get(resource)?.succeeded(top, pageTop!);
        return content;
      } catch (error) {
        const failed = toFailedAttempt(error);
        if (!isStarted) waited += clock.now() - queuedAt;
        decide ??= createRetryDecider(settings.retry);
        const decision = decide(failed, top);
        const { blockTime } = decision;
        const isPenalized = blockTime !== undefined && await this.#penalize(blockTime);
        if (decision.action === "fail") throw decision.error;
        const { delay, top: nextTop } = decision;
        // Not the backoff of an outage of the service, which is short, and which a server limits as silence.
        const { kind, retryAfter } = failed.error;
        const waitsForTurn = kind === "rate-limit" || retryAfter !== undefined;
        if (waitsForTurn && delay > (this.#maxWait(waited) ?? Infinity)) throw failed.error;
        if (nextTop !== undefined && nextTop !== top) {
          const pageSize = this.#pageSizes.get(resource) ?? new PageSize();
          pageSize.shrinkTo(nextTop);
          this.#pageSizes.set(resource, pageSize);
        }
        const retrying = { fault: failed.error, wait: delay };
        this.#report({ retries: this.#progress.retries + 1, retrying });
        // After a 429, the rate limiter delays the next request, and `onStart` adds that wait.
        if (!isPenalized) {
          await this.#sleep(delay);
          if (waitsForTurn) waited += delay;
        }
        this.#update({ retrying: undefined });
      }
    }
  }

  /**
   * Returns the maximum time (ms) that the next attempt at a page or count may wait; `undefined` for no maximum.
   *
   * @param waited Sum of the earlier waits for this page or count
   */
  #maxWait(waited: number): number | undefined {
    // A response that has rows is no longer refused.
    if (this.#progress.rows > 0) return undefined;
    const max = this.settings.startLimits?.maxWait();
    return max && max - waited;
  }

  /** Returns the number of rows per page that the service can deliver, at most `top`. */
  limitTop(resource: ResourceName, top: number): number {
    return this.#pageSizes.get(resource)?.limit(top) ?? top;
  }

  /** Adds delivered rows to the progress, and reports it if they are the last of their page. */
  deliver(rows: number, isPageEnd: boolean): void {
    const { pages, rows: delivered } = this.#progress;
    this.#update({ rows: delivered + rows });
    if (isPageEnd) this.#report({ pages: pages + 1 });
  }

  /** Sets the number of rows that the service counted for the query. */
  expect(rows: number): void {
    this.#update({ expectedRows: rows });
  }

  /** Reports counted rows that were not received and are accepted. */
  acceptMissing(rows: number): void {
    this.#report({ missingRows: (this.#progress.missingRows ?? 0) + rows });
  }

  /** Applies a penalty to the key. Returns false if the rate limiter fails: this request then waits itself. */
  async #penalize(blockTime: number): Promise<boolean> {
    const { baseUrl, keyHash, rateLimiter } = this.settings;
    try {
      const target = { origin: new URL(baseUrl).origin, keyHash: await keyHash() };
      await abortable(Promise.resolve(rateLimiter.penalize(target, blockTime)), this.signal);
      return true;
    } catch {
      return false;
    }
  }

  async #sleep(milliseconds: number): Promise<void> {
    if (milliseconds === 0) return;
    await this.settings.clock.sleep(milliseconds, this.signal);
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

/** Treats a response that cannot be read as a failed attempt; rethrows any other error. */
function toFailedAttempt(error: unknown): FailedAttempt {
  if (error instanceof FailedAttempt) return error;
  if (error instanceof DataStreamError) return new FailedAttempt(error);
  throw error;
}

/** Builds the request for a page or a count. */
export function toRequestOptions(
  { baseUrl, headers }: Pick<ClientSettings, "baseUrl" | "headers">,
  request: PageRequest | CountRequest,
): RequestOptions {
  const route = `GET ${RESOURCES[request.resource].path}`;
  return endpoint(route, { baseUrl, headers, ...toSystemQueryOptions(request) });
}

/** Returns the system query options of a request. */
export function toSystemQueryOptions(request: PageRequest | CountRequest): SystemQueryOptions {
  if (request.top === undefined) return { $filter: request.filter, $count: "true" };
  return {
    $select: requestedFields(request)?.join(","),
    $filter: request.filter,
    $top: request.top,
    $skiptoken: request.position,
  };
}

/**
 * Returns the fields to request. `Id` is added for the checks of pages, unless this page is the whole
 * result. Without `Id`, a repeated row cannot be distinguished from a new one, and no page can be requested
 * after the last row.
 */
export function requestedFields(
  { select, checksIds, top, position, rowsWanted }: PageRequest,
): readonly string[] | undefined {
  const isWholeResult = position === undefined && top >= rowsWanted;
  if (select === undefined || !checksIds || isWholeResult || select.includes(ID_FIELD)) {
    return select;
  }
  return [...select, ID_FIELD];
}

/** Maximum length (bytes) of a request target: common gateways reject longer ones than 8 KB. */
export const MAX_TARGET_LENGTH = 8_000;

/** Returns the length (bytes) of the path and query of a URL. They are ASCII: one byte per character. */
export function targetLength(url: string): number {
  return url.length - new URL(url).origin.length;
}

/**
 * Checks the length of a request target. It leaves room: a skip token and a range of locations may still be
 * added to a URL of the maximum length.
 *
 * @throws {ValidationError} If the request target is longer than `MAX_TARGET_LENGTH`
 */
export function requireShortTarget(url: string): void {
  const length = targetLength(url);
  if (length <= MAX_TARGET_LENGTH) return;
  const option = new URL(url).searchParams.has("$filter") ? "filter" : "select";
  const problem = `makes a request of ${length} bytes, more than ${MAX_TARGET_LENGTH}`;
  throw new ValidationError(option, problem, {
    hint:
      "split a long list of the {filter} over several queries, or reduce the fields of {select}",
  });
}
