import type { Fault } from "./fault.ts";

/** Faults of what is asked and of what is written: requests, filters, CSV, GeoJSON, JSON. */
export const FORMAT_FAULTS: readonly Fault[] = [
  {
    name: "a raw $ is sent",
    file: "src/endpoint/encode.ts",
    find: "encode(name.toWellFormed())",
    replacement: 'encode(name.toWellFormed()).replaceAll("%24", "$")',
    test: "tests/endpoint/endpoint_test.ts",
  },
  {
    name: "a default header cannot be removed",
    file: "src/endpoint/headers.ts",
    find: "delete headers[name.toLowerCase()]",
    replacement: "continue",
    test: "tests/endpoint/endpoint_test.ts",
  },
  {
    name: "a malformed template is sent as it is",
    file: "src/endpoint/template.ts",
    find: "    const expression = expressionOf(inner ?? colonName, mark, match.index, text);",
    replacement: `    let expression;
    try {
      expression = expressionOf(inner ?? colonName, mark, match.index, text);
    } catch {
      continue;
    }`,
    test: "tests/endpoint/template_test.ts",
  },
  {
    name: "a quote in a filter's text is not doubled",
    file: "src/odata/clause.ts",
    find: `text.replaceAll("'", "''")`,
    replacement: "text",
    test: "tests/odata/filter_test.ts",
  },
  {
    name: "a box takes places outside of it",
    file: "src/odata/filter.ts",
    find: "return toFilter(toBoxClauses(box));",
    replacement: "return toFilter(toBoxClauses(box).slice(1));",
    test: "tests/odata/filter_test.ts",
  },
  {
    name: "a quote in a cell of CSV is not doubled",
    file: "src/output/csv_text.ts",
    find: "if (escaped === QUOTE) out[at++] = QUOTE;",
    replacement: "",
    test: "tests/output/csv_test.ts",
  },
  {
    name: "a lone carriage return goes without quotes, by the fast way",
    file: "src/output/csv_text.ts",
    find: "character === LINE_FEED ||\n    character === CARRIAGE_RETURN",
    replacement: "character === LINE_FEED",
    test: "tests/output/csv_test.ts",
  },
  {
    name: "a lone carriage return goes without quotes, by the general way",
    file: "src/output/csv_lines.ts",
    find: 'return cell.includes("\\r") && ',
    replacement: 'return cell.includes("\\r\\r") && ',
    test: "tests/output/csv_test.ts",
  },
  {
    name: "a formula that begins with @ is not escaped",
    file: "src/output/csv_text.ts",
    find: " || byte === 0x40",
    replacement: "",
    test: "tests/output/csv_test.ts",
  },
  {
    name: "a number loses its digits",
    file: "src/output/csv_lines.ts",
    find: "if (digits !== undefined) return digits;",
    replacement: "if (digits !== undefined) return String(Number(digits));",
    test: "tests/output/csv_test.ts",
  },
  {
    name: "a second page of JSON is joined without a comma",
    file: "src/output/json_document.ts",
    find: 'this.#hasRows && rows > 0 ? COMMA : ""',
    replacement: '""',
    test: "tests/output/formats_test.ts",
  },
  {
    name: "coordinates of GeoJSON are swapped",
    file: "src/output/geojson.ts",
    find: "[${longitude},${latitude}]",
    replacement: "[${latitude},${longitude}]",
    test: "tests/output/formats_test.ts",
  },
];
