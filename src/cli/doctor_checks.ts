// The requests of `weir doctor`, and its checks: pure functions over the answers. A check is a row of `ASSUMPTIONS`, and a
// function here.
import { endpoint } from "../endpoint/endpoint.ts";
import type { DataStreamError } from "../errors.ts";
import { dateOf, findMessage } from "../client/http_error.ts";
import { readNextLink } from "../client/next_link.ts";
import { countOf } from "../client/page_reader.ts";
import { toleranceOf } from "../client/split.ts";
import { boundingBox, eq, isIn } from "../odata/filter.ts";
import type { FieldType } from "../odata/fields.ts";
import type { SystemQueryOptions } from "../odata/query_options.ts";
import {
  fieldNames,
  MAXIMUM_TOP,
  RESOURCE_NAMES,
  type ResourceName,
  RESOURCES,
} from "../odata/resources.ts";
import { REGION_NAMES } from "../odata/value_hints.ts";
import { type Assumption, ASSUMPTIONS } from "../sandbox/assumptions.ts";
import { isObject } from "../validation.ts";

export interface Answer {
  url: string;
  /** 0 without an answer. */
  status: number;
  headers: Record<string, string>;
  /** Parsed JSON, or text. */
  body: unknown;
  /** Message of the error. */
  problem?: string;
  /** Time (ms since 1970) of this computer. */
  at: number;
}

export type ProbeName = keyof typeof PROBES;
export type Answers = Partial<Record<ProbeName, Answer>>;

type Request = readonly [resource: ResourceName, options: SystemQueryOptions];
/** Returns `undefined` if an earlier answer lacks what the request needs. */
type Probe = (earlier: { metadata?: Answer; locations?: Answer }) => Request | undefined;

type Row = Record<string, unknown>;
const rowsOf = (answer?: Answer): Row[] => {
  const { value } = Object(answer?.body);
  return Array.isArray(value) ? value.filter(isObject) : [];
};
const idsOf = (answer?: Answer) => rowsOf(answer).map(({ Id }) => Number(Id));
const totalOf = ({ count }: Answers) => countOf(count?.body) ?? NaN;

const page = (resource: ResourceName, $filter?: string): Probe => () => [
  resource,
  { $top: 2, $filter },
];
/** Counts the locations whose Id has a relation to the second one, which is in the middle of three. */
const counted = (operator: string): Probe => ({ locations }) => {
  const [first, second] = idsOf(locations);
  const value = operator === "in" ? `(${first},${second})` : second;
  if (second === undefined) return undefined;
  return ["Locations", { $count: "true", $filter: `LocationId ${operator} ${value}` }];
};
/** Of a list of DOIs: the first one is that of a location. */
const longQuery = (bytes: number): Probe => ({ locations }) => {
  const [first] = rowsOf(locations);
  if (first === undefined) return undefined;
  const options = (dois: string[]) => ({
    $select: "Id,DOI",
    $top: 1,
    $filter: String(isIn("DOI", dois)),
  });
  const lengthOf = (dois: string[]) =>
    new URL(endpoint("GET /Locations", { baseUrl: "https://a.test", ...options(dois) }).url).search
      .length - 1;
  const dois = [String(first.DOI)];
  const next = () => `10.25976/none-${String(dois.length).padStart(4, "0")}`;
  while (lengthOf([...dois, next()]) <= bytes) dois.push(next());
  return ["Locations", options(dois)];
};

