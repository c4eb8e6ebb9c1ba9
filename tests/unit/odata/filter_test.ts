// The functions of filters write the expression that they are called with.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  and,
  boundingBox,
  DataStream,
  endsWith,
  eq,
  type Filter,
  gt,
  gte,
  isIn,
  lt,
  lte,
  ne,
  ValidationError,
} from "../../../mod.ts";

// DataStream Public API, "URL Parameters", $filter.
const forms: [filter: Filter<string>, text: string][] = [
  [eq("CharacteristicName", "pH"), "CharacteristicName eq 'pH'"],
  [lt("ActivityStartYear", 2015), "ActivityStartYear lt 2015"],
  [lte("ActivityStartDateYear", 2015), "ActivityStartDateYear lte 2015"],
  [gt("CreateTimestamp", "2020-01-31"), "CreateTimestamp gt '2020-01-31'"],
  [gte("LocationId", 1001), "LocationId gte 1001"],
  [gt("Latitude", 45.5), "Latitude gt '45.5'"],
  [isIn("LocationId", [1, 2]), "LocationId in (1,2)"],
  [endsWith("DOI", "weir-aa00"), "endswith(DOI, 'weir-aa00')"],
  [eq("Name", "l'eau '' d'ici"), "Name eq 'l''eau '''' d''ici'"],
  [eq("New", 5), "New eq 5"],
  [eq("New", "5"), "New eq '5'"],
  [
    and(eq("DOI", "a"), and(ne("DOI", "b"), ne("DOI", "c"))),
    "DOI eq 'a' and DOI ne 'b' and DOI ne 'c'",
  ],
  [
    and(eq("DOI", "a"), undefined, null, false, 0, "", eq("Name", "b")),
    "DOI eq 'a' and Name eq 'b'",
  ],
  [isIn("LocationId", [2, 1, 2, 2.0]), "LocationId in (2,1)"],
  [isIn("CharacteristicName", ["pH", "PH", "pH"]), "CharacteristicName in ('pH','PH')"],
  [
    isIn("DOI", ["10.25976/weir-aa00", "https://doi.org/10.25976/WEIR-AA00"]),
    "DOI in ('10.25976/weir-aa00')",
  ],
  [
    boundingBox({ west: -64.5, south: -1, east: 0, north: 47.25 }),
    "Longitude gt '-64.5' and Longitude lt '0' and Latitude gt '-1' and Latitude lt '47.25'",
  ],
];
for (const [filter, text] of forms) {
  Deno.test(`toString() returns the filter when it is ${text}`, () => {
    assertEquals(String(filter), text);
    const query = new DataStream().records({ filter, unchecked: true });
    assertEquals(query.url, new DataStream().records({ filter: text, unchecked: true }).url);
  });
}

const INJECTION = "DOI eq 'x' and Name";
const NO_NAME = 'must be a name of letters, digits and "_", got';
const wrong: [make: () => unknown, option: string, problem: string][] = [
  [() => isIn("DOI", "x" as never), "values", 'must be an array, got "x"'],
  [() => and(NaN as 0), "filters", "must be filters such as eq() makes, got NaN"],
  [() => endsWith("DOI", 5 as never), "text", "must be a string, got 5"],
  [() => endsWith("", "x"), "field", `${NO_NAME} ""`],
  [() => isIn(INJECTION, []), "field", `${NO_NAME} "${INJECTION}"`],
  [() => eq(INJECTION, "y"), "field", `${NO_NAME} "${INJECTION}"`],
  [() => and("x" as never), "filters", 'must be filters such as eq() makes, got "x"'],
  [() => eq("DOI", 5 as never), "value", "must be a string to compare with DOI, got 5"],
  [
    () => isIn("Latitude", [1, Infinity]),
    "values",
    "must be a finite number to compare with Latitude, got Infinity",
  ],
  [
    () => gt("CreateTimestamp", new Date(0) as never),
    "value",
    "must be a date in the form YYYY-MM-DD to compare with CreateTimestamp, got Date",
  ],
  [
    () => endsWith("LocationId", "5"),
    "field",
    'must be a field that holds strings, got "LocationId"',
  ],
];
for (const [make, option, problem] of wrong) {
  Deno.test(`${String(make).slice(6)} throws a ValidationError when it is called`, () => {
    const error = assertThrows(make, ValidationError);
    assertEquals([error.option, error.problem], [option, problem]);
  });
}

// The OpenAPI file of the service has the pattern ^10\.(25976|81029)/[a-z0-9]{4}-[a-z0-9]{2}[0-9]{2}$.
const dois: [given: string, sent: string][] = [
  ["10.25976/weir-aa00", "10.25976/weir-aa00"],
  ["DOI: 10.25976/Weir-aa00", "10.25976/weir-aa00"],
  ["http://dx.doi.org/10.25976/weir-aa00", "10.25976/weir-aa00"],
  ["https://doi.org/10.25976/weir-aa00/", "10.25976/weir-aa00"],
  ["https://doi.org/10.25976%2Fweir-aa00", "10.25976/weir-aa00"],
  ["HTTPS://WWW.DOI.ORG/10.81029/weir-ee00", "10.81029/weir-ee00"],
  [" doi.org/10.25976/weir-aa00 ", "10.25976/weir-aa00"],
  // other texts
  ["https://doi.org/Weir", "https://doi.org/Weir"],
];
for (const [given, sent] of dois) {
  Deno.test(`DataStream compares with the DOI ${sent} when a filter has ${given}`, () => {
    const client = new DataStream();
    const filterOf = (filter: Filter | string) =>
      new URL(client.records({ filter }).url).searchParams.get("$filter");
    assertEquals(filterOf(eq("DOI", given)), `DOI eq '${sent}'`);
    assertEquals(filterOf(`DOI eq '${given}'`), `DOI eq '${sent}'`);
    assertEquals(filterOf(isIn("DOI", [given, "x"])), `DOI in ('${sent}','x')`);
    assertEquals(filterOf(`DOI in ('${given}', '${sent}')`), `DOI in ('${sent}')`);
    assertEquals(filterOf(endsWith("DOI", given)), `endswith(DOI, '${given}')`);
    assertEquals(filterOf(eq("CharacteristicName", given)), `CharacteristicName eq '${given}'`);
  });
}

Deno.test("and() is no filter when it has no operand", () => {
  const client = new DataStream();
  const { url } = client.locations();
  for (const filter of [and(), and(undefined), and(and(), false)]) {
    assertEquals([filter.clauses, String(filter)], [[], ""]);
    assertEquals(client.locations({ filter }).url, url);
  }
});
