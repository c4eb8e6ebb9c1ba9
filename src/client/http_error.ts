import { amendError, causesOf, DataStreamError, oneLine } from "../errors.ts";
import { valueLikeAttack } from "../odata/attacks.ts";
import { isOfService, KEY_SOURCE, MAX_REQUESTS_PER_SECOND } from "../service_constants.ts";
import {
  type PermitRefusal,
  type ServiceOutcome,
  type ServiceState,
  UNKNOWN_SERVICE,
} from "./rate_limiter.ts";

const OR_REQUEST_ONE = `or request one at ${KEY_SOURCE}`;

/** What a status says that may pass: about all requests with the key, about the service, or about the size of the page. */
type TemporaryFault = "block" | "outage" | "timeout" | "too large";

interface StatusRule {
  hint: string;
  /** Default: the request is not repeated. */
  fault?: TemporaryFault;
  /**
   * Whether the URL may be too long for a server, or a firewall before it. `text`: only if the body is not JSON, because
   * the service, which answers in JSON, means the query or the size of the page. Default: never.
   */
  length?: "any" | "text";
}

const TIMEOUT: StatusRule = {
  hint: "try again; if that fails too, lower {top} or narrow the filter",
  fault: "timeout",
};
const OUTAGE: StatusRule = { hint: "try again later", fault: "outage" };
const CHECK_QUERY: StatusRule = { hint: "check the names and the filter" };
const SHORTEN: StatusRule = {
  hint: "the request is too long: shorten the {filter}",
  length: "any",
};

/** One row per status; others from 500 on are outages. Source: DataStream Public API, "Errors". */
const STATUSES: Readonly<Record<number, StatusRule>> = {
  400: { ...CHECK_QUERY, length: "text" },
  401: { hint: `send an API key, ${OR_REQUEST_ONE}` },
  402: { hint: "ask DataStream what your API key may request" },
  403: {
    hint: `check the API key, which DataStream may have replaced, ${OR_REQUEST_ONE}`,
    length: "any",
  },
  408: TIMEOUT,
  409: { hint: "the data may be changing, so run the query again" },
  410: { hint: "this address was removed, so update Weir" },
  413: { hint: "lower {top} or select fewer fields", fault: "too large", length: "text" },
  414: SHORTEN,
  422: CHECK_QUERY,
  429: {
    hint:
      `other programs with this key or behind the same address send too many requests: ${MAX_REQUESTS_PER_SECOND} per second are allowed, none in parallel`,
    fault: "block",
  },
  431: SHORTEN,
  504: TIMEOUT,
};

function ruleOf(status: number): StatusRule {
  return STATUSES[status] ?? (status >= 500 ? OUTAGE : { hint: "check the base URL" });
}

export function temporaryFaultOf(error: DataStreamError): TemporaryFault | undefined {
  const { status = 0, isTemporary } = error;
  return status === 403 && isTemporary ? "block" : ruleOf(status).fault;
}

/** Bytes of a path with its query string. A firewall that DataStream has published refuses longer query strings. */
export const SHORT_TARGET = 2_000;

/** Of an error whose cause is known not to be the length of the query string. */
export function withoutLength(error: DataStreamError): DataStreamError {
  const { rule, status = 0 } = error;
  return rule === undefined
    ? error
    : amendError(error, { rule: undefined, hint: ruleOf(status).hint });
}

/** Of a 403 to a query or key that the service answered before. */
export function blockError(error: DataStreamError): DataStreamError {
  const detail = `${error.detail} to a query or key that it answered before`;
  return amendError(error, { detail, isTemporary: true, hint: ruleOf(429).hint });
}

/** Of a 403 to one query only. Names the value that looks like an attack. */
export function refusedQuery(error: DataStreamError): DataStreamError {
  const { searchParams } = new URL(error.url);
  const value = valueLikeAttack(searchParams.get("$filter") ?? "");
  const name = value && oneLine(value);
  const wider = "use a wider {filter}, and choose the rows after the download";
  return amendError(error, {
    kind: "refused",
    detail: `${error.detail} to this query, but accepts the API key` +
      (name ? `: a firewall takes its value "${name}" for an attack` : ""),
    hint: name || error.rule === undefined ? wider : tooLongHint(error.url),
  });
}

export function statusError(
  response: Response,
  url: string,
  body: string,
  redact: (text: string) => string,
): DataStreamError {
  const { status } = response;
  const facts = { kind: "status" as const, url, status };
  if (isRedirect(response)) {
    return new DataStreamError("DataStream responded with a redirect", {
      ...facts,
      isTemporary: false,
      hint:
        "check the base URL; redirects are not followed, because the API key is sent to one origin",
    });
  }
  // Redacts the parsed message, because the key may be escaped in JSON.
  const json = parseJson(body);
  const message = redact(json === undefined ? messageInText(body) : findMessage(json));
  const { hint, fault, length } = ruleOf(status);
  const mayBeLength = length === "any" || length === "text" && json === undefined;
  const isTooLong = mayBeLength && new URL(url).search.length > SHORT_TARGET;
  const detail = `DataStream responded with status ${status}${message && ` (${message})`}`;
  return new DataStreamError(detail, {
    ...facts,
    isTemporary: fault !== undefined,
    retryAfter: readRetryAfter(response.headers),
    rule: isTooLong ? "length" : undefined,
    hint: isTooLong ? tooLongHint(url) + (hint === SHORTEN.hint ? "" : `, or ${hint}`) : hint,
  });
}