/** In order: at most 25, and the refused ones last. */
export const PROBES = {
  metadata: page("Metadata"),
  locations: page("Locations"),
  observations: page("Observations", "ActivityStartYear gte 1"),
  records: page("Records"),
  "next page": ({ locations }) => {
    const last = idsOf(locations).at(-1);
    return last === undefined ? undefined : ["Locations", { $top: 2, $skiptoken: `Id:${last}` }];
  },
  count: () => ["Locations", { $count: "true" }],
  "largest page": () => ["Observations", { $top: MAXIMUM_TOP, $select: "Id" }],
  eq: counted("eq"),
  ne: counted("ne"),
  lt: counted("lt"),
  lte: counted("lte"),
  gt: counted("gt"),
  gte: counted("gte"),
  in: counted("in"),
  endswith: ({ locations }) => {
    const [first] = rowsOf(locations);
    const $filter = `endswith(DOI, '${String(first?.DOI).replace(/^.*\//, "/")}')`;
    return first && ["Locations", { $select: "Id,DOI", $top: 100, $filter }];
  },
  box: ({ locations }) => {
    const { Latitude: y, Longitude: x } = rowsOf(locations)[0] ?? {};
    if (typeof y !== "number" || typeof x !== "number") return undefined;
    const sides = { west: x - 0.01, south: y - 0.01, east: x + 0.01, north: y + 0.01 };
    return ["Locations", {
      $select: "Id,Latitude,Longitude",
      $top: 100,
      $filter: String(boundingBox(sides)),
    }];
  },
  regions: () => ["Locations", {
    $count: "true",
    $filter: String(isIn("RegionId", [...REGION_NAMES.keys()])),
  }],
  dataset: ({ metadata }) => {
    const [first] = rowsOf(metadata);
    return first && ["Metadata", { $top: 2, $filter: String(eq("Id", String(first.Id))) }];
  },
  apostrophe: () => ["Locations", { $count: "true", $filter: "Name eq 'o''clock'" }],
  "2,000 bytes": longQuery(2_000),
  "4,000 bytes": longQuery(4_000),
  "8,000 bytes": longQuery(8_000),
  "unknown field": () => ["Locations", { $select: "FieldThatIsUnknown", $top: 1 }],
  "larger page": () => ["Locations", { $select: "Id", $top: MAXIMUM_TOP + 1 }],
  "no key": () => ["Locations", { $select: "Id", $top: 1 }],
} satisfies Record<string, Probe>;

export const REFUSED: readonly string[] = ["unknown field", "larger page", "no key"];

export interface Facts {
  answers: Answers;
  /** What is wrong on this computer; `undefined` if nothing is. */
  computer: Record<"runtime" | "key file" | "proxy", string | Unknown | undefined>;
  /** Why requests are missing. */
  missing: string;
}

/** Why something cannot be checked. */
export interface Unknown {
  unknown: string;
}
/** Only for an assumption that Weir handles: it does not handle this difference. */
interface Unhandled {
  unhandled: string;
}
/** What differs. `undefined`: the assumption holds. */
type Verdict = string | Unhandled | Unknown | undefined;
type Check = (facts: Facts) => Verdict;

/** Checks an answer with status 200. */
const on =
  (name: ProbeName, test: (answer: Answer, answers: Answers) => Verdict): Check =>
  ({ answers, missing }) => {
    const answer = answers[name];
    if (answer === undefined) return { unknown: missing };
    const { status, problem = `status ${status}` } = answer;
    if (status === 200) return test(answer, answers);
    const isTemporary = status === 0 || status === 408 || status === 429 || status >= 500;
    const isOther = answer === answers.metadata && endsRun(status);
    return isTemporary || isOther
      ? { unknown: status === 0 ? missing : `status ${status}` }
      : problem;
  };

/** Whether the first answer says that the address or the key is wrong, so that no other request is useful. */
export function endsRun(status: number): boolean {
  return [401, 403, 404].includes(status) || status >= 300 && status < 400;
}

/** Checks the answer to a request that is meant to be refused. */
const refused =
  (name: ProbeName, ...statuses: number[]): Check => ({ answers: { [name]: answer }, missing }) => {
    if (answer === undefined || answer.status === 0) return { unknown: missing };
    return statuses.includes(answer.status) ? undefined : `the status is ${answer.status}`;
  };

const all = (...checks: Check[]): Check => (facts) => {
  const verdicts = checks.map((check) => check(facts));
  return verdicts.find((verdict) =>
    typeof verdict === "string" || "unhandled" in Object(verdict)
  ) ??
    verdicts.find((verdict) => verdict !== undefined);
};

const first = ({ metadata, "no key": noKey }: Answers) => metadata ?? noKey;
/** Returns the name of the first page of a resource. */
const pageOf = (resource: ResourceName) => resource.toLowerCase() as Lowercase<ResourceName>;
const list = (names: readonly string[]) => names.length > 0 ? names.join(", ") : undefined;

const missingFields = (resource: ResourceName) =>
  on(pageOf(resource), (answer) => {
    const [row] = rowsOf(answer);
    if (row === undefined) return { unknown: "no rows" };
    const missing = list(fieldNames(resource).filter((name) => !Object.hasOwn(row, name)));
    return missing && `it lacks ${missing}`;
  });

