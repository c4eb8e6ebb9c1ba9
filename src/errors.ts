/**
 * What went wrong, as a word to switch on.
 *
 * - `status`: the service answered with a status other than 200;
 * - `network`: no whole answer came back;
 * - `page`: the answer is not a page of the service (HTML, broken JSON, no list of rows), or its
 *   rows have a field that a CSV in the making has no column for;
 * - `next-link`: the link to the next page leads elsewhere or does not move on;
 * - `incomplete`: fewer rows arrived than the service counted;
 * - `too-many-rows`: the service counted more rows than `maxRows` allows.
 */
export type DataStreamErrorKind =
  | "status"
  | "network"
  | "page"
  | "next-link"
  | "incomplete"
  | "too-many-rows";

/** The facts that a {@linkcode DataStreamError} carries beside its message. */
export interface DataStreamErrorFacts {
  /** What went wrong, as a word to switch on. */
  kind: DataStreamErrorKind;
  /** The URL that was asked; it never holds the key. */
  url: string;
  /** What to do next. */
  hint: string;
  /** The HTTP status, where an answer came. */
  status?: number | undefined;
  /** How many milliseconds the service asks to wait before the next request, where it does. */
  retryAfter?: number | undefined;
  /** Number of rows that were delivered before the error. Default 0. */
  rows?: number | undefined;
  /**
   * Position after the last delivered row, for the option `skipToken` of a query that continues
   * there; undefined if nothing was delivered, or the query was split.
   */
  skipToken?: string | undefined;
  /** Number of rows that the service counted, for `incomplete` and `too-many-rows`. */
  expectedRows?: number | undefined;
  /** The error behind this one. */
  cause?: unknown;
}

/**
 * A request to the service that did not give its rows.
 *
 * The message is one line: what came, and what to do next. It never holds the API key.
 *
 * @example Tell a refused key from other faults
 * ```ts
 * import { DataStreamError } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new DataStreamError("Records answered 403", {
 *   kind: "status",
 *   status: 403,
 *   url: "https://api.datastream.org/v1/odata/v4/Records",
 *   hint: "check the API key",
 * });
 * assertEquals(error.message, "Records answered 403: check the API key");
 * assertEquals(error.status, 403);
 * ```
 */
export class DataStreamError extends Error {
  /** Always `DataStreamError`. */
  override readonly name = "DataStreamError";
  /** What went wrong, as a word to switch on. */
  readonly kind: DataStreamErrorKind;
  /** The URL that was asked; it never holds the key. */
  readonly url: string;
  /** What was wanted and what came. */
  readonly detail: string;
  /** What to do next. */
  readonly hint: string;
  /** The HTTP status, where an answer came. */
  readonly status: number | undefined;
  /** How many milliseconds the service asks to wait before the next request, where it does. */
  readonly retryAfter: number | undefined;
  /** Number of rows that were delivered before the error. */
  readonly rows: number;
  /**
   * Position after the last delivered row, for the option `skipToken` of a query that continues
   * there; undefined if nothing was delivered, or the query was split.
   */
  readonly skipToken: string | undefined;
  /** Number of rows that the service counted, for `incomplete` and `too-many-rows`. */
  readonly expectedRows: number | undefined;

  /**
   * Makes an error whose message is the detail and the hint.
   *
   * @param detail What was wanted and what came, without the key
   * @param facts The kind, the URL, the hint, and the status, wait and cause where there are any
   */
  constructor(detail: string, facts: DataStreamErrorFacts) {
    super(`${detail}: ${facts.hint}`, { cause: facts.cause });
    this.kind = facts.kind;
    this.url = facts.url;
    this.detail = detail;
    this.hint = facts.hint;
    this.status = facts.status;
    this.retryAfter = facts.retryAfter;
    this.rows = facts.rows ?? 0;
    this.skipToken = facts.skipToken;
    this.expectedRows = facts.expectedRows;
  }
}

