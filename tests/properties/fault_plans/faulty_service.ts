import { FakeClock } from "../../helpers/fake_clock.ts";
import type { Fault } from "./faults.ts";
import type {
  Delivery,
  FaultContext,
  FaultResponse,
  PageDraft,
  ServiceRequest,
} from "./fault_kind.ts";
import { idOf, type Plan, requestBound, toToken } from "./plan.ts";
import type { Random } from "../random.ts";
import { API_KEY, sandboxOf, type WireRow } from "./reference_rows.ts";
import { decorateLink, parseRequest, toCount, toDelivery, toLinks, withOptions } from "./wire.ts";

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
  status: number | undefined;
  /** Text of a complete body; `undefined` otherwise. */
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
  readonly faults: readonly Fault[];
  /** Maximum number of requests; the service rejects further ones, so that a run ends. */
  readonly maxRequests: number;
  #isRepaired = false;
  #open: Exchange | undefined;
  #notBefore = 0;

  constructor(readonly plan: Plan, readonly random: Random) {
    this.faults = plan.faults;
    this.maxRequests = 2 * requestBound(plan);
    // A separate host per plan: clients in one process share a rate limiter per origin.
    this.baseUrl = `https://plan-${plan.seed}.invalid/v1/odata/v4`;
  }

  /** Responds to a request; a value for the client's option `fetch`. */
  fetch = async (request: Request): Promise<Response> => {
    const exchange = this.#enter(request);
    try {
      return await this.#answer(exchange, request.signal);
    } catch (error) {
      if (error instanceof RejectedRequest) {
        return this.#respond(exchange, { status: 400, body: error.message }, request.signal);
      }
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
    this.#isRepaired = true;
    this.#notBefore = 0;
  }

  #enter(request: Request): Exchange {
    const url = new URL(request.url);
    const time = this.clock.now();
    const lastTime = this.exchanges.at(-1)?.time ?? -Infinity;
    const exchange: Exchange = {
      number: this.exchanges.length + 1,
      time,
      request: parseRequest(url),
      faults: [],
      status: undefined,
      text: undefined,
    };
    this.exchanges.push(exchange);
    const broken: [rule: string, isBroken: boolean][] = [
      [`sent to ${url.origin}`, !request.url.startsWith(`${this.baseUrl}/`)],
      ["key in the URL", request.url.includes(API_KEY)],
      ["no key", request.headers.get("x-api-key") !== API_KEY],
      [`method ${request.method}`, request.method !== "GET"],
      ["follows redirects", !["manual", "error"].includes(request.redirect)],
      [`not encoded: ${url.search}`, /[$ ']/.test(url.search.replaceAll("%27", ""))],
      [`overlaps request ${this.#open?.number}`, this.#open !== undefined],
      [`less than ${SPACING} ms after the previous one`, time - lastTime < SPACING],
      [`${this.#notBefore - time} ms before the end of Retry-After`, time < this.#notBefore],
    ];
    for (const [rule, isBroken] of broken) {
      if (isBroken) this.violations.push(`request ${exchange.number} (${url.pathname}): ${rule}`);
    }
    this.#open = exchange;
    request.signal.addEventListener("abort", () => this.#leave(exchange), { once: true });
    return exchange;
  }

  #leave(exchange: Exchange): void {
    if (this.#open === exchange) this.#open = undefined;
  }

  async #answer(exchange: Exchange, signal: AbortSignal): Promise<Response> {
    const { request } = exchange;
    if (exchange.number > this.maxRequests) {
      return this.#respond(exchange, { status: 403 }, signal);
    }
    const context: FaultContext = {
      request,
      random: this.random,
      clock: this.clock,
      signal,
      rowsAfter: async (position, top) =>
        (await this.#requestSandbox(withOptions(request.url, {
          "$top": String(Math.min(10_000, top)),
          "$skiptoken": position === undefined ? undefined : `Id:${position}`,
        }))).value as WireRow[],
      linkTo: (options) => {
        const { $skiptoken: token } = options;
        const url = withOptions(request.url, {
          ...options,
          ...(token !== undefined && { "$skiptoken": toToken(idOf(token), this.plan.tokens) }),
        });
        return this.plan.linkStyle.encoded
          ? url.href
          : url.href.replaceAll("%24", "$").replaceAll("%3A", ":");
      },
    };
    for (const fault of this.#due(exchange, context, "respond")) {
      this.#apply(fault, exchange);
      const answer = await fault.kind.respond!(context);
      if (answer === "reset") {
        throw new TypeError("Connection reset by a fault");
      }
      if (answer !== undefined) return this.#respond(exchange, answer, signal);
    }
    const delivery = request.isCount
      ? await this.#count(exchange, context)
      : await this.#page(exchange, context);
    for (const fault of this.#due(exchange, context, "deliver")) {
      if (fault.kind.deliver!(delivery, context) !== false) this.#apply(fault, exchange);
    }
    exchange.status = 200;
    if (delivery.end === "close") {
      exchange.text = new TextDecoder().decode(delivery.bytes);
    }
    return new Response(this.#body(exchange, delivery, signal), {
      headers: {
        "content-type": delivery.contentType,
        ...(delivery.link !== undefined && { link: `<${delivery.link}>; rel="next"` }),
      },
    });
  }

  /** Returns the faults with a function that can change a request. */
  #due(
    { number, time, request: { isCount } }: Exchange,
    context: FaultContext,
    name: "respond" | "page" | "count" | "deliver",
  ): Fault[] {
    if (this.#isRepaired) return [];
    return this.faults.filter(({ kind, at, times, applied, since = time }) => {
      const { on, duration } = kind;
      if (kind[name] === undefined || number < at) return false;
      if (on !== undefined && (on === "count") !== isCount) return false;
      const isOver = duration === undefined ? applied >= times : time >= since + duration;
      return !isOver && (kind.applies?.(context) ?? true);
    });
  }

  #apply(fault: Fault, exchange: Exchange): void {
    fault.applied++;
    fault.since ??= exchange.time;
    exchange.faults.push(fault);
  }

  #respond(exchange: Exchange, answer: FaultResponse, signal: AbortSignal): Response {
    const { status, headers = {}, body = "" } = answer;
    exchange.status = status;
    if (status === 200) exchange.text = body;
    const seconds = headers["retry-after"];
    if (
      seconds !== undefined && /^\d+$/.test(seconds) &&
      [429, 503].includes(status)
    ) {
      const wait = Number(seconds) * 1_000;
      // The server goes on without the versions of the datasets if the request for them fails.
      const isOptional = status === 503 && this.plan.output.startsWith("edge-") &&
        exchange.request.resource === "Metadata";
      if (!isOptional) {
        this.#notBefore = wait > LONGEST_RETRY_AFTER ? Infinity : exchange.time + wait;
      }
    }
    if ([204, 304].includes(status)) {
      this.#leave(exchange);
      return new Response(null, { status, headers });
    }
    return new Response(this.#body(exchange, toDelivery(body), signal), {
      status,
      headers: {
        "content-type": body.startsWith("{") ? "application/json" : "text/html",
        ...headers,
      },
    });
  }

  async #requestSandbox(url: URL): Promise<{ value: unknown; "@odata.nextLink"?: string }> {
    const response = await sandboxOf(this.plan.size).fetch(url, {
      headers: { "x-api-key": API_KEY },
    });
    const text = await response.text();
    if (response.status !== 200) throw new RejectedRequest(text);
    return JSON.parse(text);
  }

  async #count(exchange: Exchange, context: FaultContext): Promise<Delivery> {
    const number = Number((await this.#requestSandbox(exchange.request.url)).value);
    let answer = toCount(number, this.plan.countShape);
    for (const fault of this.#due(exchange, context, "count")) {
      this.#apply(fault, exchange);
      const value = fault.kind.count!(number);
      answer = typeof value === "number" ? toCount(value, this.plan.countShape) : { value };
    }
    return toDelivery(JSON.stringify(answer));
  }

  async #page(exchange: Exchange, context: FaultContext): Promise<Delivery> {
    const { resource } = exchange.request;
    const { linkStyle } = this.plan;
    const { value, "@odata.nextLink": next } = await this.#requestSandbox(this.#urlOf(exchange));
    const token = next && new URL(next).searchParams.get("$skiptoken");
    const page: PageDraft = {
      ...toLinks(token ? context.linkTo({ "$skiptoken": token }) : undefined, linkStyle),
      rows: value as WireRow[],
      members: {},
      textChanges: [],
    };
    for (const fault of this.#due(exchange, context, "page")) {
      if (await fault.kind.page!(page, context) !== false) this.#apply(fault, exchange);
    }
    const decorate = (link: unknown) => decorateLink(link, linkStyle, new URL(this.baseUrl).origin);
    const text = JSON.stringify({
      "@data.context": `odata/v4/${resource}/$links/Metadata(Id=@DatasetId)`,
      value: page.rows,
      "@odata.nextLink": decorate(page.bodyLink),
      ...page.members,
    });
    return {
      ...toDelivery(page.textChanges.reduce((changed, changeText) => changeText(changed), text)),
      link: decorate(page.headerLink) as string | undefined,
    };
  }

  /** Returns the URL of a request for the sandbox, which has only tokens of the form `Id:<Id>`. */
  #urlOf({ request: { url, position } }: Exchange): URL {
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
    const chunk = random.pick([bytes.length, bytes.length, Math.ceil(bytes.length / 3), 1_021]) ||
      1;
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
          const next = bytes.slice(sent, sent + (delay > 0 ? Math.max(chunk, 5_000) : chunk));
          sent += next.length;
          return controller.enqueue(next);
        }
        if (end === "hang") return await new Promise(() => {});
        leave();
        if (end === "reset") {
          controller.error(new TypeError("Body reset by a fault"));
        } else controller.close();
      },
      cancel: leave,
    }, { highWaterMark: 0 });
  }
}
