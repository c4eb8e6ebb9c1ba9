// Passes values of every JavaScript type as each argument and option of the public functions. Each call
// must accept the value or throw a ValidationError that names the option.
import { assert, assertEquals } from "@std/assert";
import { type AppOptions, createApp, signUrl, type SignUrlOptions } from "../../../edge/app.ts";
import {
  and,
  type AnyResourceQuery,
  type BatchOptions,
  type BoundingBox,
  boundingBox,
  type CitationOptions,
  type Clock,
  csvFromPage,
  type CsvOptions,
  DataStream,
  type DataStreamOptions,
  endpoint,
  endsWith,
  eq,
  geojsonFromPage,
  gt,
  gte,
  isIn,
  lt,
  lte,
  ndjsonFromPage,
  ne,
  type RateLimiter,
  toRequest,
  ValidationError,
} from "../../../mod.ts";
import type { EndpointOptions, RequestOptions } from "../../../src/endpoint/mod.ts";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/service.ts";
import { SECRET } from "../../helpers/edge.ts";

/** Text of the getters' error. No message may contain it: it stands for a secret. */
const THROWN = "the text of a getter's error";

/** Values by the name of their type. */
const VALUES = {
  undefined: undefined,
  null: null,
  number: 5,
  NaN: NaN,
  empty: "",
  string: "x",
  boolean: true,
  array: [],
  object: {},
  symbol: Symbol("x"),
  bigint: 1n,
  function: () => undefined,
  bare: Object.create(null),
  getter: {
    get x() {
      throw new Error(THROWN);
    },
  },
  unreadable: new Proxy({}, {
    get(_, name) {
      if (typeof name === "string") throw new Error(THROWN);
    },
  }),
} as const;

type TypeName = keyof typeof VALUES;

const TYPE_NAMES = Object.keys(VALUES) as TypeName[];
/** Objects without properties that can be read. */
const OBJECTS = ["object", "bare"] as const satisfies TypeName[];
const STRINGS = ["empty", "string"] as const satisfies TypeName[];

/** An argument or option of a public function. */
interface Argument {
  /** Types that are accepted. */
  accepts: readonly TypeName[];
  /** Calls the function. The type is `any`, because most values have a wrong type. */
  // deno-lint-ignore no-explicit-any -- see above
  call(value: any): unknown;
  /** Options one of which the error names. Default: the key in the table. */
  options?: readonly string[];
  /** Types for which the error of a getter is thrown unchanged. */
  rethrows?: readonly TypeName[];
}

/** Creates the arguments for options that are members of one object. */
function members<O extends object>(
  accepted: { [Name in keyof O]-?: readonly TypeName[] },
  call: (options: O) => unknown,
  path = "",
): Record<string, Argument> {
  return Object.fromEntries(
    Object.entries<readonly TypeName[]>(accepted).map(([name, accepts]): [string, Argument] => [
      path + name,
      { accepts, call: (value) => call({ [name]: value } as O) },
    ]),
  );
}

/** Creates the arguments for the options of CSV. */
function csvOptions(call: (options: CsvOptions) => unknown): Record<string, Argument> {
  return {
    ...members<CsvOptions>({
      columns: ["undefined"],
      separator: ["undefined"],
      eol: ["undefined"],
      header: ["undefined", "boolean"],
      bom: ["undefined", "boolean"],
      escapeFormulas: ["undefined", "boolean"],
    }, call),
    "item of columns": {
      accepts: STRINGS,
      options: ["columns"],
      call: (column) => call({ columns: ["Id", column] }),
    },
  };
}

