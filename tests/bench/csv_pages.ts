import { fieldNames } from "../../src/odata/resources.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

/** The columns of the pages. */
export const COLUMNS: readonly string[] = fieldNames("Records");

const ROWS = 10_000;
/** What a text is where a page is rich in text. */
const TEXTS = [
  "Rivière-aux-Érables, à l’île nº 12, en amont du pont",
  'Bottle labelled "B", lid cracked, kept cool',
  "Clear sky, light wind, no ice along the shore",
  "First line of a note\nand its second line",
];

/** Pages of 10,000 records with 44 columns: as the sandbox has them, rich in nulls, and rich in text. */
export async function csvPages(): Promise<Record<string, Uint8Array>> {
  const { apiKey, url, fetch } = createSandbox({ records: ROWS, requestsPerSecond: Infinity });
  const response = await fetch(`${url}/Records?%24top=${ROWS}`, {
    headers: { "x-api-key": apiKey },
  });
  const usual = new Uint8Array(await response.arrayBuffer());
  const { value, ...envelope } = JSON.parse(new TextDecoder().decode(usual));
  const rows: Record<string, unknown>[] = value;
  const pageOf = (change: (held: unknown, place: number) => unknown) => {
    const changed = rows.map((row, number) =>
      Object.fromEntries(
        Object.entries(row).map(([name, held], place) => [name, change(held, number + place)]),
      )
    );
    return new TextEncoder().encode(JSON.stringify({ ...envelope, value: changed }));
  };
  return {
    "as usual": usual,
    "rich in nulls": pageOf((held, place) => place % 5 === 0 || held === null ? held : null),
    "rich in text": pageOf((held, place) =>
      typeof held === "number" || place % 3 !== 0 ? held : TEXTS[place % 4]
    ),
  };
}