const ofEachResource = (test: (row: Row, resource: ResourceName) => string | undefined) =>
  all(...RESOURCE_NAMES.map((resource): Check => (facts) => {
    const answer = facts.answers[pageOf(resource)];
    if (answer?.status !== 200) return { unknown: `no ${resource}` };
    const found = rowsOf(answer).map((row) => test(row, resource)).find((text) => text);
    return found && `${resource} have ${found}`;
  }));

const isDate = (value: unknown) => /^\d{4}-\d\d-\d\d/.test(String(value));
const TYPES: Record<FieldType, (value: unknown) => boolean> = {
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  "number?": (value) => value === null || typeof value === "number",
  text: (value) => typeof value === "string",
  "text?": (value) => value === null || typeof value === "string",
  texts: (value) => Array.isArray(value) || typeof value === "string",
  "dates?": (value) => value === null || Array.isArray(value),
};

const linkOf = (answer: Answer) =>
  readNextLink(Object(answer.body), { url: answer.url, headers: new Headers(answer.headers) });
const onLink = (test: (link: ReturnType<typeof linkOf>, answer: Answer) => string | undefined) =>
  on("locations", (answer) => {
    try {
      const link = linkOf(answer);
      return link.token === undefined ? { unknown: "no link" } : test(link, answer);
    } catch (error) {
      return { unhandled: (error as DataStreamError).detail };
    }
  });

const countIs = (name: ProbeName, expected: (total: number) => number) =>
  on(name, ({ body }, answers) => {
    const total = totalOf(answers);
    if (Number.isNaN(total)) return { unknown: "no count of all locations" };
    const [count, wanted] = [countOf(body), expected(total)];
    const isRight = count !== undefined && Math.abs(count - wanted) <= toleranceOf(total);
    return isRight ? undefined : `it counts ${count} instead of ${wanted} locations`;
  });

/** A filter that has no effect also gets other rows. */
const rowsAre = (name: ProbeName, test: (row: Row, location: Row) => boolean) =>
  on(name, (answer, { locations }) => {
    const [rows, [location]] = [rowsOf(answer), rowsOf(locations)];
    const wrong = rows.filter((row) => !test(row, location!)).length;
    return rows.length === 0
      ? "no row matches"
      : wrong > 0
      ? `${wrong} other rows match`
      : undefined;
  });
const hasDoi = (row: Row, { DOI }: Row) => row.DOI === DOI;
const isNear = (a: unknown, b: unknown) => Math.abs(Number(a) - Number(b)) <= 0.01;
const isBelow = (ids: number[]) => ids.every((id, index) => index === 0 || ids[index - 1]! < id);

/** Milliseconds. */
const MAX_CLOCK_DIFFERENCE = 300_000;
const serviceTime = ({ headers, at }: Answer) => dateOf(new Headers(headers)) ?? at;