/** Creates the arguments for the options that `endpoint` and its members have in common. */
function endpointOptions(
  call: (options: EndpointOptions) => unknown,
  methods: readonly TypeName[] = ["string"],
): Record<string, Argument> {
  const absent = ["undefined", "null"] as const;
  return {
    ...members<Pick<EndpointOptions, "baseUrl" | "headers" | "data" | "request">>({
      baseUrl: [...absent, ...STRINGS],
      headers: [...absent, ...OBJECTS, "array", "unreadable"],
      data: TYPE_NAMES,
      request: TYPE_NAMES,
    }, call),
    method: {
      accepts: [...absent, ...methods],
      call: (method) => call({ method }),
    },
    mediaType: {
      accepts: [...absent, ...OBJECTS, "unreadable"],
      call: (mediaType) => call({ mediaType }),
    },
    "mediaType.format": {
      accepts: [...absent, ...STRINGS],
      options: ["mediaType.format", "format"],
      call: (format) => call({ mediaType: { format } }),
    },
    "value of a header": {
      accepts: [...absent, ...STRINGS, "number", "NaN"],
      options: ["headers"],
      call: (value) => call({ headers: { "X-A": value } }),
    },
    "value of a header in pairs": {
      accepts: [...absent, ...STRINGS, "number", "NaN"],
      options: ["headers"],
      call: (value) => call({ headers: [["X-A", "1"], ["x-a", value]] }),
    },
    "name of a header in pairs": {
      accepts: STRINGS,
      options: ["headers"],
      call: (name) => call({ headers: [[name, "1"]] }),
    },
    "pair of headers": {
      accepts: [],
      options: ["headers"],
      call: (pair) => call({ headers: [pair] }),
    },
  };
}

const sandbox = createSandbox({ requestsPerSecond: Infinity });
const client = new DataStream({
  apiKey: sandbox.apiKey,
  baseUrl: sandbox.url,
  fetch: sandbox.fetch,
  requestsPerSecond: Infinity,
});
const stations = client.locations();
const page = new TextEncoder().encode('{"value":[]}');
const box: BoundingBox = { west: -64, south: -46, east: 62, north: 47 };
const app: AppOptions = { access: "public", apiKey: "key" };
const signing: SignUrlOptions = { secret: SECRET, expires: 1_796_083_200 };
const file = "https://weir.example/Records.csv";
const request: RequestOptions = { method: "get", url: file, headers: {} };

/** Types of the options that a client and an app have in common. */
const CLIENT_OPTIONS: Record<
  Exclude<keyof DataStreamOptions, "apiKey" | "maxWait">,
  readonly TypeName[]
> = {
  baseUrl: ["undefined"],
  requestsPerSecond: ["undefined"],
  userAgent: ["undefined", "string"],
  retry: ["undefined", ...OBJECTS],
  timeouts: ["undefined", ...OBJECTS],
  fetch: ["undefined", "function"],
  rateLimiter: ["undefined"],
  clock: ["undefined"],
};

/** Types of the members of a clock. */
const CLOCK: Record<keyof Clock, readonly TypeName[]> = { now: ["function"], sleep: ["function"] };
const clock: Clock = { now: () => 0, sleep: () => Promise.resolve() };

/** Types of the members of a rate limiter. */
const LIMITER: Record<keyof RateLimiter, readonly TypeName[]> = {
  acquire: ["function"],
  penalize: ["function"],
};
const rateLimiter: RateLimiter = {
  acquire: () => Promise.resolve({ retryAfter: 0 }),
  penalize() {},
};

/** Types of the sides of a box. */
const BOX: Record<keyof BoundingBox, readonly TypeName[]> = {
  west: ["number"],
  south: ["number"],
  east: ["number"],
  north: ["number"],
};

