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
} from "../../../mod.ts";

// water-quality-api, Query options and Filter forms.
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
  Deno.test(`an expression reads ${text}`, () => {
    assertEquals(String(filter), text);
    const query = new DataStream().records({ filter, unchecked: true });
    assertEquals(query.url, new DataStream().records({ filter: text, unchecked: true }).url);
  });
}

const wrong: [name: string, make: () => unknown, message: string][] = [
  ["an empty list", () => isIn("DOI", []), "an empty list: wanted a list of at least one"],
  ["a text for a list", () => isIn("DOI", "x" as never), 'in "x": wanted a list'],
  ["nothing among those to join", () => and(eq("DOI", "x"), undefined as never), "undefined"],
  ["text among those to join", () => and(eq("DOI", "x"), "DOI eq 'y'" as never), "made by eq()"],
  ["nothing to join", () => and(), "wanted at least one"],
  [
    "a number for a text",
    () => eq("DOI", 5 as never),
    'Cannot compare "DOI" with 5: wanted a text',
  ],
  ["a text for a number", () => eq("LocationId", "5" as never), 'with "5": wanted a finite number'],
  ["no number", () => eq("LocationId", NaN), "wanted a finite number"],
  ["a number without end", () => isIn("Latitude", [1, Infinity]), "wanted a finite number"],
  ["a function", () => eq("Name", (() => "x") as never), "with a function: wanted a text"],
  ["null", () => eq("Name", null as never), "with null: wanted a text"],
  ["a date that is no text", () => gt("CreateTimestamp", new Date(0) as never), "YYYY-MM-DD"],
  ["the end of a number", () => endsWith("LocationId", "5"), "wanted the name of a text"],
  ["the end of a date", () => endsWith("CreateTimestamp", "5"), "wanted the name of a text"],
  ["an end that is no text", () => endsWith("DOI", 5 as never), "got 5"],
  ["a name that could be a clause", () => eq("DOI eq 'x' and Name", "y"), "letters, digits"],
  ["an empty name", () => endsWith("", "x"), "letters, digits"],
];
for (const [name, make, message] of wrong) {
  Deno.test(`a filter refuses ${name}`, () => {
    assertThrows(make, TypeError, message);
  });
}
