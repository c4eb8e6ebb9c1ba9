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
  [ne("MonitoringLocationType", "Well"), "MonitoringLocationType ne 'Well'"],
  [lt("ActivityStartYear", 2015), "ActivityStartYear lt 2015"],
  [lte("ActivityStartDateYear", 2015), "ActivityStartDateYear lte 2015"],
  [gt("CreateTimestamp", "2020-01-31"), "CreateTimestamp gt '2020-01-31'"],
  [gte("LocationId", 1001), "LocationId gte 1001"],
  [gt("Latitude", 45.5), "Latitude gt '45.5'"],
  [isIn("LocationId", [1, 2]), "LocationId in (1,2)"],
  [isIn("RegionId", ["admin.4.ca.ab"]), "RegionId in ('admin.4.ca.ab')"],
  [endsWith("DOI", "weir-aa00"), "endswith(DOI, 'weir-aa00')"],
  [eq("Name", "l'eau '' d'ici"), "Name eq 'l''eau '''' d''ici'"],
  [eq("New", 5), "New eq 5"],
  [eq("New", "5"), "New eq '5'"],
  [
    and(eq("DOI", "a"), and(ne("DOI", "b"), ne("DOI", "c"))),
    "DOI eq 'a' and DOI ne 'b' and DOI ne 'c'",
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

Deno.test("eq() formats a field when its name has one letter", () => {
  assertEquals(String(eq<string>("a", "x")), "a eq 'x'");
});

const wrong: [name: string, make: () => unknown, option: string, problem: string][] = [
  [
    "isIn() throws a ValidationError when the array is empty",
    () => isIn("DOI", []),
    "values",
    "must be an array of at least one value, got Array",
  ],
  [
    "isIn() throws a ValidationError when the values are a string",
    () => isIn("DOI", "x" as never),
    "values",
    'must be an array of at least one value, got "x"',
  ],
  [
    "isIn() throws a ValidationError when a value is infinite",
    () => isIn("Latitude", [1, Infinity]),
    "values",
    "must be a finite number to compare with Latitude, got Infinity",
  ],
  [
    "and() throws a ValidationError when a filter is undefined",
    () => and(eq("DOI", "x"), undefined as never),
    "filters",
    "must be one or more filters such as eq() makes, got undefined",
  ],
  [
    "and() throws a ValidationError when a filter is a string",
    () => and(eq("DOI", "x"), "DOI eq 'y'" as never),
    "filters",
    "must be one or more filters such as eq() makes, got \"DOI eq 'y'\"",
  ],
  [
    "and() throws a ValidationError when there is no filter",
    () => and(),
    "filters",
    "must be one or more filters such as eq() makes, got undefined",
  ],
  [
    "eq() throws a ValidationError when a text field gets a number",
    () => eq("DOI", 5 as never),
    "value",
    "must be a string to compare with DOI, got 5",
  ],
  [
    "eq() throws a ValidationError when a number field gets a string",
    () => eq("LocationId", "5" as never),
    "value",
    'must be a finite number to compare with LocationId, got "5"',
  ],
  [
    "eq() throws a ValidationError when the value is NaN",
    () => eq("LocationId", NaN),
    "value",
    "must be a finite number to compare with LocationId, got NaN",
  ],
  [
    "eq() throws a ValidationError when the value is a function",
    () => eq("Name", (() => "x") as never),
    "value",
    "must be a string to compare with Name, got Function",
  ],
  [
    "eq() throws a ValidationError when the value is null",
    () => eq("Name", null as never),
    "value",
    "must be a string to compare with Name, got null",
  ],
  [
    "eq() throws a ValidationError when the field has a space",
    () => eq("DOI eq 'x' and Name", "y"),
    "field",
    'must be a name of letters, digits and "_", got "DOI eq \'x\' and Name"',
  ],
  [
    "gt() throws a ValidationError when a date is a Date",
    () => gt("CreateTimestamp", new Date(0) as never),
    "value",
    "must be a date in the form YYYY-MM-DD to compare with CreateTimestamp, got Date",
  ],
  [
    "endsWith() throws a ValidationError when the field is a number",
    () => endsWith("LocationId", "5"),
    "field",
    'must be a field that holds strings, got "LocationId"',
  ],
  [
    "endsWith() throws a ValidationError when the field is a date",
    () => endsWith("CreateTimestamp", "5"),
    "field",
    'must be a field that holds strings, got "CreateTimestamp"',
  ],
  [
    "endsWith() throws a ValidationError when the end is a number",
    () => endsWith("DOI", 5 as never),
    "text",
    "must be a string, got 5",
  ],
  [
    "endsWith() throws a ValidationError when the field is empty",
    () => endsWith("", "x"),
    "field",
    'must be a name of letters, digits and "_", got ""',
  ],
  [
    "boundingBox() throws a ValidationError when a side is out of range",
    () => boundingBox({ west: -181, south: 0, east: 0, north: 1 }),
    "box.west",
    "must be a number of degrees from -180 to 180, got -181",
  ],
];
for (const [name, make, option, problem] of wrong) {
  Deno.test(name, () => {
    const error = assertThrows(make, ValidationError);
    assertEquals([error.option, error.problem], [option, problem]);
  });
}