/** In a browser, a redirect that is not followed has status 0. */
export function isRedirect({ status }: Response): boolean {
  return status === 0 || (status >= 300 && status < 400 && status !== 304);
}

/** The client has already made lists of the filter shorter. */
function tooLongHint(url: string): string {
  const length = new URL(url).search.length - 1;
  return `shorten the {${
    longOption(url)
  }}: the query string has ${length} bytes, and a firewall can refuse more than ${SHORT_TARGET}`;
}

/** Returns the option that makes a URL long. */
export function longOption(url: string): "filter" | "select" {
  return new URL(url).searchParams.has("$filter") ? "filter" : "select";
}

/** Returns `undefined` if a text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Characters of a body that is not JSON. */
const MAX_TEXT = 200;

/** Neither HTML nor JSON that was cut is shown. */
function messageInText(body: string): string {
  return /^\s*[[{"]|<[!/a-z]/i.test(body) ? "" : oneLine(body).trim().slice(0, MAX_TEXT);
}

/** Of an error in JSON: of DataStream, its firewall, OData, JSON:API (`errors[].detail`) and RFC 9457 (`detail`). */
export function findMessage(json: unknown): string {
  const { message, error, errors, detail } = Object(json);
  const found = [error, errors].flat().map((one) => one?.message ?? one?.detail ?? one);
  return oneLine(
    [message, ...found, detail, json].find((text) => text && typeof text === "string") ?? "",
  );
}

/**
 * In ms (RFC 9110, section 10.2.3). A date is compared with the `Date` header, if there is one,
 * because the clocks of server and client may differ.
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // `Date.parse()` also accepts other texts as dates, such as "1.5".
  const until = text.endsWith("GMT") ? Date.parse(text) : NaN;
  if (Number.isNaN(until)) return undefined;
  return Math.max(0, until - (dateOf(headers) ?? Date.now()));
}

/** Time (ms since 1970) at which a response was sent; `undefined` if it does not say it, or a browser hides it. */
export function dateOf(headers: Headers): number | undefined {
  const sentAt = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(sentAt) ? undefined : sentAt;
}

export function networkFailure(
  error: unknown,
  url: string,
  redact: ((text: string) => string) | undefined,
): DataStreamError {
  const { origin, host } = new URL(url);
  const message = messagesOf(error);
  const fault = findFault(error);
  const detail = fault
    ? fault.detail.replace("HOST", fault.hostname ?? host)
    : `No complete response from ${origin} (${message})`;
  const hint = (fault?.hints ?? CHECK_CONNECTION)[isOfService(url) ? 0 : 1];
  const facts = {
    kind: "network",
    url,
    isTemporary: !isDenied(error) && fault?.isPermanent !== true,
    hint: isDenied(error)
      ? `allow access to DataStream: deno run --allow-net=${host}`
      : fault
      ? hint
      : `${hint}, then try again`,
    cause: redact === undefined ? error : redactError(error, redact),
  } as const;
  return new DataStreamError(redact?.(detail) ?? detail, facts);
}

/** Whether Deno denies access to the network. */
function isDenied(error: unknown): boolean {
  return error instanceof Error && error.name === "NotCapable";
}

interface NetworkFault {
  /** Of the code of an error in Node and Bun, or else of the message. In Deno, only the message says what failed. */
  pattern: RegExp;
  detail: string;
  /** In a few words, for the state of the service. */
  cause: string;
  /** Default: `CHECK_CONNECTION`. */
  hints?: Hints;
  isPermanent?: true;
}

/** What a person can check: for DataStream, and for another service. */
type Hints = readonly [string, string];

const CHECK_CONNECTION: Hints = [
  "check your network connection",
  "check your network connection and {baseUrl}",
];
const TRUST = `if your network inspects TLS, set ${
  "Deno" in globalThis
    ? "DENO_TLS_CA_STORE=system"
    : "NODE_USE_SYSTEM_CA=1 (Node 22.19 or later), or NODE_EXTRA_CA_CERTS=FILE"
}`;
const CHECK_CLOCK = "check the clock of this computer, and whether your network requires a login";

/** Other faults quote the message of the runtime. The numbers of the system are of Linux, macOS and Windows. */
const NETWORK_FAULTS: readonly NetworkFault[] = [
  {
    pattern: /^(?:ENOTFOUND|EAI_[A-Z]+)$|\(Connect\): (?:dns error|invalid dns name)/,
    detail: "Cannot find HOST",
    cause: "name not found",
  },
  {
    pattern:
      /^(?:E(?:NET|HOST)(?:UNREACH|DOWN)|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$|\(Connect\): .*\(os error (?:101|11[03]|51|6[05]|100(?:51|6[05]))\)/,
    detail: "Cannot reach HOST",
    cause: "host not reachable",
  },
  {
    pattern: /^ECONNREFUSED$|\(Connect\): .*\(os error (?:111|61|10061)\)/,
    detail: "The connection to HOST was refused",
    cause: "connection refused",
    hints: [
      "check your firewall and proxy, or try again later",
      "check {baseUrl}, and that its server runs",
    ],
  },
  {
    pattern: /SELF_SIGNED|^UNABLE_TO_|\(Connect\): invalid peer certificate: UnknownIssuer/,
    detail: "The certificate of HOST has an unknown issuer",
    cause: "invalid certificate",
    hints: [TRUST, TRUST],
    isPermanent: true,
  },
  {
    pattern: /^CERT_|^ERR_TLS_CERT_|\(Connect\): invalid peer certificate/,
    detail: "The certificate of HOST is not valid",
    cause: "invalid certificate",
    hints: [CHECK_CLOCK, CHECK_CLOCK],
    isPermanent: true,
  },
];

/** Of the error, or else of its cause. `hostname` is the name that was not found, which can be a proxy's. */
function findFault(error: unknown): NetworkFault & { hostname?: string | undefined } | undefined {
  for (const cause of causesOf(error)) {
    const { code, hostname, message } = cause as Error & { code?: unknown; hostname?: string };
    const text = typeof code === "string" ? code : message;
    const fault = NETWORK_FAULTS.find(({ pattern }) => pattern.test(text));
    if (fault !== undefined) return { ...fault, hostname };
  }
}

/** Returns what an error says about the service, not about one query; `undefined` if it says nothing. */
export function outcomeOf(error: DataStreamError): ServiceOutcome | undefined {
  const { kind, status, retryAfter: wait, cause } = error;
  const fault = temporaryFaultOf(error);
  if (fault === "block") return { is: "blocked", cause: status, wait };
  if (fault === "outage") return { is: "silent", cause: status };
  if (kind !== "network" || isDenied(cause)) return undefined;
  const isTimeout = cause instanceof Error && cause.name === "TimeoutError";
  const words = isTimeout ? cause.message : findFault(cause)?.cause ?? "connection broken";
  return { is: "silent", cause: words };
}

export const ANSWERS_AGAIN = "DataStream answers again";

/** What a person reads, before the time since which the service is in the state. */
const STATE_TEXTS: Readonly<Record<Exclude<ServiceState["is"], "answering">, string>> = {
  blocked: "DataStream has refused all requests",
  silent: "DataStream has not answered",
  "key rejected": "DataStream has rejected the API key",
};

const DAY = 86_400_000;

/** Describes a state, such as `DataStream has not answered since 10:42 UTC (connection refused)`. `now` is in ms since 1970. */
export function describeService({ is, age, cause }: ServiceState, now: number): string {
  if (is === "answering") return ANSWERS_AGAIN;
  const time = new Date(now - age).toISOString().replace("T", " ").slice(age < DAY ? 11 : 0, 16);
  return `${STATE_TEXTS[is]} since ${time} UTC (${
    typeof cause === "number" ? "status " : ""
  }${cause})`;
}

/** Of a request that was not sent. */
export function permitRefusal(
  { retryAfter, service = UNKNOWN_SERVICE }: PermitRefusal,
  url: string,
): DataStreamError {
  const { is, cause } = service;
  const tryAgain = `try again in ${Math.ceil(retryAfter / 1000)} s`;
  const facts = {
    kind: "rate-limit",
    isTemporary: false,
    url,
    retryAfter,
    hint: tryAgain,
  } as const;
  if (is === "answering") {
    return new DataStreamError(
      "The rate limit of DataStream delays the request for too long",
      facts,
    );
  }
  const rule = typeof cause === "number" && is !== "silent" ? `${ruleOf(cause).hint}; ` : "";
  return new DataStreamError(describeService(service, Date.now()), {
    ...facts,
    hint: rule + tryAgain,
    ...(is === "silent" && { kind: "network" }),
    ...(is === "key rejected" && { kind: "status", status: Number(cause) }),
  });
}

export function limiterFailure(url: string, problem: string, cause?: unknown): DataStreamError {
  const hint = "check that its store can be reached, then try again";
  const facts = { kind: "rate-limit", isTemporary: true, url, hint, cause } as const;
  return new DataStreamError(`The rate limiter ${problem}`, facts);
}

/** Includes the causes, because some runtimes put the reason there. */
export function messagesOf(error: unknown): string {
  return causesOf(error).map(oneLine).join(": ") || oneLine(error);
}

/** Copies name, message, code and stack only: any other property may hold the request's headers. */
function redactError(error: unknown, redact: (text: string) => string): Error {
  const copy = causesOf(error).reduceRight<Error | undefined>((cause, error) => {
    const { name, message, stack, code } = error as Error & { code?: unknown };
    const copy = new Error(redact(message), cause && { cause });
    copy.name = name;
    if (typeof code === "string") Object.assign(copy, { code: redact(code) });
    if (stack !== undefined) copy.stack = redact(stack);
    return copy;
  }, undefined);
  return copy ?? new Error(redact(oneLine(error)));
}
