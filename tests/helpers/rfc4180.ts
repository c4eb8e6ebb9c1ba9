/** Parses CSV strictly: cells without quotes contain neither quotes nor line breaks. Leaves out a byte order mark. */
export function readCsv(
  text: string,
  eol: "\r\n" | "\n" = "\r\n",
  separator: "," | "\t" = ",",
): string[][] {
  const csv = text.replace(/^\uFEFF/, "");
  const rows: string[][] = [];
  let cells: string[] = [];
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"${separator}\r\n]*))(${separator}|${eol}|$)`,
    "y",
  );
  while (cell.lastIndex < csv.length) {
    const from = cell.lastIndex;
    const match = cell.exec(csv);
    if (!match) throw new Error(`Invalid CSV at ${JSON.stringify(csv.slice(from, from + 80))}`);
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === separator) continue;
    rows.push(cells);
    cells = [];
  }
  return rows;
}
