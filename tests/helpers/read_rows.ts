import type { FormatName } from "../../src/formats/formats.ts";
import { readCsv } from "./rfc4180.ts";

/** A row of a document; the values of CSV are texts. */
type ReadRow = Record<string, unknown>;

/** Functions that read the rows of a document, by format. */
export const READ_ROWS: Record<FormatName, (text: string) => ReadRow[]> = {
  csv(text) {
    const [header = [], ...rows] = readCsv(text);
    return rows.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]])));
  },
  ndjson: (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line)),
  json: (text) => JSON.parse(text).value,
  geojson: (text) =>
    JSON.parse(text).features.map(({ properties }: { properties: ReadRow }) => properties),
};
