// Each option of the public functions is checked at once: a value of a wrong type throws a
// ValidationError that names the option, and the text of an error that the value throws stays secret.
import { assert } from "@std/assert";
import { type AppOptions, createApp, signUrl } from "../../../edge/app.ts";
import {
  csvFromPage,
  DataStream,
  endpoint,
  geojsonFromPage,
  ndjsonFromPage,
  toRequest,
  ValidationError,
} from "../../../mod.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { SECRET } from "../../helpers/edge.ts";

/** Text of a getter's error. No message may contain it. */
const THROWN = "the text of a getter's error";
/** Values that no option accepts. */
const WRONG = {
  symbol: Symbol("x"),
  bigint: 1n,
  "object that throws": new Proxy({}, {
    get(_, name) {
      if (typeof name === "string") throw new Error(THROWN);
    },
  }),
};

const client = new DataStream({ apiKey: "sandbox" });
const stations = client.locations();
const box = { west: -64, south: -46, east: 62, north: 47 };
const app: AppOptions = { access: "public", apiKey: "key" };
const file = "https://weir.example/Records.csv";
const request = { method: "get", url: file, headers: {} };
const clock = { now: () => 0, sleep: () => Promise.resolve() };
const rateLimiter = { acquire: () => Promise.resolve({ retryAfter: 0 }) };

// The type is `any`, because each value has a wrong type.
// deno-lint-ignore no-explicit-any -- see above
type Call = (value: any) => unknown;

/** Returns a call for each member of an object of options. */
const members = (names: string, call: Call, path = ""): [string, Call][] =>
  names.split(" ").map((name) => [path + name, (value) => call({ [name]: value })]);

const CLIENT = "baseUrl requestsPerSecond userAgent retry timeouts fetch rateLimiter clock";
const CSV = "columns separator eol header bom escapeFormulas";

/**
 * The options by function, and arguments other than those of filters (`filter_test.ts`). The names of an option that is
 * part of another one have a dot.
 */
const FUNCTIONS: Record<string, [option: string, call: Call][]> = {
  "DataStream()": [
    ["options", (options) => new DataStream(options)],
    ...members(`${CLIENT} apiKey maxWait`, (options) => new DataStream(options)),
    ...members("attempts backoff retryAfter", (retry) => new DataStream({ retry }), "retry."),
    ...members("headers bytes", (timeouts) => new DataStream({ timeouts }), "timeouts."),
    ...members("now sleep", (part) => new DataStream({ clock: { ...clock, ...part } }), "clock."),
    ...members(
      "acquire",
      (part) => new DataStream({ rateLimiter: { ...rateLimiter, ...part } }),
      "rateLimiter.",
    ),
  ],
  "query()": [
    ["resource", (resource) => client.query(resource)],
    ["options", (options) => client.query("Records", options)],
    ...members(
      "select filter within top limit skipToken partition unchecked incomplete sameVersion maxRows signal onProgress",
      (options) => client.query("Records", options),
    ),
    ["select", (field) => client.records({ select: ["Id", field] })],
    ...members(
      "west south east north",
      (side) => client.records({ within: { ...box, ...side } }),
      "within.",
    ),
  ],
  "csv()": [
    ["csv", (options) => stations.csv(options)],
    ...members(CSV, (options) => client.records({ unchecked: true }).csv(options)),
    ["columns", (column) => client.records({ unchecked: true }).csv({ columns: [column] })],
  ],
  "batches()": [
    ["options", (options) => stations.batches(options)],
    ...members("format csv distinct parts", (options) => stations.batches(options)),
  ],
  "citations()": [
    ["filter", (filter) => client.citations(filter)],
    ["options", (options) => client.citations(undefined, options)],
    ...members("dois signal within", (options) => client.citations(undefined, options)),
    ["dois", (doi) => client.citations(undefined, { dois: [doi] })],
  ],
  "endpoint()": [
    ...members("baseUrl method url", (options) => endpoint({ url: "/x", ...options })),
    ["mediaType.format", (format) => endpoint({ url: "/x", mediaType: { format } })],
    ["headers", (value) => endpoint({ url: "/x", headers: { "X-A": value } })],
    ["headers", (name) => endpoint({ url: "/x", headers: [[name, "1"]] })],
  ],
  "toRequest()": [
    ["options", (method) => toRequest({ ...request, method })],
    ["options", (signal) => toRequest(request, { signal })],
  ],
  "csvFromPage()": [["page", csvFromPage]],
  "ndjsonFromPage()": [["page", ndjsonFromPage]],
  "geojsonFromPage()": [["page", geojsonFromPage]],
  "createSandbox()": [
    ["options", (options) => createSandbox(options)],
    ...members(
      "apiKey records locations requestsPerSecond hostileNames now",
      (options) => createSandbox(options),
    ),
  ],
  "createApp()": [
    ...members(
      `${CLIENT} access apiKey signingSecret tokens synthetic maxRows maxDownloads ` +
        "maxDownloadsPerClient clientAddressHeader maxCachedBytes cacheTtl pageRows corsOrigins " +
        "readerTimeout now log logRequests logFormat metricsToken",
      (options) => createApp({ ...app, ...options }),
    ),
    ["tokens", (token) => createApp({ ...app, tokens: [token] })],
    ["corsOrigins", (origin) => createApp({ ...app, corsOrigins: [origin] })],
  ],
  "signUrl()": [
    ["url", (url) => signUrl(url, { secret: SECRET, expires: 1_796_083_200 })],
    ["secret", (secret) => signUrl(file, { secret, expires: 1_796_083_200 })],
    ["expires", (expires) => signUrl(file, { secret: SECRET, expires })],
  ],
};

for (const [name, calls] of Object.entries(FUNCTIONS)) {
  Deno.test(`${name} throws a ValidationError that names the option when a type is wrong`, async () => {
    for (const [option, call] of calls) {
      for (const [type, value] of Object.entries(WRONG)) {
        const place = `${option} is a ${type}`;
        const error = await Promise.resolve().then(() => call(value)).then(
          () => undefined,
          (error) => error,
        );
        assert(error instanceof ValidationError, `${place}: ${Deno.inspect(error)}`);
        const isNamed = error.option === option || error.option.startsWith(`${option}.`);
        assert(isNamed, `${place}: the option is ${error.option}: ${error.message}`);
        assert(!/undefined \(reading|\[object /.test(error.message), error.message);
        assert(!error.message.includes(THROWN), error.message);
      }
    }
  });
}
