// Wrong options of a query are errors before any request, and right ones are in its URL.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { DataStream, eq, PRODUCTION_URL, ValidationError } from "../../../mod.ts";
import { fieldsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";

const box = { west: -64, south: 46, east: -62, north: 47 };
const BOX_FILTER =
  "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'";
const client = new DataStream();
// Without the compiler's checks, as from plain JavaScript.
const loose = client as unknown as Record<string, (query: unknown) => { url: string }>;
const records = (query: unknown) => loose.records!(query);

for (const resource of RESOURCE_NAMES) {
  const method = resource.toLowerCase();
  const size = resource === "Metadata" ? 100 : 10_000;
  Deno.test(`${method}() requests pages of ${size} rows, and any of its fields`, () => {
    const { url } = loose[method]!({ filter: undefined, select: undefined });
    assertEquals(url, `${PRODUCTION_URL}/${resource}?%24top=${size}`);
    const select = fieldsOf(resource);
    const selected = `${PRODUCTION_URL}/${resource}?%24select=${select.join("%2C")}&%24top=${size}`;
    assertEquals(loose[method]!({ select }).url, selected);
    assertEquals(loose[method]!({ select: select.join(" , ") }).url, selected);
  });
}

const TOP = "top must be a whole number from 1 to 10000, got";
const WRONG: readonly (readonly [options: unknown, message: string])[] = [
  [
    { select: ["Id", "Doi"] },
    'select includes "Doi", which is not a field of Records: did you mean "DOI"?',
  ],
  [
    { filter: "DOI eq 'x' and charactristicName eq 'pH'" },
    'filter uses "charactristicName" at character 16, which is not a filter field of Records: ' +
    'did you mean "CharacteristicName"?',
  ],
  [{ filter: "" }, "filter must not be empty: omit it for all rows"],
  [{ select: "" }, "select must not be empty: omit it for all fields"],
  [{ select: [] }, "select must not be empty: omit it for all fields"],
  [{ select: "Id,,DOI" }, 'select includes the empty name "": remove the extra comma'],
  [{ select: ["Id", "DOI", "Id"] }, 'select includes "Id" twice: list each field once'],
  [{ skipToken: "" }, 'skipToken must be "Id:" and an Id, got ""'],
  [{ top: 0 }, `${TOP} 0`],
  [{ top: 10_001 }, `${TOP} 10001`],
  [{ limit: -1 }, "limit must be a whole number of at least 0, got -1"],
  [{ limit: 1.5 }, "limit must be a whole number of at least 0, got 1.5"],
  [{ maxRows: 0 }, "maxRows must be a whole number of at least 1, got 0"],
  [{ incomplete: "ignore" }, 'incomplete must be one of error, warn, got "ignore"'],
  [
    { signal: new AbortController() },
    "signal must be an AbortSignal, got AbortController: pass the signal property of an AbortController",
  ],
  [
    { partition: "month" },
    'partition must be "never", got "month": omit it: Weir splits large queries by itself',
  ],
  [
    { fitler: "DOI eq 'x'" },
    'fitler is not an option of a query of Records: did you mean "filter"?',
  ],
  ["DOI eq 'x'", "options must be an object such as { select: … }, got a string"],
  [
    { filter: [eq("DOI", "x")] },
    "filter must be a string or one expression, got Array: combine several expressions with and()",
  ],
];
for (const [options, message] of WRONG) {
  Deno.test(`records() throws a ValidationError when the options are ${JSON.stringify(options)}`, () => {
    const error = assertThrows(() => records(options), ValidationError);
    assertEquals([error.message, error.canBeUnchecked], [message, false]);
    assertEquals(message.startsWith(`${error.option} `), true);
  });
}

Deno.test("records() sends unknown names and any filter when it is unchecked", () => {
  const { url } = records({ select: "Id,Doi", filter: "Year ge 2015", unchecked: true });
  assertEquals(
    decodeURIComponent(url),
    `${PRODUCTION_URL}/Records?$select=Id,Doi&$filter=Year ge 2015&$top=10000`,
  );
});

Deno.test("records() accepts numbers when they are at the ends of their ranges", () => {
  for (const options of [{ top: 1 }, { top: 10_000 }, { limit: 0 }, { limit: Infinity }]) {
    assert(records(options).url.length > 0);
  }
});

Deno.test("records() throws when the request has more than 8000 bytes", () => {
  const filter = (length: number) => `CharacteristicName ne '${"x".repeat(length)}'`;
  const { url } = records({ filter: filter(7_880) });
  assert(url.length - "https://api.datastream.org".length <= 8_000);
  const select = "x".repeat(8_000);
  const error = assertThrows(() => records({ select, unchecked: true }), ValidationError);
  assertStringIncludes(error.message, "select makes a request of 8049 bytes, more than 8000");
  // The request to Locations does not have this clause, and is short.
  for (const query of [{ filter: filter(7_980) }, { filter: filter(7_880), within: box }]) {
    assertEquals(assertThrows(() => records(query), ValidationError).option, "filter");
  }
});

Deno.test("records() requests Locations first when it has a box, with the clauses that Locations takes", () => {
  const filter = "CharacteristicName eq 'pH' and MonitoringLocationType ne 'Well' and DOI eq 'x'";
  assertEquals(
    decodeURIComponent(records({ filter, within: box }).url),
    `${PRODUCTION_URL}/Locations?$select=Id&$filter=CharacteristicName eq 'pH' and DOI eq 'x' and ` +
      `${BOX_FILTER}&$top=10000`,
  );
});

Deno.test("metadata() adds the box to the filter when it has one", () => {
  const filterOf = (options: object) =>
    new URL(loose.metadata!({ within: box, ...options }).url).searchParams.get("$filter");
  assertEquals(filterOf({}), BOX_FILTER);
  assertEquals(filterOf({ filter: "DOI eq 'x'" }), `DOI eq 'x' and ${BOX_FILTER}`);
  assertEquals(
    filterOf({ filter: "DOI eq 'x' or DOI eq 'y'", unchecked: true }),
    `(DOI eq 'x' or DOI eq 'y') and ${BOX_FILTER}`,
  );
});

Deno.test("locations() throws a ValidationError when it has a partition", () => {
  const error = assertThrows(() => loose.locations!({ partition: "never" }), ValidationError);
  assertEquals(error.option, "partition");
  assertEquals(error.hint, "omit it: only Observations and Records are split");
});

const WRONG_BOXES: readonly (readonly [side: string, degrees: unknown, problem: string])[] = [
  ["west", undefined, "must be a number of degrees from -180 to 180, got undefined"],
  ["south", NaN, "must be a number of degrees from -90 to 90, got NaN"],
  ["east", 181, "must be a number of degrees from -180 to 180, got 181"],
  ["west", -62, "must be below east (-62), got -62"],
  ["south", 48, "must be below north (47), got 48"],
];
for (const [side, degrees, problem] of WRONG_BOXES) {
  Deno.test(`records() throws a ValidationError when ${side} of a box is ${degrees}`, () => {
    const within = { ...box, [side]: degrees };
    const error = assertThrows(() => records({ within }), ValidationError);
    assertEquals([error.option, error.problem], [`within.${side}`, problem]);
  });
}
