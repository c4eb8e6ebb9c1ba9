import type { FakeClock } from "../../helpers/fake_clock.ts";
import type { Plan } from "./plan.ts";
import type { Random } from "../random.ts";
import type { WireRow } from "./reference_rows.ts";

export interface ServiceRequest {
  url: URL;
  resource: string;
  filter: string | undefined;
  top: number;
  /** Id after which the page starts; `undefined` for the first page. */
  position: string | undefined;
  isCount: boolean;
}

/** A page before it is serialised. */
export interface PageDraft {
  rows: WireRow[];
  /** Value of `@odata.nextLink`; `undefined` omits the member. */
  bodyLink: string | undefined;
  /** Target of the `Link` header; `undefined` omits the header. */
  headerLink: string | undefined;
  /** Additional members after the others. */
  members: Record<string, unknown>;
}

/** A response, and the way in which its bytes arrive. */
export interface Delivery {
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array<ArrayBuffer>;
  /** Event after the last byte. */
  end: "close" | "reset" | "hang";
  /** Maximum delay (ms) between two chunks. */
  delay: number;
}

/** Creates a response without faults: JSON by default. */
export function toDelivery(body: string, status = 200, headers = {}): Delivery {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    bytes: new TextEncoder().encode(body),
    end: "close",
    delay: 0,
  };
}

/** Information and functions for a fault. */
export interface FaultContext {
  request: ServiceRequest;
  random: Random;
  clock: FakeClock;
  signal: AbortSignal;
  /** Requests rows without faults, with the fields and the filter of the request. */
  rowsAfter(position: string | undefined, top: number): Promise<WireRow[]>;
  /** Returns the URL of the request with other query options; `undefined` removes an option. */
  linkTo(options: Record<string, string | undefined>): string;
}

/** What an error can name: the key, this query, its length, the address, the rate, or the service. */
export type Cause = "key" | "query" | "length" | "block" | "limit" | "outage";

/** What is known when a fault changes a request. */
export interface Evidence {
  /** Whether the service has answered the key in the last 15 minutes. */
  wasAnswered: boolean;
  /** Whether it is the request that the client knows to be good. */
  isKnownGood: boolean;
}

/** A kind of fault, which implements one of the functions. */
export interface FaultKind {
  name: string;
  /** Requests that it can change. Default: all. */
  on?: "page" | "count";
  /** Whether a query must give its complete result if this fault occurs once. Default true */
  isRecoverable?: boolean | ((plan: Plan) => boolean);
  /** Whether it can remove rows without a sign in the responses. */
  hidesRows?: boolean;
  /** Whether a later row can have a lower Id. If rows were delivered before it, a failed page cannot be continued. */
  breaksOrder?: boolean;
  /** Whether it affects all requests, starting with the first one. */
  isPermanent?: boolean;
  /** Duration (ms) of an outage. */
  duration?: number;
  /** Maximum number of requests that it changes. Default: random */
  times?: number;
  /** What an error may name because of it, from what one request showed. Default: an outage */
  causes?(evidence: Evidence): readonly Cause[];
  /** Whether it changes this request; otherwise, it can change a later one. */
  applies?(context: FaultContext): boolean;
  /** Replaces the response; `undefined` leaves it to the service. */
  respond?(context: FaultContext): Replacement | Promise<Replacement>;
  /** Changes a page; returns false if it does not apply. */
  page?(page: PageDraft, context: FaultContext): Applied | Promise<Applied>;
  /** Replaces the value of a count response. */
  count?(count: number): unknown;
  /** Changes a body; returns false if it does not apply. */
  deliver?(delivery: Delivery, context: FaultContext): Applied;
}

type Applied = boolean | void;
type Replacement = Delivery | "reset" | undefined;
