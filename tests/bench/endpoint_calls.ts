import type { endpoint } from "../../mod.ts";
import { compare, type Prepare } from "./measurement.ts";

type Builder = typeof endpoint;

/** Arguments of a call: a route and options. */
type EndpointCall = [route: string, options: Record<string, unknown>];

/** Creates the arguments of a call; they differ with the number, so that no result can be cached. */
type EndpointShape = (number: number) => EndpointCall;

const baseUrl = "https://example.org/v1";
const filter = [
  "DOI in ('10.25976/abcd-ef10', '10.25976/abcd-ef11', '10.25976/abcd-ef12')",
  "CharacteristicName in ('Temperature, water', 'Dissolved oxygen (DO)', 'Total Nitrogen')",
  "MonitoringLocationType in ('River/Stream', 'Lake/Pond') and ActivityMediaName eq 'Surface Water'",
  "RegionId eq 'admin.4.ca.on' and ActivityStartYear gte 2015 and ActivityStartYear lte 2023",
].join(" and ");
const longFilter = Array.from({ length: 16 }, () => filter).join(" or ");

const SHAPES: Readonly<Record<string, EndpointShape>> = {
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

const SHAPE_WITH_DEFAULTS: EndpointShape = (number) => [
  "GET /x/{org}/{id}",
  { id: number, q: "a b" },
];

function withThreeLevels(builder: Builder): Builder {
  const levels = [
    { baseUrl, headers: { authorization: "token of a benchmark" } },
    { org: "weir", per: 100 },
    { headers: { "x-trace": "1" }, sort: "name" },
  ];
  return levels.reduce((build, level) => build.defaults(level) as unknown as Builder, builder);
}

/** Number of calls of each round. */
const CALLS = 4_000;

/** Prepares calls of a builder. The arguments are created before the time is measured. */
function callsOf(shape: EndpointShape, build: Builder): Prepare {
  let number = 0;
  return () => {
    const calls = Array.from({ length: CALLS }, () => shape(number++));
    // V8 joins the parts of a text when it is first read, which must not be part of a measurement.
    for (const [route, options] of calls) {
      for (const value of [route, ...Object.values(options)].flat()) {
        if (typeof value === "string") value.charCodeAt(0);
      }
    }
    // Reads a character of each URL, so that it is complete, and no call can be optimised away.
    return () => {
      let sum = 0;
      for (const [route, options] of calls) sum += build(route, options).url.charCodeAt(0);
      return sum;
    };
  };
}

/** Compares the time of two builders with the same arguments. */
export async function compareBuilders(first: Builder, second: Builder): Promise<void> {
  const perSecond = (milliseconds: number) =>
    `${(CALLS / milliseconds).toFixed(0)},000 calls per second`;
  for (const [name, shape] of Object.entries(SHAPES)) {
    const title = `endpoint(): ${name}`;
    await compare(title, callsOf(shape, first), callsOf(shape, second), perSecond);
  }
  await compare(
    "endpoint(): three levels of defaults",
    callsOf(SHAPE_WITH_DEFAULTS, withThreeLevels(first)),
    callsOf(SHAPE_WITH_DEFAULTS, withThreeLevels(second)),
    perSecond,
  );
}
