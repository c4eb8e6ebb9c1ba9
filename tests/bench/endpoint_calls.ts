import type { endpoint } from "../../mod.ts";

/** Builds a request: `endpoint()`, or a function of another package with the same arguments. */
export type Builder = (route: string, options: Record<string, unknown>) => unknown;

/** A builder that returns builders with defaults. */
export type BuilderWithDefaults = Pick<typeof endpoint, "defaults">;

/** A call to measure. Its arguments differ with the number, so that no result can be cached. */
export type EndpointCall = (build: Builder, number: number) => unknown;

const baseUrl = "https://example.org/v1";
const filter = [
  "DOI in ('10.25976/abcd-ef10', '10.25976/abcd-ef11', '10.25976/abcd-ef12')",
  "CharacteristicName in ('Temperature, water', 'Dissolved oxygen (DO)', 'Total Nitrogen')",
  "MonitoringLocationType in ('River/Stream', 'Lake/Pond') and ActivityMediaName eq 'Surface Water'",
  "RegionId eq 'admin.4.ca.on' and ActivityStartYear gte 2015 and ActivityStartYear lte 2023",
].join(" and ");

/** Calls of a builder without defaults. */
export const DIRECT_CALLS: Readonly<Record<string, EndpointCall>> = {
  "GET with a variable and a query parameter": (build, number) =>
    build("GET /locations/{id}", { baseUrl, id: number, page: number }),
  "POST with a body": (build, number) =>
    build("POST /notes", { baseUrl, title: `note ${number}`, tags: ["a", "b"], draft: true }),
  "GET with a filter of 400 characters": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${filter} and LocationId gt ${number}` }),
};

/** Calls a builder from `withThreeLevels()`. */
export function callWithDefaults(build: Builder, number: number): unknown {
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
