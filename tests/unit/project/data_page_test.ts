// The tables of docs/data.md list the fields, filter names and values of the code.
import { assert, assertEquals } from "@std/assert";
import { DataStream, type ResourceName } from "../../../mod.ts";
import { meaningOf } from "../../../src/odata/field_meanings.ts";
import { FILTER_FIELDS, RESOURCE_NAMES, RESOURCES } from "../../../src/odata/resources.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";
import { DOCUMENTS } from "../../helpers/documents.ts";
import wqx from "../../fixtures/wqx_values.json" with { type: "json" };

const page = DOCUMENTS.get("docs/data.md")!;
const FIELD_HEADINGS = [...page.matchAll(/^### (.* fields)$/gm)].map(([, heading]) => heading!)
  .filter((heading) => heading !== "New fields");

/** Words of the page for the types of fields. */
const FIELD_TYPES: Record<string, string> = {
  "integer": "whole number",
  "number": "number",
  "number?": "number or null",
  "text": "text",
  "text?": "text or null",
  "texts": "list of texts",
  "dates?": "two dates or null",
};
/** Words of the page for the types of values in filters. */
const VALUE_TYPES = {
  text: "text",
  number: "number",
  degrees: "degrees in quotes",
  date: "date in quotes",
};

Deno.test("docs/data.md lists each field of each resource once, with its type and a meaning", () => {
  const listed: string[] = [];
  for (const heading of FIELD_HEADINGS) {
    for (const [name, type, , meaning] of readTable(sectionOf(page, heading), "field")) {
      const plain = meaning!.replace(/; see \[.*\)$/, "").replaceAll("`", "");
      const resources = RESOURCE_NAMES.flatMap((resource) =>
        // `Name` of Locations is `MonitoringLocationName` in Records.
        [textOf(name), `MonitoringLocation${textOf(name)}`]
          .filter((field) =>
            field in RESOURCES[resource].fields && meaningOf(resource, field)?.meaning === plain
          )
          .map((field) => `${resource}: ${field}: ${type}`)
      );
      assert(resources.length > 0, `${name}: ${plain}`);
      listed.push(...resources);
    }
  }
  const expected = Object.entries(RESOURCES).flatMap(([resource, { fields }]) =>
    Object.entries(fields).map(([field, type]) => `${resource}: ${field}: ${FIELD_TYPES[type]}`)
  );
  assertEquals(listed.sort(), expected.sort());
});

Deno.test("docs/data.md lists each filter name with its type, its resources and a valid example", () => {
  const rows = readTable(sectionOf(page, "Filter fields"), "name");
  assertEquals(
    rows.map(([name, type, resources]) => [name, type, resources]),
    Object.entries(FILTER_FIELDS).map(([name, type]) => [
      `\`${name}\``,
      VALUE_TYPES[type],
      resourcesWith(name).length === RESOURCE_NAMES.length ? "all" : resourcesWith(name).join(", "),
    ]),
  );
  const client = new DataStream();
  for (const [name, , , example] of rows) {
    assert(textOf(example).startsWith(textOf(name)), example);
    for (const resource of resourcesWith(textOf(name))) {
      client.query(resource, { filter: textOf(example) });
    }
  }
});

Deno.test("docs/data.md has the values of the schema for the fields that it lists", () => {
  const values: Record<string, readonly string[]> = wqx.values;
  const codeIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
  const section = sectionOf(page, "Values");
  for (const [field, list] of readTable(section, "field")) {
    assertEquals(codeIn(list), values[textOf(field)], field);
  }
  const longer = section.slice(section.indexOf("Longer lists"));
  for (const [field, count, examples] of readTable(longer, "field")) {
    const all = values[textOf(field)]!;
    assertEquals(codeIn(examples).filter((value) => !all.includes(value)), [], field);
    // The fixture has only those CharacteristicNames that the sandbox uses.
    if (field !== "`CharacteristicName`") assertEquals(Number(count), all.length, field);
  }
});

function resourcesWith(filter: string): ResourceName[] {
  return RESOURCE_NAMES.filter((name) =>
    (RESOURCES[name].filters as readonly string[]).includes(filter)
  );
}

function textOf(cell = ""): string {
  return cell.replaceAll("`", "");
}
