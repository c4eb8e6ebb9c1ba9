import { fieldNames } from "../../src/odata/resources.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

/** Columns of the pages. */
export const COLUMNS: readonly string[] = fieldNames("Records");

const ROWS = 10_000;
/** Values of the cells in the page with long texts: accents, quotes, commas and a line feed. */
const LONG_TEXTS = [
  "Rivière-aux-Érables, à l’île nº 12, en amont du pont",
  'Bottle labelled "B", lid cracked, kept cool',
  "Clear sky, light wind, no ice along the shore",
  "First line of a note\nand its second line",
];

/** Creates pages of 10,000 records with 44 columns, by the kind of their values. */
export async function csvPages(): Promise<Record<string, Uint8Array>> {
  const { apiKey, url, fetch } = createSandbox({ records: ROWS, requestsPerSecond: Infinity });
  const response = await fetch(`${url}/Records?%24top=${ROWS}`, {
    headers: { "x-api-key": apiKey },
  });
  const typical = new Uint8Array(await response.arrayBuffer());
  const { value, ...envelope } = JSON.parse(new TextDecoder().decode(typical));
  const rows: Record<string, unknown>[] = value;
  const pageWith = (change: (value: unknown, index: number) => unknown) => {
    const changed = rows.map((row, rowIndex) =>
      Object.fromEntries(
        Object.entries(row).map((
          [name, value],
          column,
        ) => [name, change(value, rowIndex + column)]),
      )
    );
    return new TextEncoder().encode(JSON.stringify({ ...envelope, value: changed }));
  };
  return {
    "typical values": typical,
    "mostly nulls": pageWith((value, index) => index % 5 === 0 ? value : null),
    "long texts": pageWith((value, index) =>
      typeof value === "number" || index % 3 !== 0 ? value : LONG_TEXTS[index % 4]
    ),
  };
}
