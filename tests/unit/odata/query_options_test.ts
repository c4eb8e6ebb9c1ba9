// What a query may ask for, told before any request is spent.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { DataStream, eq, PRODUCTION_URL, type ResourceName } from "../../../mod.ts";
import { fieldNames } from "../../../src/odata/resources.ts";

const box = { west: -64, south: 46, east: -62, north: 47 };
const client = new DataStream();
// Past the compiler, as from plain JavaScript.
const loose = client as unknown as Record<string, (query: object) => { url: string }>;
const methods: [method: string, resource: ResourceName, size: number][] = [
  ["metadata", "Metadata", 100],
  ["locations", "Locations", 10_000],
  ["observations", "Observations", 10_000],
  ["records", "Records", 10_000],
];

for (const [method, resource, size] of methods) {
  const query = (options: object) => loose[method]!(options);

  Deno.test(`${method}() asks ${resource} for pages of ${size}`, () => {
    assertEquals(query({}).url, `${PRODUCTION_URL}/${resource}?%24top=${size}`);
  });

  Deno.test(`${method}() selects each field of ${resource}, as a list or a text`, () => {
    const names = fieldNames(resource);
    const encoded = names.join("%2C");
    assertEquals(query({ select: names }).url.includes(`?%24select=${encoded}&`), true);
    assertEquals(query({ select: names.join(" , ") }).url, query({ select: names }).url);
  });

  Deno.test(`${method}() refuses a misspelt field, and names the field, the endpoint and the right one`, () => {
    for (const select of [["Id", "Doi"], "Id,Doi"]) {
      assertThrows(() => query({ select }), TypeError, `Cannot select "Doi" from ${resource}`);
      assertThrows(() => query({ select }), TypeError, 'did you mean "DOI"?');
    }
    assertEquals(query({ select: "Id,Doi", unchecked: true }).url.includes("Id%2CDoi"), true);
  });

  Deno.test(`${method}() refuses a name that ${resource} cannot be filtered by, with its place and the right one`, () => {
    const filter = "DOI eq 'x' and charactristicName eq 'pH'";
    assertThrows(() => query({ filter }), TypeError, `Cannot filter ${resource} by`);
    assertThrows(() => query({ filter }), TypeError, '"charactristicName" at character 16');
    assertThrows(() => query({ filter }), TypeError, 'did you mean "CharacteristicName"?');
    assertThrows(() => query({ filter: eq("Doi", "x") }), TypeError, 'did you mean "DOI"?');
    assertMatch(query({ filter, unchecked: true }).url, /charactristicName%20eq%20%27pH%27/);
  });

  Deno.test(`${method}() refuses a filter that is none, with its place and the remedy`, () => {
    const wrong = { filter: "ActivityStartYear ge 2015" };
    assertThrows(() => query(wrong), SyntaxError, 'got "ge" (use "gte") at character 19');
    assertThrows(() => query({ filter: "DOI eq 'x" }), SyntaxError, "a closing quote");
    assertEquals(query({ ...wrong, unchecked: true }).url.includes("ge%202015"), true);
  });

  Deno.test(`${method}() refuses what is empty, or given twice`, () => {
    for (const filter of ["", " "]) {
      assertThrows(() => query({ filter }), TypeError, "an empty filter");
    }
    for (const select of ["", []]) {
      assertThrows(() => query({ select }), TypeError, "an empty select");
    }
    assertThrows(() => query({ select: "Id,,DOI" }), TypeError, 'Cannot select ""');
    assertThrows(() => query({ select: "Id,,DOI", unchecked: true }), TypeError, 'select ""');
    assertThrows(() => query({ select: ["Id", "DOI", "Id"] }), TypeError, '"Id" twice');
    assertThrows(() => query({ skipToken: "" }), TypeError, "an empty skipToken");
  });

  Deno.test(`${method}() refuses numbers that are out of range`, () => {
    for (const top of [0, -1, 1.5, 10_001, NaN, Infinity, "5"]) {
      assertThrows(() => query({ top }), RangeError, "1 to 10000");
    }
    for (const limit of [-1, 1.5, NaN, "5"]) {
      assertThrows(() => query({ limit }), RangeError, "a whole number from 0");
    }
  });

  Deno.test(`${method}() refuses an option that there is not, and names the nearest`, () => {
    assertThrows(
      () => query({ fitler: "DOI eq 'x'" }),
      TypeError,
      `A query of ${resource} has no option "fitler": did you mean "filter"?`,
    );
    assertEquals(query({ filter: undefined, select: undefined }).url, query({}).url);
  });

  Deno.test(`${method}() refuses what is of another kind, as it comes from plain JavaScript`, () => {
    const wrong: [options: unknown, message: string][] = [
      [null, "must be an object such as { select: … }, got null"],
      [5, "got 5"],
      ["DOI eq 'x'", 'got "DOI eq '],
      [{ select: null }, "select must be a list of fields or a text, got null"],
      [{ select: [5] }, "got a list"],
      [{ filter: { DOI: "x" } }, "filter must be a text or one expression"],
      [{ filter: [eq("DOI", "x"), eq("DOI", "y")] }, "join several with and()"],
      [{ skipToken: 5 }, "skipToken must be a text, got 5"],
      [{ unchecked: "yes" }, 'unchecked must be true or false, got "yes"'],
      [{ signal: new AbortController() }, "got an AbortController"],
      [{ signal: null }, "signal must be an AbortSignal"],
      [{ onProgress: 5 }, "onProgress must be a function, got 5"],
    ];
    for (const [options, message] of wrong) {
      assertThrows(() => query(options as object), TypeError, message);
    }
    assertThrows(() => query({ top: "5" }), RangeError, 'pages of "5" rows');
  });

  Deno.test(`${method}() refuses a request of over 8000 bytes, with the remedy`, () => {
    const filter = (ids: number) => ({
      filter: `LocationId in (${Array.from({ length: ids }, (_, index) => 100_000 + index)})`,
    });
    const { url } = query(filter(870));
    assert(url.length - "https://api.datastream.org".length <= 8_000);
    assertThrows(() => query(filter(900)), RangeError, "split a long list of the filter");
  });
}

