import type { endpoint } from "../../mod.ts";

/** Builds a request: `endpoint()`, or a function of another package with the same arguments. */
export type Builder = (...call: EndpointCall) => { url: string };

export type BuilderWithDefaults = Pick<typeof endpoint, "defaults">;

/** Arguments of a call: a route and options, or options alone. */
export type EndpointCall = [
  route: string | Record<string, unknown>,
  options?: Record<string, unknown>,
];

/** Creates the arguments of a call; they differ with the number, so that no result can be cached. */
export type EndpointShape = (number: number) => EndpointCall;

export function createCalls(shape: EndpointShape, from: number, count: number): EndpointCall[] {
  const calls = Array.from({ length: count }, (_, index) => shape(from + index));
  // V8 joins the parts of a text when it is first read, which must not be part of a measurement.
  for (const [route, options = {}] of calls) {
    for (const value of [route, ...Object.values(options)].flat()) {
      if (typeof value === "string") value.charCodeAt(0);
    }
  }
  return calls;
}

/**
 * Calls a builder with each of the arguments.
 *
 * Reads a character of each URL: V8 joins the parts of a text only when it is read.
 *
 * @returns A value that depends on each URL, so that no call can be optimised away
 */
export function runCalls(calls: readonly EndpointCall[], build: Builder): number {
  let sum = 0;
  for (const [route, options] of calls) sum += build(route, options).url.charCodeAt(0);
  return sum;
}

const baseUrl = "https://example.org/v1";
const filter = [
  "DOI in ('10.25976/abcd-ef10', '10.25976/abcd-ef11', '10.25976/abcd-ef12')",
  "CharacteristicName in ('Temperature, water', 'Dissolved oxygen (DO)', 'Total Nitrogen')",
  "MonitoringLocationType in ('River/Stream', 'Lake/Pond') and ActivityMediaName eq 'Surface Water'",
  "RegionId eq 'admin.4.ca.on' and ActivityStartYear gte 2015 and ActivityStartYear lte 2023",
].join(" and ");
const longFilter = Array.from({ length: 16 }, () => filter).join(" or ");

export const ENDPOINT_SHAPES: Readonly<Record<string, EndpointShape>> = {
  "GET with a variable and a query parameter": (number) => [
    "GET /locations/{id}",
    { baseUrl, id: number, page: number },
  ],
  "GET with a new path in each call": (number) => [
    `GET /locations/${number}/{resource}`,
    { baseUrl, resource: "records" },
  ],
  "GET with a filter of 400 characters": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${filter} and LocationId gt ${number}` },
  ],
  "GET with a filter of 6,000 characters": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${longFilter} and LocationId gt ${number}` },
  ],
  "POST with a body": (number) => [
    "POST /notes",
    { baseUrl, title: `note ${number}`, tags: ["a", "b"], draft: true },
  ],
};

export const SHAPE_WITH_DEFAULTS: EndpointShape = (number: number): EndpointCall => [
  "GET /x/{org}/{id}",
  { id: number, q: "a b" },
];

export function withThreeLevels(builder: BuilderWithDefaults): Builder {
  const levels = [
    { baseUrl, headers: { authorization: "token of a benchmark" } },
    { org: "weir", per: 100 },
    { headers: { "x-trace": "1" }, sort: "name" },
  ];
  return levels.reduce((build, level) => build.defaults(level), builder) as unknown as Builder;
}
