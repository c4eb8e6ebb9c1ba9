import type { endpoint } from "../../mod.ts";

/** Builds a request: `endpoint()`, or a function of another package with the same arguments. */
export type Builder = (...call: EndpointCall) => { url: string };

/** A builder that returns builders with defaults. */
export type BuilderWithDefaults = Pick<typeof endpoint, "defaults">;

/** Arguments of a call: a route and options, or options alone. */
export type EndpointCall = [
  route: string | Record<string, unknown>,
  options?: Record<string, unknown>,
];

/** Creates the arguments of a call; they differ with the number, so that no result can be cached. */
export type EndpointShape = (number: number) => EndpointCall;

/** Creates the arguments of `count` calls, with numbers from `from`. */
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
const frenchFilter = [
  "MonitoringLocationName in ('Rivière aux Pêches', 'Lac à l’Épaule', 'Baie-D’Urfé (Montréal)')",
  "CharacteristicName in ('Température de l’eau', 'Oxygène dissous (DO)', 'Azote total')",
  "ActivityMediaName eq 'Eau de surface' and LaboratoryName eq 'Ministère de l’Environnement'",
].join(" and ");
const inuktitutFilter = Array.from(
  { length: 8 },
  () => "MonitoringLocationName in ('ᓄᓇᕗᑦ ᑰᒃ', 'ᐃᖃᓗᐃᑦ ᑕᓯᖅ', 'ᐸᖕᓂᖅᑑᖅ') and RegionId eq 'ᐃᒪᖅ ᐅᖅᑰᓂᖓ'",
).join(" or ");
const longFilter = Array.from({ length: 16 }, () => filter).join(" or ");

/** Returns the numbers from 10,000, the last of which is another one. */
const idsOf = (count: number, last: number) => [
  ...Array.from({ length: count - 1 }, (_, index) => 10_000 + index),
  last,
];
/** Returns parameters with short texts. */
const fieldsOf = (count: number, last: number): Record<string, unknown> =>
  Object.fromEntries(idsOf(count, last).map((id, index) => [`field${index}`, `text ${id}`]));
const rows = Array.from({ length: 1_000 }, (_, index) => ({
  id: index,
  name: "Dissolved oxygen (DO)",
  value: 8.25,
  unit: "mg/L",
  isValid: true,
}));
/** Returns rows, the last of which is another one. */
const rowsOf = (count: number, last: number) => [
  ...rows.slice(1, count),
  { ...rows[0], id: last },
];

