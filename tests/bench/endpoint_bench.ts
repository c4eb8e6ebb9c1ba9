/**
 * Compares `endpoint()` with `@octokit/endpoint` in the current runtime.
 *
 * Both take turns; the result is the median ratio of their times. Arguments differ in every call, so
 * that no result can be cached.
 */
import { endpoint as octokit } from "@octokit/endpoint";
import { endpoint as weir } from "../../mod.ts";
import { formatNumber, logProgress, median, report, requireAtLeast } from "./measurement.ts";

type Builder = (route: string, options: Record<string, unknown>) => unknown;
type Call = (build: Builder, number: number) => unknown;

/** Minimum ratio of the time of `@octokit/endpoint` to Weir's. */
const MIN_RATIO = 2;
const ROUNDS = 41;
const CALLS = 2_000;

const baseUrl = "https://example.org/v1";
const filter = [
  "DOI in ('10.25976/abcd-ef10', '10.25976/abcd-ef11', '10.25976/abcd-ef12')",
  "CharacteristicName in ('Temperature, water', 'Dissolved oxygen (DO)', 'Total Nitrogen')",
  "MonitoringLocationType in ('River/Stream', 'Lake/Pond') and ActivityMediaName eq 'Surface Water'",
  "RegionId eq 'admin.4.ca.on' and ActivityStartYear gte 2015 and ActivityStartYear lte 2023",
].join(" and ");

const direct: Record<string, Call> = {
  "GET with a variable and a query parameter": (build, number) =>
    build("GET /locations/{id}", { baseUrl, id: number, page: number }),
  "POST with a body": (build, number) =>
    build("POST /notes", { baseUrl, title: `note ${number}`, tags: ["a", "b"], draft: true }),
  "GET with a filter of 400 characters": (build, number) =>
    build("GET /Records", { baseUrl, $filter: `${filter} and LocationId gt ${number}` }),
};
const callDefaults: Call = (build, number) => build("GET /x/{org}/{id}", { id: number, q: "a b" });

const levels = [
  { baseUrl, headers: { authorization: "token of a benchmark" } },
  { org: "weir", per: 100 },
  { headers: { "x-trace": "1" }, sort: "name" },
];
const deepWeir = levels.reduce((build, level) => build.defaults(level), weir) as Builder;
const deepOctokit = levels.reduce((build, level) => build.defaults(level), octokit) as Builder;

/** Returns the time (ms) of `CALLS` calls. */
function time(call: Call, build: Builder, from: number): number {
  const start = performance.now();
  for (let number = from; number < from + CALLS; number++) call(build, number);
  return performance.now() - start;
}

function compare(name: string, call: Call, ours: Builder, theirs: Builder): void {
  logProgress(name);
  const times: { ours: number; theirs: number }[] = [];
  for (let round = -5; round < ROUNDS; round++) {
    const from = (round + 5) * CALLS;
    const oursFirst = round % 2 === 0;
    const first = time(call, oursFirst ? ours : theirs, from);
    const second = time(call, oursFirst ? theirs : ours, from);
    if (round < 0) continue; // warm-up
    times.push(oursFirst ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  const perSecond = (milliseconds: number[]) => formatNumber(CALLS / median(milliseconds) * 1000);
  const ratio = median(times.map(({ ours, theirs }) => theirs / ours));
  const ourRate = perSecond(times.map(({ ours }) => ours));
  const theirRate = perSecond(times.map(({ theirs }) => theirs));
  report({
    name: `${name}, compared with @octokit/endpoint`,
    value: `${formatNumber(ratio)} times (${ourRate} and ${theirRate} calls/s)`,
    ...requireAtLeast(MIN_RATIO, [ratio]),
  });
}

for (const [name, call] of Object.entries(direct)) {
  compare(name, call, weir as Builder, octokit as Builder);
}
compare("three levels of defaults", callDefaults, deepWeir, deepOctokit);
