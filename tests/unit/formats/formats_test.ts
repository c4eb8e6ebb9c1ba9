// Tests the table of formats directly: entry points show only a part of its results.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type ResourceName, ValidationError } from "../../../mod.ts";
import { RESOURCE_NAMES } from "../../helpers/resources.ts";
import {
  createWriter,
  FORMAT_NAMES,
  FORMAT_SYNONYMS,
  type FormatName,
  formatOfExtension,
  FORMATS,
  formatsOf,
  missingFields,
  unknownFormat,
  type WriterOptions,
} from "../../../src/formats/formats.ts";
import { writePage } from "../../../src/formats/page_writer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

Deno.test("FORMATS has each extension and media type once", () => {
  const formats = Object.values(FORMATS);
  const extensions = formats.flatMap(({ extension, aliases = [] }) => [extension, ...aliases]);
  assertEquals(new Set(extensions).size, extensions.length);
  assertEquals(new Set(formats.map(({ mediaType }) => mediaType)).size, formats.length);
});

Deno.test("formatsOf() lists CSV first, and GeoJSON only for Locations", () => {
  for (const resource of RESOURCE_NAMES) {
    assertEquals(formatsOf(resource)[0], "csv");
    assertEquals(formatsOf(resource).includes("geojson"), resource === "Locations");
  }
});

Deno.test("FORMAT_SYNONYMS has no name that FORMATS accepts, and suggests formats", () => {
  for (const [name, hint] of Object.entries(FORMAT_SYNONYMS)) {
    assertEquals(formatOfExtension(name), undefined, name);
    assertEquals(FORMAT_NAMES.some((format) => format === name), false, name);
    assert(FORMAT_NAMES.some((format) => format === hint.split(" ")[0]), name);
  }
});

const unknownNames: [resource: ResourceName, name: string, hint: string][] = [
  ["Records", "CSV", 'did you mean "csv"?'],
  ["Records", "jsonl", "use ndjson"],
  ...Object.entries(FORMAT_SYNONYMS).map(([name, use]): [ResourceName, string, string] => [
    "Records",
    name.toUpperCase(),
    `use ${use}`,
  ]),
  ["Records", "geojson", "GeoJSON is only for Locations"],
  ["Locations", "GEOJSON", 'did you mean "geojson"?'],
  ["Records", "toString", ""],
];
for (const [resource, name, hint] of unknownNames) {
  Deno.test(`unknownFormat() says "${hint}" when the format of ${resource} is ${name}`, () => {
    const error = unknownFormat(resource, name);
    assertEquals([error.option, error.received, error.hint], ["format", name, hint]);
  });
}

Deno.test("formatOfExtension() finds extensions and aliases in any case", () => {
  assertEquals(formatOfExtension("CSV"), "csv");
  assertEquals(formatOfExtension("jsonl"), "ndjson");
  assertEquals(formatOfExtension("txt"), undefined);
  assertEquals(formatOfExtension("constructor"), undefined);
});

Deno.test("missingFields() lists what a selection leaves out when the format requires it", () => {
  assertEquals(missingFields("geojson", ["Id", "Latitude"]), ["Longitude"]);
  assertEquals(missingFields("geojson", undefined), []);
  assertEquals(missingFields("csv", ["Id"]), []);
});

for (const resource of RESOURCE_NAMES) {
  for (const format of formatsOf(resource)) {
    Deno.test(`createWriter() continues a document from a state when ${format} holds ${resource}`, () => {
      const pages = ['{"value":[{"Id":1}]}', '{"value":[{"Id":2}]}'].map((page) =>
        encoder.encode(page)
      );
      const text = (bytes: Uint8Array) => decoder.decode(bytes);
      const whole = createWriter(format, { resource });
      const first = createWriter(format, { resource });
      const start = text(writePage(first, pages[0]!));
      const state = JSON.parse(JSON.stringify(first.state));
      const second = createWriter(format, { resource, state });
      assertEquals(
        start + text(writePage(second, pages[1]!)) + text(second.end()),
        pages.map((page) => text(writePage(whole, page))).join("") + text(whole.end()),
      );
    });
  }
}

const rejected: [FormatName, WriterOptions, option: string, message: string][] = [
  [
    "geojson",
    { resource: "Records" },
    "format",
    'for Records, got "geojson"',
  ],
  [
    "geojson",
    { resource: "Locations", select: ["Id"] },
    "select",
    "select must contain Longitude and Latitude for GeoJSON: add the missing fields, or choose another format",
  ],
  [
    "json",
    { resource: "Records", csv: { header: undefined, bom: true } },
    "bom",
    "bom applies to CSV only; the format is json: omit it",
  ],
  ["csv", { resource: "Records", csv: { separator: "x" } }, "separator", "or a tab"],
  [
    "csv",
    { resource: "Records", csv: { columns: ["Idd"] } },
    "columns",
    'columns must be selected fields, got "Idd": did you mean "Id"?',
  ],
  [
    "csv",
    { resource: "Records", select: ["Id"], csv: { columns: ["DOI"] } },
    "columns",
    'got "DOI": select it too, or omit the column',
  ],
];
for (const [format, options, option, message] of rejected) {
  Deno.test(`createWriter() throws a ValidationError of ${option} when ${format} gets ${JSON.stringify(options)}`, () => {
    const error = assertThrows(() => createWriter(format, options), ValidationError, message);
    assertEquals(error.option, option);
  });
}

Deno.test("createWriter() accepts unknown columns when unchecked is true", () => {
  const options = {
    resource: "Records",
    csv: { columns: ["New"] },
    unchecked: true,
  } as const;
  assertEquals(decoder.decode(createWriter("csv", options).end()), "New\r\n");
});

Deno.test("FORMAT_NAMES has the names of FORMATS, the default first", () => {
  assertEquals<readonly string[]>(FORMAT_NAMES, Object.keys(FORMATS));
  assertEquals(FORMAT_NAMES[0], "csv");
});