/** Facts about an option that a {@linkcode ValidationError} rejects. */
export interface ValidationErrorFacts {
  /** Value of the option. Never the API key or another secret. Default `undefined`. */
  received?: unknown;
  /** What to do next. Default: empty, where the problem already says what is accepted. */
  hint?: string;
  /** Whether the query option `unchecked` would let the value through. Default false. */
  canBeUnchecked?: boolean;
  /** The error that this one explains. */
  cause?: unknown;
}

/**
 * An option that was rejected before any request was sent.
 *
 * The message is one line: the option, what is wrong with it, the value, and what to do next. It
 * never holds the API key. The hint names other options in braces, as `{within}`, so that an
 * interface can put its own names there: see {@linkcode ValidationError.messageFor}.
 *
 * @example Tell which option is wrong
 * ```ts
 * import { DataStream, ValidationError } from "@weir/datastream";
 * import { assertThrows } from "@std/assert";
 *
 * const error = assertThrows(() => new DataStream().records({ top: 20_000 }), ValidationError);
 * console.log(error.option, error.received); // top 20000
 * ```
 */
export class ValidationError extends TypeError {
  /** Always `ValidationError`. */
  override readonly name = "ValidationError";
  /** Name of the option, such as `filter` or `retry.attempts`. */
  readonly option: string;
  /** What is wrong, as a predicate of the option: `must be a whole number, got 1.5`. */
  readonly problem: string;
  /** Value of the option; `undefined` if it is a secret. */
  readonly received: unknown;
  /** What to do next, other options in braces; empty if the problem says what is accepted. */
  readonly hint: string;
  /** Whether the query option `unchecked` would let the value through. */
  readonly canBeUnchecked: boolean;

  /**
   * Creates an error whose message is the option, the problem and the hint.
   *
   * @param option Name of the option
   * @param problem What is wrong, as a predicate of the option, without a secret
   * @param facts The value received and what to do next
   */
  constructor(option: string, problem: string, facts: ValidationErrorFacts = {}) {
    const { received, hint = "", canBeUnchecked = false, cause } = facts;
    super("", { cause });
    this.option = option;
    this.problem = problem;
    this.received = received;
    this.hint = hint;
    this.canBeUnchecked = canBeUnchecked;
    this.message = this.messageFor(option === "unchecked" ? {} : { unchecked: "unchecked: true" });
  }

  /**
   * Formats the message for an interface that has other names for the options, such as the flags of
   * a command line or the parameters of a URL.
   *
   * @param names Names by option; an option that is missing keeps its own. Without a name for
   *   `unchecked`, the message does not suggest that option
   * @returns The message, on one line
   *
   * @example For a command line
   * ```ts
   * import { ValidationError } from "@weir/datastream";
   * import { assertEquals } from "@std/assert";
   *
   * const error = new ValidationError("top", "must be a whole number, got 1.5", { received: 1.5 });
   * assertEquals(error.messageFor({ top: "--top" }), "--top must be a whole number, got 1.5");
   * ```
   */
  messageFor(names: Readonly<Record<string, string>>): string {
    const hint = this.hintFor(names);
    const unchecked = this.canBeUnchecked && names.unchecked !== undefined
      ? ` (or pass ${names.unchecked}, if the service accepts it)`
      : "";
    return `${nameIn(names, this.option)} ${this.problem}${hint && `: ${hint}`}${unchecked}`;
  }

  /**
   * Formats only the hint for an interface that has other names for the options.
   *
   * @param names Names by option; an option that is missing keeps its own
   * @returns What to do next; empty if the problem says what is accepted
   */
  hintFor(names: Readonly<Record<string, string>>): string {
    return this.hint.replace(/\{([\w.]+)\}/g, (_, option) => nameIn(names, option));
  }
}

function nameIn(names: Readonly<Record<string, string>>, option: string): string {
  return Object.hasOwn(names, option) ? names[option]! : option;
}

/** Copies an error with another detail, another hint or more facts. */
export function amendError(
  error: DataStreamError,
  { detail = error.detail, ...facts }: Partial<DataStreamErrorFacts> & { detail?: string },
): DataStreamError {
  return new DataStreamError(detail, { ...error, cause: error.cause, ...facts });
}

/** The message of whatever was thrown, on one line and without control characters. */
export function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/[\s\p{Cc}]+/gu, " ");
}
