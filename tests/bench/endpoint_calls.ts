import type { endpoint } from "../../mod.ts";

/** Builds a request: `endpoint()`, or a function of another package with the same arguments. */
export type Builder = (route: string, options: Record<string, unknown>) => { url: string };

/** A builder that returns builders with defaults. */
export type BuilderWithDefaults = Pick<typeof endpoint, "defaults">;

/** A call to measure. Its arguments differ with the number, so that no result can be cached. */
export type EndpointCall = (build: Builder, number: number) => { url: string };

/**
 * Calls a builder as often as `count` says, with numbers from `from`.
 *
 * Reads a character of each URL: V8 joins the parts of a text only when it is read.
 *
 * @returns A value that depends on each URL, so that no call can be optimised away
 */
export function repeatCall(
  call: EndpointCall,
  build: Builder,
  from: number,
  count: number,
): number {
  let sum = 0;
  for (let number = from; number < from + count; number++) {
    sum += call(build, number).url.charCodeAt(0);
  }
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

// Lists and objects are created once, so that only the builder is measured. A call changes one item.
const list = Array.from({ length: 10 }, (_, index) => `water body ${index}`);
const keys = { semi: ";", dot: ".", comma: ",", page: "1" };
const ids = Array.from({ length: 100 }, (_, index) => 10_000 + index);
const rows = Array.from({ length: 100 }, (_, index) => ({
  id: index,
  name: "Dissolved oxygen (DO)",
  value: 8.25,
  unit: "mg/L",
  isValid: true,
}));

/** Calls of a builder without defaults. */
export const DIRECT_CALLS: Readonly<Record<string, EndpointCall>> = {
  "GET with a variable and a query parameter": (build, number) =>
    build("GET /locations/{id}", { baseUrl, id: number, page: number }),
  "POST with a body": (build, number) =>
    build("POST /notes", { baseUrl, title: `note ${number}`, tags: ["a", "b"], draft: true }),
  "GET with a filter of 400 characters": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${filter} and LocationId gt ${number}` }),
};

/** Calls with lists, objects, new paths, long and non-ASCII texts. */
export const VARIED_CALLS: Readonly<Record<string, EndpointCall>> = {
  "GET with {?list*}, a list of 10 texts": (build, number) => {
    list[number % list.length] = `water body ${number}`;
    return build("GET /Records{?list*}", { baseUrl, list });
  },
  "GET with {?keys*}, an object of 4 texts": (build, number) => {
    keys.page = `page ${number}`;
    return build("GET /Records{?keys*}", { baseUrl, keys });
  },
  "GET with a new path in each call": (build, number) =>
    build(`GET /locations/${number}/{resource}`, { baseUrl, resource: "records" }),
  "GET with a filter of 300 characters in French": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${frenchFilter} and LocationId gt ${number}` }),
  "GET with a filter of 750 characters, names in Inuktitut": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${inuktitutFilter} and LocationId gt ${number}` }),
  "GET with a list of 100 ids": (build, number) => {
    ids[number % ids.length] = number;
    return build("GET /Records", { baseUrl, ids });
  },
  "GET with {?ids}, a list of 100 ids": (build, number) => {
    ids[number % ids.length] = number;
    return build("GET /Records{?ids}", { baseUrl, ids });
  },
  "POST with a body of 100 rows": (build, number) => {
    rows[number % rows.length]!.id = number;
    return build("POST /notes", { baseUrl, rows });
  },
  "GET with a filter of 6,000 characters": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${longFilter} and LocationId gt ${number}` }),
};

/** Calls a builder from `withThreeLevels()`. */
export function callWithDefaults(build: Builder, number: number): { url: string } {
  return build("GET /x/{org}/{id}", { id: number, q: "a b" });
}

/** Returns a builder with three levels of defaults. */
export function withThreeLevels(builder: BuilderWithDefaults): Builder {
  const levels = [
    { baseUrl, headers: { authorization: "token of a benchmark" } },
    { org: "weir", per: 100 },
    { headers: { "x-trace": "1" }, sort: "name" },
  ];
  return levels.reduce((build, level) => build.defaults(level), builder) as unknown as Builder;
}