const CHECKS: Record<keyof typeof ASSUMPTIONS, Check> = {
  runtime: ({ computer }) => computer.runtime,
  "key file": ({ computer }) => computer["key file"],
  proxy: ({ computer }) => computer.proxy,
  address({ answers, missing }) {
    const { status, problem } = first(answers) ?? { status: -1 };
    if (status < 0) return { unknown: missing };
    return status === 0 || endsRun(status) && status !== 401 && status !== 403
      ? problem
      : undefined;
  },
  clock({ answers, missing }) {
    const answer = first(answers);
    if (answer?.headers.date === undefined) return { unknown: answer ? "no header Date" : missing };
    const seconds = Math.round((answer.at - serviceTime(answer)) / 1000);
    if (Math.abs(seconds) * 1000 <= MAX_CLOCK_DIFFERENCE) return undefined;
    return `the clock of this computer is ${Math.abs(seconds)} s ${seconds > 0 ? "fast" : "slow"}`;
  },
  key: ({ answers: { metadata }, missing }) => {
    if (!metadata?.status) return { unknown: missing };
    return [401, 403].includes(metadata.status) ? metadata.problem : undefined;
  },
  page: on("metadata", ({ headers, body }) => {
    if (!headers["content-type"]?.includes("json")) return `it is ${headers["content-type"]}`;
    return Array.isArray(Object(body).value) ? undefined : "there is no list";
  }),
  "fields of Metadata": missingFields("Metadata"),
  "fields of Locations": missingFields("Locations"),
  "fields of Observations": missingFields("Observations"),
  "fields of Records": missingFields("Records"),
  "new fields": ofEachResource((row, resource) =>
    list(Object.keys(row).filter((name) => !Object.hasOwn(RESOURCES[resource].fields, name)))
  ),
  types: ofEachResource((row, resource) =>
    list(
      Object.entries<FieldType>(RESOURCES[resource].fields)
        .filter(([name, type]) => Object.hasOwn(row, name) && !TYPES[type](row[name]))
        .map(([name]) => `${name}: ${JSON.stringify(row[name])}`),
    )
  ),
  select: on("largest page", (answer) => {
    const others = rowsOf(answer).flatMap((row) => Object.keys(row).filter((key) => key !== "Id"));
    return others.length > 0 ? `there is ${others[0]}` : undefined;
  }),
  link: on("locations", (answer, answers) => {
    const isLast = totalOf(answers) <= rowsOf(answer).length;
    const hasLink = "@odata.nextLink" in Object(answer.body) || "link" in answer.headers;
    return hasLink || isLast ? undefined : "a page of two rows has none";
  }),
  "address of links": onLink(({ otherAddress }) => otherAddress && `it has ${otherAddress}`),
  token: onLink(({ token }, answer) =>
    token === `Id:${idsOf(answer).at(-1)}` ? undefined : `it is ${token}`
  ),
  order: all(
    ...(["locations", "largest page"] as const).map((name) =>
      on(name, (answer) => isBelow(idsOf(answer)) ? undefined : "they are in another order")
    ),
  ),
  position: on("next page", (answer, { locations }) => {
    const ids = idsOf(answer);
    const last = Math.max(...idsOf(locations));
    if (ids.length === 0) return { unknown: "no rows" };
    return ids.every((id) => id > last) ? undefined : `rows after Id:${last} have the Ids ${ids}`;
  }),
  count: on("count", ({ body }) => countOf(body) === undefined ? "there is no number" : undefined),
  "count form": on("count", ({ body }) => {
    const isOther = countOf(body) !== undefined && typeof Object(body).value !== "number";
    return isOther ? `it is ${JSON.stringify(body)}` : undefined;
  }),
  "page size": on("largest page", (answer) => {
    const { length } = rowsOf(answer);
    if (length > MAXIMUM_TOP) return { unhandled: `it has ${length} rows` };
    const isCut = length < MAXIMUM_TOP && "@odata.nextLink" in Object(answer.body);
    return isCut ? `it has ${length} rows, and a link` : undefined;
  }),
  eq: countIs("eq", () => 1),
  ne: countIs("ne", (total) => total - 1),
  lt: countIs("lt", () => 1),
  lte: countIs("lte", () => 2),
  gt: countIs("gt", (total) => total - 2),
  gte: countIs("gte", (total) => total - 1),
  in: countIs("in", () => 2),
  endswith: rowsAre(
    "endswith",
    (row, { DOI }) => String(row.DOI).endsWith(String(DOI).replace(/^.*\//, "/")),
  ),
  years: on("observations", (answer) => {
    const isWithout = rowsOf(answer).some((row) => !isDate(row.ActivityStartDate));
    return isWithout ? "rows without a start date match" : undefined;
  }),
  box: rowsAre(
    "box",
    (row, location) =>
      isNear(row.Latitude, location.Latitude) && isNear(row.Longitude, location.Longitude),
  ),
  regions: on("regions", ({ body }) => {
    const count = countOf(body);
    if (count === undefined) return { unknown: "no count" };
    return count > 0 ? undefined : "no location matches";
  }),
  "Id of datasets": on("dataset", (answer, { metadata }) => {
    const ids = rowsOf(answer).map(({ Id }) => Id);
    return ids.length === 1 && ids[0] === rowsOf(metadata)[0]!.Id
      ? undefined
      : `${ids.length} datasets match`;
  }),
  version: on("metadata", (answer) => {
    const wrong = rowsOf(answer).find(({ Version, PublishedTimestamp }) =>
      !/^\d+(\.\d+)*$/.test(String(Version)) ||
      !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(String(PublishedTimestamp))
    );
    return wrong && `a dataset has ${wrong.Version} and ${wrong.PublishedTimestamp}`;
  }),
  published: on("metadata", (answer) => {
    const times = rowsOf(answer).map(({ PublishedTimestamp }) => String(PublishedTimestamp));
    const wrong = times.find((time) => Date.parse(time) > serviceTime(answer));
    return wrong && `one was published at ${wrong}`;
  }),
  extent: on("metadata", (answer) => {
    const extents = rowsOf(answer).map(({ TemporalExtent }) => TemporalExtent ?? null);
    const wrong = extents.find((one) =>
      one !== null && !(Array.isArray(one) && one.length === 2 && one.every(isDate))
    );
    return wrong === undefined ? undefined : `it is ${JSON.stringify(wrong)}`;
  }),
  "2,000 bytes": rowsAre("2,000 bytes", hasDoi),
  "4,000 bytes": rowsAre("4,000 bytes", hasDoi),
  "8,000 bytes": rowsAre("8,000 bytes", hasDoi),
  apostrophe: on("apostrophe", () => undefined),
  compression: on("largest page", ({ headers }) => {
    if (headers["content-encoding"] !== undefined) return undefined;
    const length = headers["content-length"];
    // Deno removes both headers from a response that was compressed.
    return length === undefined ? { unknown: "not visible" } : `${length} bytes are not compressed`;
  }),
  pace: ({ answers, missing }) => {
    const found = Object.values(answers);
    const refused = found.find(({ status }) => status === 429);
    return refused?.problem ?? (found.length < 2 ? { unknown: missing } : undefined);
  },
  "unknown field": all(
    refused("unknown field", 400),
    ({ answers: { "unknown field": answer } }) =>
      answer?.status === 400 && findMessage(answer.body) === "" ? "it has no message" : undefined,
  ),
  "larger page": refused("larger page", 400),
  "no key": refused("no key", 401, 403),
};

export interface CheckResult {
  check: string;
  result: "holds" | "differs" | "not checked";
  assumption: string;
  /** What differs, or why it was not checked. */
  detail?: string;
  /** What Weir does, or a person must do, if it differs. */
  otherwise?: string;
  isHandled?: boolean;
}

export function runChecks(facts: Facts): CheckResult[] {
  return Object.entries<Assumption>(ASSUMPTIONS).map(([check, { text, otherwise, isHandled }]) => {
    const verdict = CHECKS[check as keyof typeof CHECKS](facts);
    const result = { check, assumption: text.replaceAll("`", "") };
    if (verdict === undefined) return { ...result, result: "holds" };
    const isKnown = typeof verdict === "string";
    if (!isKnown && "unknown" in verdict) {
      return { ...result, result: "not checked", detail: verdict.unknown };
    }
    return {
      ...result,
      result: "differs",
      detail: isKnown ? verdict : verdict.unhandled,
      otherwise: otherwise.replaceAll("`", ""),
      isHandled: isKnown && isHandled === true,
    };
  });
}

/** Describes an answer without its values, to compare answers of two services. */
function shapeOf({ status, headers, body }: Answer): Map<string, string> {
  const shape = new Map([["status", `${status}`], ["content-type", headers["content-type"] ?? ""]]);
  const add = (name: string, value: unknown) => {
    if (value !== null && value !== undefined) shape.set(name, typeof value);
  };
  for (const [name, value] of Object.entries(Object(body))) add(`member ${name}`, value);
  for (const row of rowsOf({ body } as Answer)) {
    for (const [name, value] of Object.entries(row)) add(`field ${name}`, value);
  }
  return shape;
}

/** Returns a line for each difference. A field that is null in one of them is not compared. */
export function compareAnswers(own: Answers, saved: Answers): string[] {
  return (Object.keys(PROBES) as ProbeName[]).flatMap((name) => {
    const [a, b] = [own[name], saved[name]];
    if (a === undefined || b === undefined) return [];
    const [mine, other] = [shapeOf(a), shapeOf(b)];
    return [...new Set([...mine.keys(), ...other.keys()])].flatMap((part) => {
      const [left = "absent or null", right = "absent or null"] = [mine.get(part), other.get(part)];
      const isNull = part.startsWith("field ") && (!mine.has(part) || !other.has(part)) &&
        [a, b].some((one) => rowsOf(one).some((row) => row[part.slice(6)] === null));
      return left === right || isNull ? [] : [`${name}: ${part} is ${left}, in the file ${right}`];
    });
  });
}
