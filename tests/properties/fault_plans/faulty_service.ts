import { FakeClock } from "../../helpers/fake_clock.ts";
import type { Fault } from "./faults.ts";
import {
  type Delivery,
  type FaultContext,
  type PageDraft,
  type ServiceRequest,
  toDelivery,
} from "./fault_kind.ts";
import { idOf, LINK_FORMS, toToken, withOptions } from "./links.ts";
import { type Plan, requestBound } from "./plan.ts";
import type { Random } from "../random.ts";
import { API_KEY, sandboxOf, type WireRow } from "./reference_rows.ts";

/** Shortest time (ms) between the starts of two requests, at two requests a second. */
const SPACING = 500;
/** Maximum `Retry-After` (ms) for which the client waits. */
const LONGEST_RETRY_AFTER = 120_000;

/** A request and its response. */
export interface Exchange {
  number: number;
  time: number;
  request: ServiceRequest;
  /** Faults that changed the response. */
  faults: Fault[];
  /** `undefined` without a response. */
  status: number | undefined;
  /** Text of a page or a count that arrives to its end; `undefined` otherwise. */
  text: string | undefined;
}

/** The sandbox rejected a request; the message is the body of its response. */
class RejectedRequest extends Error {}

/** Service of one plan: a sandbox with faults, which records all requests. */
export class FaultyService {
  readonly exchanges: Exchange[] = [];
  /** Violations of the rules for requests by the client: rate, overlap, origin, key. */
  readonly violations: string[] = [];
  readonly clock = new FakeClock();
  readonly baseUrl: string;
  #faults: readonly Fault[];
  #open: Exchange | undefined;
  #notBefore = 0;

  constructor(readonly plan: Plan, readonly random: Random) {
    this.#faults = plan.faults;
    // A separate host per plan: clients in one process share a rate limiter per origin.
    this.baseUrl = `https://plan-${plan.seed}.invalid/v1/odata/v4`;
  }

