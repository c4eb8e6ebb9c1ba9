import type { Fault } from "./fault.ts";

/** Faults of what is asked and of what is written: requests, filters, CSV, GeoJSON. */
export const FORMAT_FAULTS: readonly Fault[] = [
  {
    name: "a raw $ is sent",
    file: "src/endpoint/encode.ts",
    find: "encode(name.toWellFormed())",
    replacement: 'encode(name.toWellFormed()).replaceAll("%24", "$")',
    test: "tests/unit/endpoint/endpoint_test.ts",
  },
  {
    name: "a quote in a filter's text is not doubled",
    file: "src/odata/clause.ts",
    find: `text.replaceAll("'", "''")`,
    replacement: "text",
    test: "tests/unit/odata/filter_test.ts",
  },
  {
    name: "a quote in a cell of CSV is not doubled",
    file: "src/output/csv_text.ts",
    find: "if (escaped === QUOTE) out[at++] = QUOTE;",
    replacement: "",
    test: "tests/unit/output/csv_test.ts",
  },
  {
    name: "a lone carriage return goes without quotes",
    file: "src/output/csv_text.ts",
    find: "character === LINE_FEED ||\n    character === CARRIAGE_RETURN",
    replacement: "character === LINE_FEED",
    test: "tests/unit/output/csv_test.ts",
  },
  {
    name: "a formula that begins with @ is not escaped",
    file: "src/output/csv_text.ts",
    find: " || byte === 0x40",
    replacement: "",
    test: "tests/unit/output/csv_test.ts",
  },
  {
    name: "a number loses its digits",
    file: "src/output/csv_lines.ts",
    find: "if (digits !== undefined) return digits;",
    replacement: "if (digits !== undefined) return String(Number(digits));",
    test: "tests/unit/output/csv_test.ts",
  },
  {
    name: "a row's cells stand under the names of the row before",
    file: "src/output/row_reader.ts",
    find: "if (view.getFloat64(at, true) !== words[word++]) return -1;",
    replacement: "word++;",
    test: "tests/unit/output/csv_test.ts",
  },
  {
    name: "an unclosed string is searched again from each quote in it",
    file: "src/output/json_source.ts",
    find: '[^"\\\\]*)*"?|',
    replacement: '[^"\\\\]*)*"|',
    test: "tests/unit/output/linear_time_test.ts",
    only: "escaped quotes",
  },
  {
    name: "a field that is new on a later row is left out",
    file: "src/output/csv_writer.ts",
    find: "written.newFields.length > 0",
    replacement: "false",
    test: "tests/unit/output/new_fields_test.ts",
  },
  {
    name: "coordinates of GeoJSON are swapped",
    file: "src/output/geojson.ts",
    find: "[${longitude},${latitude}]",
    replacement: "[${latitude},${longitude}]",
    test: "tests/unit/output/formats_test.ts",
  },
  {
    name: "a name that is far from every other is suggested",
    file: "src/did_you_mean.ts",
    find: "edits <= Math.min(wanted.length / 3, MAX_EDITS)",
    replacement: "edits <= 50",
    test: "tests/unit/odata/unknown_name_test.ts",
  },
];