/** Arguments and options, by function. */
const FUNCTIONS: Record<string, Record<string, Argument>> = {
  "DataStream()": {
    options: { accepts: ["undefined", ...OBJECTS], call: (options) => new DataStream(options) },
    ...members<DataStreamOptions>(
      { ...CLIENT_OPTIONS, apiKey: ["undefined", "string"], maxWait: ["undefined", "number"] },
      (options) => new DataStream(options),
    ),
    ...members<NonNullable<DataStreamOptions["retry"]>>(
      {
        attempts: ["undefined", "number"],
        backoff: ["undefined", "number"],
        retryAfter: ["undefined", "number"],
      },
      (retry) => new DataStream({ retry }),
      "retry.",
    ),
    ...members<NonNullable<DataStreamOptions["timeouts"]>>(
      { headers: ["undefined", "number"], bytes: ["undefined", "number"] },
      (timeouts) => new DataStream({ timeouts }),
      "timeouts.",
    ),
    ...members<Clock>(CLOCK, (part) => new DataStream({ clock: { ...clock, ...part } }), "clock."),
    ...members<RateLimiter>(
      LIMITER,
      (part) => new DataStream({ rateLimiter: { ...rateLimiter, ...part } }),
      "rateLimiter.",
    ),
  },
  "query()": {
    resource: { accepts: [], call: (resource) => client.query(resource) },
    options: {
      accepts: ["undefined", ...OBJECTS],
      call: (options) => client.query("Records", options),
    },
    ...members<AnyResourceQuery>({
      select: ["undefined"],
      filter: ["undefined"],
      within: ["undefined"],
      top: ["undefined", "number"],
      limit: ["undefined", "number"],
      skipToken: ["undefined"],
      partition: ["undefined"],
      unchecked: ["undefined", "boolean"],
      incomplete: ["undefined"],
      maxRows: ["undefined", "number"],
      signal: ["undefined"],
      onProgress: ["undefined", "function"],
    }, (options) => client.query("Records", options)),
    "item of select": {
      accepts: [],
      options: ["select"],
      call: (field) => client.records({ select: ["Id", field] }),
    },
    ...members<BoundingBox>(
      BOX,
      (side) => client.records({ within: { ...box, ...side } }),
      "within.",
    ),
  },
  "csv()": {
    options: {
      accepts: ["undefined", ...OBJECTS],
      options: ["csv"],
      call: (options) => stations.csv(options),
    },
    ...csvOptions((options) => client.records({ unchecked: true }).csv(options)),
  },
  ...Object.fromEntries(
    (["ndjson", "json", "geojson"] as const).map((format) => [`${format}()`, {
      options: {
        accepts: ["undefined", ...OBJECTS],
        options: ["csv"],
        call: (options) => (stations[format] as (options: unknown) => unknown)(options),
      },
    }]),
  ),
  "bytes()": {
    format: { accepts: [], call: (format) => stations.bytes(format) },
    options: {
      accepts: ["undefined", ...OBJECTS],
      call: (options) => stations.bytes("csv", options),
    },
    csv: { accepts: ["undefined", ...OBJECTS], call: (csv) => stations.bytes("csv", { csv }) },
  },
  "batches()": {
    options: { accepts: ["undefined", ...OBJECTS], call: (options) => stations.batches(options) },
    ...members<Omit<BatchOptions, "after">>({
      format: ["undefined"],
      csv: ["undefined"],
      distinct: ["undefined", "array"],
      parts: ["undefined", "boolean"],
    }, (options) => stations.batches(options as BatchOptions & { format?: undefined })),
    // A cursor is a value of JSON, which has no getters.
    after: {
      accepts: ["undefined"],
      rethrows: ["unreadable"],
      call: (after) => stations.batches({ after }),
    },
    "csv with a format": {
      accepts: ["undefined", ...OBJECTS],
      options: ["csv"],
      call: (csv) => stations.batches({ format: "csv", csv }),
    },
  },
  "citations()": {
    filter: { accepts: ["undefined"], call: (filter) => client.citations(filter) },
    options: {
      accepts: ["undefined", ...OBJECTS],
      call: (options) => client.citations(undefined, options),
    },
    ...members<CitationOptions>(
      { dois: ["undefined", "array"], signal: ["undefined"], within: ["undefined"] },
      (options) => client.citations(undefined, options),
    ),
    "item of dois": {
      accepts: STRINGS,
      options: ["dois"],
      call: (doi) => client.citations(undefined, { dois: [doi] }),
    },
  },
  "and()": {
    filters: {
      accepts: ["undefined", "null", "empty"],
      call: (filter) => and(eq("DOI", "a"), filter),
    },
  },
  "boundingBox()": {
    box: { accepts: [], call: (value) => boundingBox(value) },
    ...members<BoundingBox>(BOX, (side) => boundingBox({ ...box, ...side }), "box."),
  },
  ...Object.fromEntries(
    Object.entries({ eq, ne, lt, lte, gt, gte }).map(([name, compare]) => [`${name}()`, {
      field: { accepts: ["string"], call: (field) => compare(field, "a") },
      value: { accepts: STRINGS, call: (value) => compare("Name", value) },
      "value of a number": {
        accepts: ["number"],
        options: ["value"],
        call: (value) => compare("LocationId", value),
      },
    }]),
  ),
  "isIn()": {
    field: { accepts: ["string"], call: (field) => isIn(field, ["a"]) },
    values: { accepts: ["array"], call: (values) => isIn("Name", values) },
    "item of values": {
      accepts: STRINGS,
      options: ["values"],
      call: (value) => isIn("Name", [value]),
    },
  },
  "endsWith()": {
    field: { accepts: ["string"], call: (field) => endsWith(field, "a") },
    text: { accepts: STRINGS, call: (text) => endsWith("DOI", text) },
  },
  "endpoint()": {
    route: {
      accepts: ["string"],
      options: ["url", "options"],
      rethrows: ["unreadable"],
      call: (route) => endpoint(route),
    },
    options: {
      accepts: ["undefined", "null", ...OBJECTS],
      rethrows: ["unreadable"],
      call: (options) => endpoint("GET /x", options),
    },
    ...endpointOptions((options) => endpoint({ url: "/x", ...options })),
    url: { accepts: ["string"], call: (url) => endpoint({ url }) },
    parameter: {
      accepts: TYPE_NAMES.filter((name) => !["symbol", "function", "getter"].includes(name)),
      rethrows: ["getter"],
      call: (parameter) => endpoint("GET /x", { parameter }),
    },
    "parameter of a body": {
      accepts: TYPE_NAMES,
      call: (parameter) => endpoint("POST /x", { parameter }),
    },
  },
  "endpoint.merge()": {
    route: {
      accepts: ["undefined", "null", ...STRINGS, ...OBJECTS],
      options: ["options"],
      rethrows: ["unreadable"],
      call: (route) => endpoint.merge(route),
    },
    options: {
      accepts: ["undefined", "null", ...OBJECTS],
      rethrows: ["unreadable"],
      call: (options) => endpoint.merge("GET /x", options),
    },
    ...endpointOptions((options) => endpoint.merge(options), STRINGS),
    url: { accepts: ["undefined", "null", ...STRINGS], call: (url) => endpoint.merge({ url }) },
  },
  "endpoint.defaults()": {
    options: {
      accepts: ["undefined", "null", ...STRINGS, ...OBJECTS],
      rethrows: ["unreadable"],
      call: (options) => endpoint.defaults(options),
    },
    ...endpointOptions((options) => endpoint.defaults(options), STRINGS),
    url: { accepts: ["undefined", "null", ...STRINGS], call: (url) => endpoint.defaults({ url }) },
  },
  "endpoint.parse()": {
    options: {
      accepts: [],
      // A string is taken for a route, which has no method.
      options: ["url", "options", "method"],
      rethrows: ["unreadable"],
      call: (options) => endpoint.parse(options),
    },
    ...endpointOptions((options) =>
      endpoint.parse(Object.assign(endpoint.merge("/x"), withoutAbsent(options)))
    ),
  },
  "toRequest()": {
    options: { accepts: [], options: ["options", "url"], call: (options) => toRequest(options) },
    init: {
      accepts: ["undefined", "null", ...OBJECTS, "unreadable"],
      options: ["init", "options"],
      call: (init) => toRequest(request, init),
    },
    ...members<Pick<RequestOptions, "headers">>({
      headers: ["undefined", "null", "array", ...OBJECTS, "unreadable"],
    }, (options) => toRequest({ ...request, ...options })),
    url: {
      accepts: [],
      options: ["url", "options"],
      call: (url) => toRequest({ ...request, url }),
    },
    method: {
      accepts: ["string"],
      options: ["options"],
      call: (method) => toRequest({ ...request, method }),
    },
    body: {
      accepts: TYPE_NAMES.filter((name) =>
        !["NaN", "symbol", "bigint", "function", "getter", "unreadable"].includes(name)
      ),
      call: (body) => toRequest({ ...request, method: "post", body }),
    },
    signal: {
      accepts: ["undefined", "null"],
      options: ["options"],
      call: (signal) => toRequest(request, { signal }),
    },
  },
  ...Object.fromEntries(
    Object.entries({ csvFromPage, ndjsonFromPage, geojsonFromPage })
      .map(([name, convert]) => [`${name}()`, {
        page: { accepts: [], call: (value) => convert(value) },
      }]),
  ),
  "csvFromPage() with options": {
    options: { accepts: ["undefined", ...OBJECTS], call: (options) => csvFromPage(page, options) },
    ...csvOptions((options) => csvFromPage(page, options)),
  },
  "createSandbox()": {
    options: { accepts: ["undefined", ...OBJECTS], call: (options) => createSandbox(options) },
    ...members<SandboxOptions>({
      apiKey: ["undefined", ...STRINGS],
      records: ["undefined", "number"],
      locations: ["undefined", "number"],
      requestsPerSecond: ["undefined", "number"],
      hostileNames: ["undefined", "boolean"],
      now: ["undefined", "function"],
    }, (options) => createSandbox(options)),
  },
  "createApp()": {
    options: { accepts: [], options: ["options", "access"], call: (options) => createApp(options) },
    ...members<AppOptions>({
      ...CLIENT_OPTIONS,
      access: [],
      apiKey: ["string"],
      signingSecret: ["undefined", ...STRINGS],
      tokens: ["undefined", "array"],
      synthetic: ["undefined", "boolean"],
      maxRows: ["undefined", "number"],
      maxDownloads: ["undefined", "number"],
      maxDownloadsPerClient: ["undefined", "number"],
      clientAddressHeader: ["undefined", "string"],
      maxCachedBytes: ["undefined", "number"],
      cacheTtl: ["undefined", "number"],
      pageRows: ["undefined", "number"],
      corsOrigins: ["undefined", "array"],
      readerTimeout: ["undefined", "number"],
      now: ["undefined", "function"],
      log: ["undefined", "function"],
      logRequests: ["undefined", "boolean"],
      logFormat: ["undefined"],
      metricsToken: ["undefined"],
    }, (options) => createApp({ ...app, ...options })),
    ...members<Clock>(
      CLOCK,
      (part) => createApp({ ...app, clock: { ...clock, ...part } }),
      "clock.",
    ),
    "item of tokens": {
      accepts: [],
      options: ["tokens"],
      call: (token) => createApp({ ...app, tokens: [token] }),
    },
    "item of corsOrigins": {
      accepts: [],
      options: ["corsOrigins"],
      call: (origin) => createApp({ ...app, corsOrigins: [origin] }),
    },
    "signingSecret of signed access": {
      accepts: [],
      options: ["signingSecret"],
      call: (signingSecret) => createApp({ ...app, access: "signed", signingSecret }),
    },
  },
  "signUrl()": {
    url: { accepts: [], call: (url) => signUrl(url, signing) },
    options: {
      accepts: [],
      options: ["options", "secret"],
      call: (options) => signUrl(file, options),
    },
    ...members<SignUrlOptions>(
      { secret: [], expires: ["number"] },
      (options) => signUrl(file, { ...signing, ...options }),
    ),
  },
};