  /** Responds to a request; a value for the client's option `fetch`. */
  fetch = async (request: Request): Promise<Response> => {
    const exchange = this.#enter(request);
    const { signal } = request;
    try {
      const delivery = await this.#answer(exchange, signal);
      const { status, headers } = delivery;
      exchange.status = status;
      this.#block(exchange, delivery);
      return new Response(this.#body(exchange, delivery, signal), { status, headers });
    } catch (error) {
      this.#leave(exchange);
      throw error;
    }
  };

  /** Whether a response is pending or its body is being read. */
  get isBusy(): boolean {
    return this.#open !== undefined;
  }

  /** Disables all faults for later requests. */
  repair(): void {
    this.#faults = [];
    this.#notBefore = 0;
  }

  #enter(request: Request): Exchange {
    const url = new URL(request.url);
    const time = this.clock.now();
    const options = url.searchParams;
    const token = options.get("$skiptoken");
    const exchange: Exchange = {
      number: this.exchanges.length + 1,
      time,
      request: {
        url,
        resource: url.pathname.slice(url.pathname.lastIndexOf("/") + 1),
        filter: options.get("$filter") ?? undefined,
        top: Number(options.get("$top") ?? 10),
        position: token === null ? undefined : idOf(token),
        isCount: options.get("$count") === "true",
      },
      faults: [],
      status: undefined,
      text: undefined,
    };
    const last = this.exchanges.at(-1);
    const lastTime = last?.time ?? -Infinity;
    const isRepeated = last?.request.url.href === url.href &&
      (last.status === 403 || last.status === 429);
    const broken: [rule: string, isBroken: boolean][] = [
      [`sent to ${url.origin}`, !request.url.startsWith(`${this.baseUrl}/`)],
      ["key in the URL", request.url.includes(API_KEY)],
      ["no key", request.headers.get("x-api-key") !== API_KEY],
      ["follows redirects", !["manual", "error"].includes(request.redirect)],
      [`not encoded: ${url.search}`, /[$ ']/.test(url.search.replaceAll("%27", ""))],
      [`overlaps request ${this.#open?.number}`, this.#open !== undefined],
      ["repeats a refused request at once", isRepeated && time - lastTime < 2 * SPACING],
      [`less than ${SPACING} ms after the previous one`, time - lastTime < SPACING],
      [`${this.#notBefore - time} ms before the end of Retry-After`, time < this.#notBefore],
    ];
    for (const [rule, isBroken] of broken) {
      if (isBroken) this.violations.push(`request ${exchange.number} (${url.pathname}): ${rule}`);
    }
    this.exchanges.push(exchange);
    this.#open = exchange;
    request.signal.addEventListener("abort", () => this.#leave(exchange), { once: true });
    return exchange;
  }

  #leave(exchange: Exchange): void {
    if (this.#open === exchange) this.#open = undefined;
  }

  async #answer(exchange: Exchange, signal: AbortSignal): Promise<Delivery> {
    // Ends a run that requests without end.
    if (exchange.number > 2 * requestBound(this.plan)) return toDelivery("", 403);
    const { request, time } = exchange;
    const context: FaultContext = {
      request,
      random: this.random,
      clock: this.clock,
      signal,
      rowsAfter: async (position, top) =>
        (await this.#requestSandbox(withOptions(request.url, {
          "$top": String(Math.min(10_000, top)),
          "$skiptoken": position && `Id:${position}`,
        }))).value as WireRow[],
      linkTo: ({ $skiptoken: token, ...options }) =>
        withOptions(request.url, {
          ...options,
          "$skiptoken": token && toToken(idOf(token), this.plan.tokens),
        }).href,
    };
    const apply = (fault: Fault) => {
      fault.applied++;
      fault.since ??= time;
      exchange.faults.push(fault);
    };
    const due = (name: "respond" | "page" | "count" | "deliver") =>
      this.#faults.filter((fault) =>
        fault.kind[name] !== undefined && isDue(fault, exchange) &&
        (fault.kind.applies?.(context) ?? true)
      );
    for (const fault of due("respond")) {
      apply(fault);
      const answer = await fault.kind.respond!(context);
      if (answer === "reset") throw new TypeError("Connection reset by a fault");
      if (answer !== undefined) return answer;
    }
    try {
      const delivery = request.isCount
        ? await this.#count(context, due("count"), apply)
        : await this.#page(context, due("page"), apply);
      for (const fault of due("deliver")) {
        if (fault.kind.deliver!(delivery, context) !== false) apply(fault);
      }
      if (delivery.end === "close") exchange.text = new TextDecoder().decode(delivery.bytes);
      return delivery;
    } catch (error) {
      if (error instanceof RejectedRequest) return toDelivery(error.message, 400);
      throw error;
    }
  }

