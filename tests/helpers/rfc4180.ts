import type { TextFormat } from "./resources.ts";

/** Parses CSV strictly: cells without quotes contain neither quotes nor line breaks. */
export function readCsv(csv: string, eol: "\r\n" | "\n" = "\r\n"): string[][] {
  const rows: string[][] = [];
  let cells: string[] = [];
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|${eol}|$)`, "y");
  while (cell.lastIndex < csv.length) {
    const from = cell.lastIndex;
    const match = cell.exec(csv);
    if (!match) throw new Error(`Invalid CSV at ${JSON.stringify(csv.slice(from, from + 80))}`);
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === ",") continue;
    rows.push(cells);
    cells = [];
  }
  return rows;
}

type ReadRow = Record<string, unknown>;

export const READ_ROWS: Record<TextFormat, (text: string) => ReadRow[]> = {
  csv(text) {
    const [header = [], ...rows] = readCsv(text);
    return rows.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]])));
  },
  ndjson: (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line)),
  json: (text) => JSON.parse(text).value,
  geojson: (text) =>
    JSON.parse(text).features.map(({ properties }: { properties: ReadRow }) => properties),
};
