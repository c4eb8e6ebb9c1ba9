// Wrong options of a query are errors before any request, and right ones are in its URL.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  DataStream,
  eq,
  PRODUCTION_URL,
  type ResourceName,
  ValidationError,
} from "../../../mod.ts";
import { fieldsOf } from "../../helpers/resources.ts";

const box = { west: -64, south: 46, east: -62, north: 47 };
const BOX_FILTER =
  "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'";
const client = new DataStream();
// Without the compiler's checks, as from plain JavaScript.
const loose = client as unknown as Record<string, (query: object) => { url: string }>;
const methods: [method: string, resource: ResourceName, size: number][] = [
  ["metadata", "Metadata", 100],
  ["locations", "Locations", 10_000],
  ["observations", "Observations", 10_000],
  ["records", "Records", 10_000],
];

for (const [method, resource, size] of methods) {
  const query = (options: object) => loose[method]!(options);
  const errorOf = (options: unknown) =>
    assertThrows(() => query(options as object), ValidationError);

  Deno.test(`${method}() requests pages of ${size} rows when no option is given`, () => {
    assertEquals(query({}).url, `${PRODUCTION_URL}/${resource}?%24top=${size}`);
    assertEquals(query({ filter: undefined, select: undefined }).url, query({}).url);
  });

  Deno.test(`${method}() selects every field when they are an array or a string`, () => {
    const names = fieldsOf(resource);
    assertEquals(query({ select: names }).url.includes(`?%24select=${names.join("%2C")}&`), true);
    assertEquals(query({ select: names.join(" , ") }).url, query({ select: names }).url);
  });

  Deno.test(`${method}() throws a ValidationError when a field is unknown`, () => {
    for (const select of [["Id", "Doi"], "Id,Doi"]) {
      const error = errorOf({ select });
      assertEquals([error.option, error.canBeUnchecked], ["select", false]);
      assertEquals(error.received, ["Id", "Doi"]);
      assertEquals(
        error.message,
        `select includes "Doi", which is not a field of ${resource}: did you mean "DOI"?`,
      );
    }
    assertEquals(query({ select: "Id,Doi", unchecked: true }).url.includes("Id%2CDoi"), true);
  });

  Deno.test(`${method}() throws a ValidationError when a filter field is unknown`, () => {
    const filter = "DOI eq 'x' and charactristicName eq 'pH'";
    const error = errorOf({ filter });
    assertEquals([error.option, error.canBeUnchecked], ["filter", false]);
    assertEquals(error.received, filter);
    assertEquals(
      error.message,
      'filter uses "charactristicName" at character 16, which is not a filter field of ' +
        `${resource}: did you mean "CharacteristicName"?`,
    );
    assertEquals(errorOf({ filter: eq("Doi", "x") }).hint, 'did you mean "DOI"?');
    assertMatch(query({ filter, unchecked: true }).url, /charactristicName%20eq%20%27pH%27/);
  });

  Deno.test(`${method}() throws a ValidationError when the filter has a syntax error`, () => {
    const wrong = { filter: "ActivityStartYear ge 2015" };
    const error = errorOf(wrong);
    assertEquals([error.option, error.canBeUnchecked], ["filter", false]);
    assertMatch(error.message, /at character 19, got "ge": use "gte"$/);
    assertEquals(query({ ...wrong, unchecked: true }).url.includes("ge%202015"), true);
  });

  const isUnknown = `is not an option of a query of ${resource}`;
  const WRONG: readonly (readonly [options: unknown, message: string])[] = [
    [{ filter: "" }, "filter must not be empty: omit it for all rows"],
    [{ select: "" }, "select must not be empty: omit it for all fields"],
    [{ select: [] }, "select must not be empty: omit it for all fields"],
    [{ select: "Id,,DOI" }, 'select includes the empty name "": remove the extra comma'],
    [{ select: ["Id", "DOI", "Id"] }, 'select includes "Id" twice: list each field once'],
    [{ skipToken: "" }, 'skipToken must be "Id:" and an Id, got ""'],
    [{ top: 0 }, "top must be a whole number from 1 to 10000, got 0"],
    [{ top: 1.5 }, "top must be a whole number from 1 to 10000, got 1.5"],
    [{ top: 10_001 }, "top must be a whole number from 1 to 10000, got 10001"],
    [{ top: Infinity }, "top must be a whole number from 1 to 10000, got Infinity"],
    [{ limit: -1 }, "limit must be a whole number of at least 0, got -1"],
    [{ limit: 1.5 }, "limit must be a whole number of at least 0, got 1.5"],
    [{ maxRows: 0 }, "maxRows must be a whole number of at least 1, got 0"],
    [{ incomplete: "ignore" }, 'incomplete must be one of error, warn, got "ignore"'],
    [
      { partition: "month" },
      'partition must be "never", got "month": omit it: Weir splits large queries by itself',
    ],
    [{ fitler: "DOI eq 'x'" }, `fitler ${isUnknown}: did you mean "filter"?`],
    ["DOI eq 'x'", "options must be an object such as { select: … }, got a string"],
    [
      { filter: [eq("DOI", "x")] },
      "filter must be a string or one expression, got Array: combine several expressions with and()",
    ],
  ];
  for (const [options, message] of WRONG) {
    Deno.test(`${method}() throws a ValidationError when the options are ${JSON.stringify(options)}`, () => {
      const error = errorOf(options);
      assertEquals([error.message, error.canBeUnchecked], [message, false]);
      assertEquals(message.startsWith(`${error.option} `), true);
    });
  }

  Deno.test(`${method}() accepts numbers when they are at the ends of their ranges`, () => {
    assert(query({ top: 1 }).url.includes("top=1"));
    assert(query({ top: 10_000 }).url.includes("top=10000"));
    for (const limit of [0, 1, Infinity]) assert(query({ limit }).url.length > 0);
  });

  Deno.test(`${method}() throws a TypeError when signal or onProgress has another type`, () => {
    const others: [options: object, message: string][] = [
      [{ signal: new AbortController() }, "got AbortController"],
      [{ signal: null }, "signal must be an AbortSignal"],
      [{ onProgress: 5 }, "onProgress must be a function, got 5"],
    ];
    for (const [options, message] of others) {
      assertThrows(() => query(options), TypeError, message);
    }
  });

  Deno.test(`${method}() throws when the request has more than 8000 bytes`, () => {
    const filter = (length: number) => ({
      filter: `CharacteristicName ne '${"x".repeat(length)}'`,
    });
    const { url } = query(filter(7_880));
    assert(url.length - "https://api.datastream.org".length <= 8_000);
    const error = assertThrows(() => query(filter(7_980)), ValidationError);
    assertEquals(error.option, "filter");
  });
}

