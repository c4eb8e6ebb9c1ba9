/**
 * Kind of a {@linkcode DataStreamError}, for a `switch`.
 *
 * - `status`: the service responded with a status other than 200;
 * - `refused`: a firewall of the service refused this query, but answers others with the same key;
 * - `network`: no complete response arrived;
 * - `rate-limit`: the rate limiter gave no permit to send the request, because its store failed or the wait
 *   would be too long;
 * - `page`: the response is not a page of the service (HTML, invalid JSON, no array of rows), or its
 *   rows have a field that the header of the CSV does not have;
 * - `next-link`: the link to the next page has another origin, path, `$select` or `$filter`;
 * - `incomplete`: fewer rows arrived than the service counted;
 * - `changed`: the data changed during the download: more rows arrived than the service counted, or, with the option
 *   `sameVersion`, a dataset was published;
 * - `too-many-rows`: the service counted more rows than `maxRows` allows.
 */
export type DataStreamErrorKind =
  | "status"
  | "refused"
  | "network"
  | "rate-limit"
  | "page"
  | "next-link"
  | "incomplete"
  | "changed"
  | "too-many-rows";

/** Properties of a {@linkcode DataStreamError}. */
export type DataStreamErrorFacts =
  & Pick<DataStreamError, "kind" | "url" | "hint" | "isTemporary">
  & Partial<Omit<DataStreamError, keyof Error | "detail">>
  & Pick<DataStreamError, "cause">;

/**
 * Error of a query whose rows the service did not return completely.
 *
 * The message is one line: what failed, and what to do next. It never contains the API key. The hint
 * names options in braces, such as `{top}`. The client creates these errors; programs only catch them.
 *
 * @example Recognize a rejected API key
 * ```ts
 * import { DataStream, DataStreamError } from "@weir/datastream";
 * import { createSandbox } from "@weir/datastream/sandbox";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const { url, fetch } = createSandbox();
 * const client = new DataStream({ apiKey: "not-a-key", baseUrl: url, fetch });
 * const error = await assertRejects(() => client.metadata().toArray(), DataStreamError);
 * assertEquals([error.kind, error.status], ["status", 403]);
 * ```
 */
export class DataStreamError extends Error {
  /** Always `DataStreamError`. */
  override readonly name = "DataStreamError";
  // With `declare`, because the JavaScript of a bundle would contain the other fields.
  /** Kind of the error, for a `switch`. */
  declare readonly kind: DataStreamErrorKind;
  /** URL of the request. It never contains the API key. */
  declare readonly url: string;
  /** What was expected and what was received. */
  declare readonly detail: string;
  /** What to do next, options in braces. */
  declare readonly hint: string;
  /** HTTP status, if there was a response. */
  declare readonly status: number | undefined;
  /** Whether the client tries again after such an error, unless its attempts are used up. */
  declare readonly isTemporary: boolean;
  /**
   * Option that accepts such a result: `incomplete`, `maxRows`, `format` if another one has room for the rows, or `invalidValues`. `undefined` if there is
   * none.
   */
  declare readonly option: string | undefined;
  /** `length`: the query string may be too long for the service, or for a firewall before it. */
  declare readonly rule: "length" | undefined;
  /** Time in milliseconds to wait before the next request, as the service or the option `sameVersion` asks. */
  declare readonly retryAfter: number | undefined;
  /** Number of rows that were delivered before the error. */
  declare readonly rows: number;
  /**
   * Position after the last delivered row, for the option `skipToken` of a query that continues there.
   * It is `undefined` if nothing was delivered, or the query was split.
   */
  declare readonly skipToken: string | undefined;
  /** Number of rows that the service counted, for `incomplete`, `changed` and `too-many-rows`. */
  declare readonly expectedRows: number | undefined;

  /** @internal */
  constructor(detail: string, facts: DataStreamErrorFacts) {
    super("", facts);
    Object.assign(this, facts, { rows: facts.rows ?? 0, detail });
    this.message = messageFor(this);
  }
}

/** A hint that is a correction does not suggest `unchecked`. */
export type ValidationErrorFacts = Partial<
  Pick<ValidationError, "received" | "hint" | "cause">