/** Calls of a builder without defaults. */
export const ENDPOINT_SHAPES: Readonly<Record<string, EndpointShape>> = {
  "GET with a variable and a query parameter": (number) => [
    "GET /locations/{id}",
    { baseUrl, id: number, page: number },
  ],
  "GET of a route without options": () => ["GET /Metadata"],
  "GET of options without a route": (number) => [{ url: "/locations/{id}", baseUrl, id: number }],
  "GET of a full URL": (number) => ["https://example.org/locations/{id}", { id: number }],
  "GET with a :name placeholder": (number) => ["GET /locations/:id", { baseUrl, id: number }],
  "GET with six placeholders": (number) => [
    "GET /{a}/{b}/{c}/{d}/{e}/{f}",
    { baseUrl, a: "one", b: "two", c: 3, d: "four 4", e: true, f: number },
  ],
  "GET with 250 routes in turn": (number) => [
    `GET /resource${number % 250}/{id}`,
    { baseUrl, id: number },
  ],
  "GET with 1,000 routes in turn": (number) => [
    `GET /resource${number % 1_000}/{id}`,
    { baseUrl, id: number },
  ],
  "GET with a new path in each call": (number) => [
    `GET /locations/${number}/{resource}`,
    { baseUrl, resource: "records" },
  ],
  "GET with a filter of 400 characters": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${filter} and LocationId gt ${number}` },
  ],
  "GET with a filter of 300 characters in French": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${frenchFilter} and LocationId gt ${number}` },
  ],
  "GET with a filter of 750 characters, names in Inuktitut": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${inuktitutFilter} and LocationId gt ${number}` },
  ],
  "GET with a filter of 6,000 characters": (number) => [
    "GET /Records",
    { baseUrl, $filter: `${longFilter} and LocationId gt ${number}` },
  ],
  "GET with 20 query parameters": (number) => [
    "GET /Records",
    { baseUrl, ...fieldsOf(20, number) },
  ],
  "GET with a list of 100 ids": (number) => ["GET /Records", { baseUrl, ids: idsOf(100, number) }],
  "GET with {?ids}, a list of 100 ids": (number) => [
    "GET /Records{?ids}",
    { baseUrl, ids: idsOf(100, number) },
  ],
  "GET with {?list*}, a list of 10 texts": (number) => [
    "GET /Records{?list*}",
    { baseUrl, list: idsOf(10, number).map((id) => `water body ${id}`) },
  ],
  "GET with {?keys*}, an object of 4 texts": (number) => [
    "GET /Records{?keys*}",
    { baseUrl, keys: { semi: ";", dot: ".", comma: ",", page: `page ${number}` } },
  ],
  "GET with {?a,b,c}": (number) => [
    "GET /Records{?a,b,c}",
    { baseUrl, a: "pH", b: "mg/L", c: number },
  ],
  "GET with {+path}": (number) => ["GET /{+path}", { baseUrl, path: `files/${number}/a b.csv` }],
  "GET with {/segments*}{#section}": (number) => [
    "GET {/segments*}{#section}",
    { baseUrl, segments: ["files", number, "a b.csv"], section: "end" },
  ],
  "GET with ten headers": (number) => [
    "GET /Records",
    { baseUrl, headers: { ...fieldsOf(9, number), Authorization: `token ${number}` } },
  ],
  "GET with a media type's format": (number) => [
    "GET /Records",
    { baseUrl, mediaType: { format: "raw" }, page: number },
  ],
  "HEAD with request options": (number) => [
    "HEAD /locations/{id}",
    { baseUrl, id: number, request: { timeout: 100 } },
  ],
  "DELETE without a body": (number) => ["DELETE /notes/{id}", { baseUrl, id: number }],
  "POST with a body": (number) => [
    "POST /notes",
    { baseUrl, title: `note ${number}`, tags: ["a", "b"], draft: true },
  ],
  "POST with a body of 20 texts": (number) => [
    "POST /notes",
    { baseUrl, ...fieldsOf(20, number) },
  ],
  "PATCH with a body of nested objects": (number) => [
    "PATCH /notes/{id}",
    { baseUrl, id: number, author: { name: "A", place: { lat: 45.5, lon: -75.1 } }, tags: ["a"] },
  ],
  "POST with a body of 100 rows": (number) => [
    "POST /notes",
    { baseUrl, rows: rowsOf(100, number) },
  ],
  "POST with a body of 1,000 rows": (number) => [
    "POST /notes",
    { baseUrl, rows: rowsOf(1_000, number) },
  ],
  "POST with 100 rows as data": (number) => ["POST /notes", { baseUrl, data: rowsOf(100, number) }],
};

/** Calls of a builder from `withThreeLevels()`. */
export const SHAPE_WITH_DEFAULTS: EndpointShape = (number: number): EndpointCall => [
  "GET /x/{org}/{id}",
  { id: number, q: "a b" },
];

/** Returns a builder with three levels of defaults. */
export function withThreeLevels(builder: BuilderWithDefaults): Builder {
  const levels = [
    { baseUrl, headers: { authorization: "token of a benchmark" } },
    { org: "weir", per: 100 },
    { headers: { "x-trace": "1" }, sort: "name" },
  ];
  return levels.reduce((build, level) => build.defaults(level), builder) as unknown as Builder;
}