/** Leaves out the options that are undefined or null, which merged options always have. */
function withoutAbsent(options: EndpointOptions): EndpointOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
}

/** Returns what a call throws or rejects with; `undefined` if it succeeds. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error ?? "a nullish value";
  }
}

for (const [name, options] of Object.entries(FUNCTIONS)) {
  for (const [key, argument] of Object.entries(options)) {
    const { accepts, call, options: named = [key], rethrows = [] } = argument;
    Deno.test(`${name} throws a ValidationError when the type of its ${key} is wrong`, async () => {
      for (const type of TYPE_NAMES) {
        const error = await errorOf(() => call(VALUES[type]));
        if (accepts.includes(type)) {
          assertEquals(error, undefined, `${key} is ${type}`);
          continue;
        }
        if (rethrows.includes(type)) {
          assertEquals((error as Error).message, THROWN);
          continue;
        }
        assert(error instanceof ValidationError, `${key} is ${type}: ${Deno.inspect(error)}`);
        const { option, message } = error;
        // The getter's name is itself an unknown option or a parameter.
        const isNamed = type === "getter" && option === "x" ||
          named.some((one) => option === one || option.startsWith(`${one}.`));
        assert(isNamed, `${key} is ${type}: the option is ${option}: ${message}`);
        assert(!/undefined \(reading|\[object /.test(message), message);
        assert(!message.includes(THROWN), message);
      }
    });
  }
}
