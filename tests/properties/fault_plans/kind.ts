import type { FakeClock } from "../../helpers/fake_clock.ts";
import type { Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import type { WireRow } from "./truth.ts";

/** A request as the service reads it. */
export interface Asked {
  url: URL;
  resource: string;
  filter: string | undefined;
  top: number;
  /** Id after which the page begins; undefined at the start. */
  position: string | undefined;
  isCount: boolean;
}

/** A page before it is written. */
export interface Page {
  rows: unknown[];
  /** Value of `@odata.nextLink`; undefined leaves the member out. */
  bodyLink: unknown;
  /** Target of the `Link` header; undefined leaves the header out. */
  headerLink: string | undefined;
  /** More members of the document, after the others. */
  members: Record<string, unknown>;
  /** Changes of the document's text, in order. */
  rewrites: ((text: string) => string)[];
}

/** How the bytes of a body arrive. */
export interface Delivery {
  bytes: Uint8Array<ArrayBuffer>;
  /** What follows the last byte. */
  end: "close" | "reset" | "hang";
  /** Longest time (ms) between two chunks. */
  delay: number;
  contentType: string;
}

/** What a fault can look at and use. */
export interface Context {
  asked: Asked;
  random: Random;
  clock: FakeClock;
  signal: AbortSignal;
  /** Reads rows without faults, with the fields and the filter of the request. */
  rowsAfter(position: string | undefined, top: number): Promise<WireRow[]>;
  /** Writes a link to the resource of the request with other options; undefined removes one. */
  linkTo(options: Record<string, string | undefined>): string;
}

/** An answer in place of a page or a count. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A kind of fault; it has one of the functions. */
export interface Kind {
  name: string;
  /** Requests that it can change. */
  on: "any" | "page" | "count";
  /** Whether a query must give its whole result if this fault occurs once. */
  passes: boolean;
  /** Narrows `passes` to the plans for which this returns true. */
  passesFor?(plan: Plan): boolean;
  /** Whether it can hide rows in a way that the answers alone do not show. */
  hidesRows?: boolean;
  /** Whether it is a property of the service that lasts from the first request on. */
  always?: boolean;
  /** Duration (ms) after which it is over, for an outage. */
  duration?: number;
  /** Whether it changes this request; it waits for the next one otherwise. */
  applies?(context: Context): boolean;
  /** Answers in place of the service; `undefined` lets the service answer. */
  answer?(context: Context): Promise<Answer | "reset" | undefined>;
  /** Changes a page; returns false where it does not apply. */
  page?(page: Page, context: Context): boolean | Promise<boolean>;
  /** Changes the number of a count answer, or returns another document. */
  count?(count: number, context: Context): { value: unknown };
  /** Changes the bytes of a body; returns false where it does not apply. */
  deliver?(delivery: Delivery, context: Context): boolean;
}
