export function sectionOf(markdown: string, heading: string): string {
  const [, section] = markdown.split(new RegExp(`^#+ ${heading}\n`, "m"));
  if (section === undefined) throw new Error(`The page has no heading "${heading}"`);
  return section.split(/^#+ /m)[0]!;
}

/** Returns the cells of the first table in a text whose first header has a name. */
export function readTable(markdown: string, header: string): string[][] {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => line.replaceAll("`", "").startsWith(`| ${header} |`));
  if (start < 0) throw new Error(`There is no table with the first header "${header}"`);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end < 0 ? rows.length : end)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}
