import { fieldNames } from "../../src/odata/resources.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

export const COLUMNS: readonly string[] = fieldNames("Records");

const ROWS = 10_000;
/** Values of the cells in the page with long texts: accents, quotes, commas and a line feed. */
const LONG_TEXTS = [
  "Rivière-aux-Érables, à l’île nº 12, en amont du pont",
  'Bottle labelled "B", lid cracked, kept cool',
  "Clear sky, light wind, no ice along the shore",
  "First line of a note\nand its second line",
];

/** Replaces the value of a cell; the index is the number of its row plus that of its column. */
type ChangeValue = (value: unknown, index: number) => unknown;

const VALUE_KINDS = {
  "typical values": (value) => value,
  "mostly nulls": (value, index) => index % 5 === 0 ? value : null,
  "long texts": (value, index) =>
    typeof value === "number" || index % 3 !== 0 ? value : LONG_TEXTS[index % 4],
} as const satisfies Record<string, ChangeValue>;

type ValueKind = keyof typeof VALUE_KINDS;

function changeRow(row: object, rowIndex: number, kind: ValueKind): object {
  const change: ChangeValue = VALUE_KINDS[kind];
  const cells = Object.entries(row);
  return Object.fromEntries(
    cells.map(([name, value], column) => [name, change(value, rowIndex + column)]),
  );
}

/** Creates pages of 10,000 records with 44 columns, by the kind of their values. */
export async function csvPages(): Promise<Record<string, Uint8Array>> {
  const { apiKey, url, fetch } = createSandbox({ records: ROWS, requestsPerSecond: Infinity });
  const response = await fetch(`${url}/Records?%24top=${ROWS}`, {
    headers: { "x-api-key": apiKey },
  });
  const typical = new Uint8Array(await response.arrayBuffer());
  const { value, ...envelope } = JSON.parse(new TextDecoder().decode(typical));
  const rows: object[] = value;
  const pageOf = (kind: ValueKind) => {
    const changed = rows.map((row, index) => changeRow(row, index, kind));
    return new TextEncoder().encode(JSON.stringify({ ...envelope, value: changed }));
  };
  return {
    "typical values": typical,
    "mostly nulls": pageOf("mostly nulls"),
    "long texts": pageOf("long texts"),
  };
}