for (const method of ["observations", "records"]) {
  Deno.test(`${method}() asks Locations first for a box, with what it can take of the filter`, () => {
    const filter = "CharacteristicName eq 'pH' and MonitoringLocationType ne 'Well' and DOI eq 'x'";
    const { url } = loose[method]!({ filter, within: box });
    assertEquals(
      decodeURIComponent(url),
      `${PRODUCTION_URL}/Locations?$select=Id&$filter=CharacteristicName eq 'pH' and DOI eq 'x' and ` +
        "Longitude gt '-64' and Longitude lt '-62' and Latitude gt '46' and Latitude lt '47'&$top=10000",
    );
  });

  Deno.test(`${method}() says that a field alone cannot be filtered by`, () => {
    const filter = "ResultValue gt 3";
    assertThrows(() => loose[method]!({ filter }), TypeError, "filter the rows that come");
  });

  Deno.test(`${method}() points to within where a filter has a box`, () => {
    const filter = "Latitude gt '46'";
    assertThrows(() => loose[method]!({ filter }), TypeError, "give the query within: { west");
  });

  Deno.test(`${method}() refuses a box without room in the request, and a partition that there is not`, () => {
    // Locations is not asked with it, and so has room enough.
    const filter = `CharacteristicName ne '${"x".repeat(7_880)}'`;
    loose[method]!({ filter });
    assertThrows(() => loose[method]!({ filter, within: box }), RangeError, "wanted at most 8000");
    const longer = { filter: filter.replace("x'", `${"x".repeat(500)}'`) };
    for (const partition of ["auto", "location", "year"]) {
      assertThrows(() => loose[method]!({ ...longer, partition }), RangeError, "at most 8000");
    }
    assertThrows(() => loose[method]!({ partition: "month" }), TypeError, "auto, never, location");
  });
}

for (const method of ["metadata", "locations"]) {
  Deno.test(`${method}() takes a box as a filter, and nothing to split`, () => {
    loose[method]!({ filter: "Latitude gt '46' and Longitude lt '-62'" });
    assertThrows(() => loose[method]!({ within: box }), TypeError, "boundingBox() instead");
    assertThrows(() => loose[method]!({ partition: "auto" }), TypeError, "Cannot split");
  });
}

const wrongBoxes: [name: string, sides: object, message: string][] = [
  ["a side missing", { west: undefined }, "The west of a box must be a number of degrees"],
  ["a side that is text", { north: "47" }, "The north of a box must be a number"],
  ["a side that is no number", { south: NaN }, "The south of a box must be a number"],
  ["a longitude past the globe", { east: 181 }, "from -180 to 180, got 181"],
  ["a latitude past the pole", { north: 91 }, "from -90 to 90, got 91"],
  ["west at east", { west: -62 }, "The west of a box must be below its east"],
  ["south above north", { south: 48 }, "The south of a box must be below its north"],
];
for (const [name, sides, message] of wrongBoxes) {
  Deno.test(`a box with ${name} is an error`, () => {
    assertThrows(() => loose.records!({ within: { ...box, ...sides } }), RangeError, message);
  });
}

Deno.test("locations() points from Id to the name that it is filtered by", () => {
  const filter = "Id eq 1001";
  assertThrows(() => loose.locations!({ filter }), TypeError, "filter by LocationId");
});
