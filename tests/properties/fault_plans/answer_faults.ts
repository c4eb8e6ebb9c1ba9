import type { Answer, Context, Kind } from "./kind.ts";
import type { Plan } from "./plan.ts";
import { API_KEY } from "./truth.ts";

const HTML = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";

/** Bodies of error answers; one of them shows the request's own headers, as some gateways do. */
const BODIES = [
  '{"message":"Something failed"}',
  '{"message":null}',
  '{"error":{"code":"E1","message":"Something failed"}}',
  `{"message":"Bad request headers: x-api-key: ${API_KEY}"}`,
  HTML,
  "",
  `key ${API_KEY}\u0007\nis refused`,
];
const RETRY_AFTER = [
  undefined,
  undefined,
  "0",
  "1",
  "7",
  "119",
  "1.5",
  "-3",
  "soon",
  "Wed, 21 Oct 2015 07:28:00 GMT",
];

function status(code: number, passes: boolean): Kind {
  return {
    name: `status ${code}`,
    on: "any",
    passes,
    answer: async (context) => {
      const { random, clock, signal } = context;
      if ((code === 408 || code === 504) && random.chance(0.3)) {
        await clock.sleep(30_000, signal);
      }
      const retryAfter = [413, 429, 503].includes(code) ? random.pick(RETRY_AFTER) : undefined;
      return { ...errorAnswer(code, context), ...retryHeader(retryAfter) };
    },
  };
}

function errorAnswer(code: number, { random }: Context): Answer {
  return { status: code, body: random.pick(BODIES) };
}

function retryHeader(value: string | undefined): Partial<Answer> {
  return value === undefined ? {} : { headers: { "retry-after": value } };
}

function outage(how: number | "reset"): Kind {
  return {
    name: `outage of 15 s (${how})`,
    on: "any",
    passes: true,
    duration: 15_000,
    answer: (context) => Promise.resolve(how === "reset" ? how : errorAnswer(how, context)),
  };
}

function answered(name: string, body: string, contentType: string): Kind {
  return {
    name,
    on: "any",
    passes: true,
    answer: () =>
      Promise.resolve({
        status: 200,
        body,
        headers: { "content-type": contentType },
      }),
  };
}

function redirect(code: number): Kind {
  return {
    name: `redirect ${code}`,
    on: "any",
    passes: false,
    answer: ({ random }) =>
      Promise.resolve({
        status: code,
        headers: {
          location: random.pick([
            `https://elsewhere.invalid/v1/odata/v4/Records?x-api-key=${API_KEY}`,
            "/login",
            "not a URL %%%",
          ]),
        },
      }),
  };
}

/** Refuses large pages, or queries that name no location, as a service with little memory does. */
function refuses(
  name: string,
  codes: readonly number[],
  applies: (context: Context) => boolean,
): Kind {
  return {
    name,
    on: "page",
    passes: true,
    always: true,
    applies,
    answer: (context) => Promise.resolve(errorAnswer(context.random.pick(codes), context)),
  };
}

const isMeasured = ({ asked }: Context) => /Records|Observations/.test(asked.resource);

/** Whether a refused query is to be split by location: there must be several. */
function isSplittable({ partition, locations, output, skipToken }: Plan): boolean {
  if (locations < 2 || output.startsWith("edge-") && skipToken !== undefined) return false;
  return partition === undefined || partition === "auto" || partition === "location";
}

/** Answers that a service, a gateway or a proxy gives in place of a page or a count. */
export const ANSWER_FAULTS: readonly Kind[] = [
  ...[408, 429, 429, 500, 502, 503, 504, 504].map((code) => status(code, true)),
  // A single row that is too large cannot be halved.
  {
    ...status(413, true),
    on: "page",
    passesFor: ({ top, limit }) => limit === undefined && top > 1,
  },
  ...[400, 401, 403, 404, 410].map((code) => status(code, false)),
  ...[503, 504, 408, "reset" as const].map(outage),
  ...[301, 302, 307].map(redirect),
  {
    name: "429 that asks to wait for an hour",
    on: "any",
    passes: false,
    answer: (context) =>
      Promise.resolve({
        ...errorAnswer(429, context),
        headers: { "retry-after": "3600" },
      }),
  },
  {
    name: "reset before the headers",
    on: "any",
    passes: true,
    answer: () => Promise.resolve("reset"),
  },
  {
    name: "no headers for ever",
    on: "any",
    passes: true,
    answer: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), {
          once: true,
        });
      }),
  },
  {
    name: "headers after up to 44 s",
    on: "any",
    passes: true,
    answer: ({ clock, random, signal }) =>
      clock.sleep(random.int(1_000, 44_000), signal).then(() => undefined),
  },
  answered("HTML with 200", HTML, "text/html"),
  answered("HTML with 200 as JSON", HTML, "application/json"),
  answered("an empty body", "", "application/json"),
  answered("null in place of a document", "null", "application/json"),
  answered("a list in place of a document", "[]", "application/json"),
  answered("an empty document", "{}", "application/json"),
  answered("a message in place of a document", '{"message":"Try again"}', "application/json"),
  // In place of a count, it would be one.
  { ...answered("a number in place of a document", "42", "application/json"), on: "page" },
  {
    name: "204",
    on: "any",
    passes: false,
    answer: () => Promise.resolve({ status: 204 }),
  },
  // Pages are halved three to four times before a query ends or is split.
  {
    ...refuses(
      "504 or 408 to pages over 40 rows",
      [504, 408],
      (context) => context.asked.top > 40 && isMeasured(context),
    ),
    passesFor: ({ top }) => top <= 320,
  },
  {
    ...refuses(
      "413 to pages over 60 rows",
      [413],
      // Lists of locations begin with pages of 10000 rows.
      (context) => context.asked.top > (isMeasured(context) ? 60 : 700),
    ),
    passesFor: ({ top }) => top <= 960,
  },
  {
    ...refuses(
      "504, 408 or 413 to queries without a location",
      [504, 408, 413],
      (context) => isMeasured(context) && !context.asked.filter?.includes("LocationId"),
    ),
    passesFor: isSplittable,
  },
];