>;

/**
 * Error for an option that is rejected before any request is sent.
 *
 * The message is one line: the option, what is wrong with it, the value, and what to do next. It
 * never contains the API key. The hint names other options in braces, such as `{within}` or `{format: "csv"}`.
 * The package creates these errors; programs only catch them.
 *
 * @example Find out which option is wrong
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
  declare readonly option: string;
  /** What is wrong, as a predicate of the option: `must be a whole number, got 1.5`. */
  declare readonly problem: string;
  /** Value of the option; `undefined` if it is a secret. */
  declare readonly received: unknown;
  /** What to do next, other options in braces; empty if the problem says what is accepted. */
  declare readonly hint: string;
  /** Whether the message suggests the query option `unchecked`, which lets the value through. */
  readonly canBeUnchecked: boolean = false;

  /** @internal */
  constructor(option: string, problem: string, facts: ValidationErrorFacts = {}) {
    const { received, hint = "" } = facts;
    // Not by `messageFor()`, so that a bundle of the builder alone lacks it.
    super(`${option} ${problem}${hint && `: ${hint.replace(OPTION_IN_BRACES, "$1")}`}`, facts);
    Object.assign(this, { option, problem, received, hint });
  }
}

/**
 * How an interface names an option, such as `--top`, or with a value how it sets it, such as `--format csv`. `undefined`
 * if it has no name of its own.
 */
export type NameOption = (option: string, value?: unknown) => string | undefined;

/** Without a name for `unchecked` with the value true, the message does not suggest it. */
export function messageFor(
  error: DataStreamError | ValidationError,
  nameOption: NameOption = () => undefined,
): string {
  const hint = nameOptions(error.hint, nameOption);
  if ("detail" in error) return `${error.detail}: ${hint}`;
  const unchecked = error.canBeUnchecked && nameOption("unchecked", true);
  return `${nameOption(error.option) ?? error.option} ${error.problem}${hint && `: ${hint}`}` +
    (unchecked ? orUnchecked(unchecked) : "");
}

function orUnchecked(name: string): string {
  return ` (or pass ${name}, if DataStream accepts it)`;
}

/** Lets an error suggest the option `unchecked`. Not in the constructor, which is in each bundle. */
export function suggestUnchecked(error: ValidationError, isSuggested = true): ValidationError {
  if (!isSuggested) return error;
  const message = error.message + orUnchecked("unchecked: true");
  return Object.assign(error, { canBeUnchecked: true, message });
}

/** An option, and maybe its value in JSON. */
const OPTION_IN_BRACES = /\{(([\w.]+)(?:: (true|false|"[^"{}]*"))?)\}/g;

/** Replaces options in braces, such as `{top}` and `{format: "csv"}`, by their names, else by the text in the braces. */
export function nameOptions(hint: string, nameOption?: NameOption): string {
  return hint.replace(
    OPTION_IN_BRACES,
    (_, text, option, value) => nameOption?.(option, value && JSON.parse(value)) ?? text,
  );
}

/** Returns a function that names options by a table. It sets them as variables and URL parameters do: `name=value`. */
export function namesOf(table: Readonly<Record<string, string>>): NameOption {
  return (option, value) => {
    const name = Object.hasOwn(table, option) ? table[option] : undefined;
    return value === undefined ? name : name && `${name}=${value}`;
  };
}

export function amendError(
  error: DataStreamError,
  { detail = error.detail, ...facts }: Partial<DataStreamErrorFacts> & { detail?: string },
): DataStreamError {
  return new DataStreamError(detail, { ...error, cause: error.cause, ...facts });
}

/** An error may be its own cause. */
const MAX_CAUSES = 6;

/** Returns the error and its causes; none if it is another value. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let next = error; next instanceof Error && causes.length < MAX_CAUSES;) {
    causes.push(next);
    next = next.cause ?? (next instanceof AggregateError ? next.errors[0] : undefined);
  }
  return causes;
}

/** On one line and without control characters. */
export function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/[\s\p{Cc}]+/gu, " ");
}
