import type { PlantedFault } from "./planted_fault.ts";

/** Faults in requests, filters and output formats. */
export const FORMAT_FAULTS: readonly PlantedFault[] = [
  {
    name: "a raw $ is sent",
    file: "src/endpoint/endpoint.ts",
    find: "memoize(encode)",
    replacement: 'memoize((name) => encode(name).replaceAll("%24", "$"))',
    test: "tests/unit/endpoint/endpoint_test.ts",
  },
  {
    name: "a quote in a filter's string is not doubled",
    file: "src/odata/clause.ts",
    find: `text.replaceAll("'", "''")`,
    replacement: "text",
    test: "tests/unit/odata/filter_test.ts",
  },
  {
    name: "a quote in a CSV cell is not doubled",
    file: "src/formats/csv_transcoder.ts",
    find: "if (codePoint === QUOTE) out[outOffset++] = QUOTE;",
    replacement: "",
    test: "tests/unit/formats/csv_test.ts",
  },
  {
    name: "a lone carriage return is not quoted",
    file: "src/formats/csv_transcoder.ts",
    find: "codePoint === LINE_FEED ||\n    codePoint === CARRIAGE_RETURN",
    replacement: "codePoint === LINE_FEED",
    test: "tests/unit/formats/csv_test.ts",
  },
  {
    name: "a formula that starts with @ is not escaped",
    file: "src/formats/csv_transcoder.ts",
    find: " || code === 0x40",
    replacement: "",
    test: "tests/unit/formats/csv_test.ts",
  },
  {
    name: "a number loses digits",
    file: "src/formats/csv.ts",
    find: "if (digits !== undefined) return digits;",
    replacement: "if (digits !== undefined) return String(Number(digits));",
    test: "tests/unit/formats/csv_test.ts",
  },
  {
    name: "the cells of a row are written in the columns of the previous row",
    file: "src/formats/row_reader.ts",
    find: "if (view.getFloat64(at, true) !== words[word++]) return -1;",
    replacement: "word++;",
    test: "tests/unit/formats/csv_test.ts",
  },
  {
    name: "parsing a string without an end takes quadratic time",
    file: "src/formats/raw_json.ts",
    find: '[^"\\\\]*)*"?|',
    replacement: '[^"\\\\]*)*"|',
    test: "tests/unit/formats/linear_time_test.ts",
    only: "escaped quotes",
  },
  {
    name: "a new field of a later row is missing",
    file: "src/formats/csv.ts",
    find: "written.newFields.length > 0",
    replacement: "false",
    test: "tests/unit/formats/new_fields_test.ts",
  },
  {
    name: "the coordinates in GeoJSON are swapped",
    file: "src/formats/geojson.ts",
    find: "[${longitude},${latitude}]",
    replacement: "[${latitude},${longitude}]",
    test: "tests/unit/formats/geojson_test.ts",
  },
  {
    name: "a distant name is suggested",
    file: "src/validation.ts",
    find: "edits <= Math.min(wanted.length / 3, MAX_EDITS)",
    replacement: "edits <= 50",
    test: "tests/unit/odata/unknown_name_test.ts",
  },
];