  /** After a response with `Retry-After`, no request may come earlier. */
  #block({ time, request }: Exchange, { status, headers }: Delivery): void {
    const seconds = headers["retry-after"] ?? "";
    if (![429, 503].includes(status) || !/^\d+$/.test(seconds)) return;
    // The server goes on without the versions of the datasets if the request for them fails.
    if (status === 503 && this.plan.reader === "server" && request.resource === "Metadata") return;
    const wait = Number(seconds) * 1_000;
    this.#notBefore = wait > LONGEST_RETRY_AFTER ? Infinity : time + wait;
  }

  async #requestSandbox(url: URL): Promise<{ value: unknown; "@odata.nextLink"?: string }> {
    const headers = { "x-api-key": API_KEY };
    const response = await sandboxOf(this.plan.size).fetch(url, { headers });
    const text = await response.text();
    if (response.status !== 200) throw new RejectedRequest(text);
    return JSON.parse(text);
  }

  async #count(
    { request }: FaultContext,
    faults: readonly Fault[],
    apply: (fault: Fault) => void,
  ): Promise<Delivery> {
    let { value } = await this.#requestSandbox(request.url);
    for (const fault of faults) {
      apply(fault);
      value = fault.kind.count!(Number(value));
    }
    return toDelivery(JSON.stringify({ value }));
  }

  async #page(
    context: FaultContext,
    faults: readonly Fault[],
    apply: (fault: Fault) => void,
  ): Promise<Delivery> {
    const { linkForm, linkPlaces } = this.plan;
    const response = await this.#requestSandbox(this.#urlOf(context.request));
    const next = response["@odata.nextLink"];
    const token = next && new URL(next).searchParams.get("$skiptoken");
    const link = token ? context.linkTo({ "$skiptoken": token }) : undefined;
    const page: PageDraft = {
      bodyLink: linkPlaces.includes("body") ? link : undefined,
      headerLink: linkPlaces.includes("header") ? link : undefined,
      rows: response.value as WireRow[],
      members: {},
    };
    for (const fault of faults) {
      if (await fault.kind.page!(page, context) !== false) apply(fault);
    }
    const formOf = (link: string | undefined) =>
      link?.startsWith(this.baseUrl) ? LINK_FORMS[linkForm]!(new URL(link)) : link;
    const text = JSON.stringify({
      "@data.context": `odata/v4/${context.request.resource}/$links/Metadata(Id=@DatasetId)`,
      value: page.rows,
      "@odata.nextLink": formOf(page.bodyLink),
      ...page.members,
    });
    const headerLink = formOf(page.headerLink);
    return toDelivery(text, 200, headerLink && { link: `<${headerLink}>; rel="next"` });
  }

  /** Returns the URL of a request for the sandbox, which has only tokens of the form `Id:<Id>`. */
  #urlOf({ url, position }: ServiceRequest): URL {
    const { tokens } = this.plan;
    if (tokens === "id" || position === undefined) return url;
    const isKnown = url.searchParams.get("$skiptoken") === toToken(position, tokens);
    if (tokens === "opaque" && !isKnown) {
      throw new RejectedRequest('{"message":"Invalid skiptoken"}');
    }
    // A service that ignores its quoted tokens reads those of the documented form.
    const isRead = tokens === "ignored" ? !isKnown : isKnown;
    return withOptions(url, { "$skiptoken": isRead ? `Id:${position}` : undefined });
  }

  #body(
    exchange: Exchange,
    { bytes, end, delay }: Delivery,
    signal: AbortSignal,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { random, clock } = this;
    const whole = Math.max(1, bytes.length);
    const length = random.pick([whole, whole, Math.ceil(whole / 3), 1_021]);
    // A slow body has few chunks, so that it ends.
    const chunk = delay > 0 ? Math.max(length, 5_000) : length;
    // The client delivers rows that have arrived when a body pauses.
    const pause = delay > 0 ? delay : random.pick([0, 0, 15]);
    let sent = 0;
    let abort: () => void;
    const leave = () => {
      signal.removeEventListener("abort", abort);
      this.#leave(exchange);
    };
    return new ReadableStream({
      start(controller) {
        abort = () => controller.error(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
      },
      async pull(controller) {
        if (pause > 0) await clock.sleep(random.int(1, pause), signal);
        if (sent < bytes.length) {
          const next = bytes.slice(sent, sent + chunk);
          sent += next.length;
          return controller.enqueue(next);
        }
        if (end === "hang") return await new Promise(() => {});
        leave();
        if (end === "reset") controller.error(new TypeError("Body reset by a fault"));
        else controller.close();
      },
      cancel: leave,
    }, { highWaterMark: 0 });
  }
}

/** Whether it is the turn of a fault to change a request. */
function isDue(
  { kind: { on, duration }, at, times, applied, since }: Fault,
  { number, time, request: { isCount } }: Exchange,
): boolean {
  if (number < at || on !== undefined && (on === "count") !== isCount) return false;
  return duration === undefined ? applied < times : time < (since ?? time) + duration;
}