for (const method of ["observations", "records"]) {
  Deno.test(`${method}() requests Locations first when it has a box, with the clauses that Locations takes`, () => {
    const filter = "CharacteristicName eq 'pH' and MonitoringLocationType ne 'Well' and DOI eq 'x'";
    const { url } = loose[method]!({ filter, within: box });
    assertEquals(
      decodeURIComponent(url),
      `${PRODUCTION_URL}/Locations?$select=Id&$filter=CharacteristicName eq 'pH' and DOI eq 'x' and ` +
        `${BOX_FILTER}&$top=10000`,
    );
  });

  Deno.test(`${method}() throws when the filter and the box do not fit into one request`, () => {
    // The request to Locations does not have this clause, and is short.
    const filter = `CharacteristicName ne '${"x".repeat(7_880)}'`;
    loose[method]!({ filter });
    const error = assertThrows(() => loose[method]!({ filter, within: box }), ValidationError);
    assertEquals(error.option, "filter");
  });
}

for (const method of ["metadata", "locations"]) {
  Deno.test(`${method}() adds the box to the filter when it has one`, () => {
    const filterOf = (options: object) =>
      new URL(loose[method]!({ within: box, ...options }).url).searchParams.get("$filter");
    assertEquals(filterOf({}), BOX_FILTER);
    assertEquals(filterOf({ filter: "DOI eq 'x'" }), `DOI eq 'x' and ${BOX_FILTER}`);
    assertEquals(
      filterOf({ filter: "DOI eq 'x' or DOI eq 'y'", unchecked: true }),
      `(DOI eq 'x' or DOI eq 'y') and ${BOX_FILTER}`,
    );
  });

  Deno.test(`${method}() throws a ValidationError when it has a partition`, () => {
    const error = assertThrows(() => loose[method]!({ partition: "never" }), ValidationError);
    assertEquals(error.option, "partition");
    assertEquals(error.hint, "omit it: only Observations and Records are split");
  });
}

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
    const error = assertThrows(() => loose.records!({ within }), ValidationError);
    assertEquals([error.option, error.problem], [`within.${side}`, problem]);
  });
}
