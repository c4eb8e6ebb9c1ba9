/**
 * Reads CSV by RFC 4180 to the letter: CRLF ends a row, every character of a quoted cell counts, and
 * a bare cell holds neither a quote nor any part of a line end.
 */
export function readCsv(csv: string): string[][] {
  const rows: string[][] = [];
  let cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/y;
  while (cell.lastIndex < csv.length) {
    const from = cell.lastIndex;
    const match = cell.exec(csv);
    if (!match) throw new Error(`no RFC 4180 at ${JSON.stringify(csv.slice(from, from + 80))}`);
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === ",") continue;
    rows.push(cells);
    cells = [];
  }
  return rows;
}
